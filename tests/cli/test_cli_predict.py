"""odsymnmf predict, the model in a run, and --checkpoint."""

import numpy as np
import pytest
from cli_problems import refused, rows, run, write_edges
from sklearn.feature_extraction.text import TfidfVectorizer

import odsymnmf as od
from odsymnmf import runs
from odsymnmf.cli.texts import tfidf_of_model


def test_new_items_of_a_graph_go_to_their_neighbors(finished, tmp_path):
    lines = ["source,target,weight", "new,item 9,1", "item 10,new,1", "other,item 17,1"]
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    result = run("predict", finished, tmp_path / "new.csv", "-o", tmp_path / "out")
    assert result.stdout.startswith("2 new items; wrote ")
    of = {row[0]: row[1] for row in rows(finished / "labels.csv")}
    header, *items = rows(tmp_path / "out" / "labels.csv")
    assert header == ["name", "cluster", "strength"]
    assert {row[0]: row[1] for row in items} == {"new": of["item 9"], "other": of["item 17"]}
    model = od.load(finished / "model.npz")
    S = np.zeros((1, 24))
    S[0, [model.item_names_.index(name) for name in ("item 9", "item 10")]] = 1
    written = np.array(rows(tmp_path / "out" / "membership.csv")[1][1:], dtype=float)
    np.testing.assert_array_equal(written, model.predict_membership(S)[0])


def test_a_table_of_similarities_is_aligned_by_name(finished, tmp_path):
    names = [f"item {i}" for i in range(24)]
    values = ["1" if i < 8 else "0" for i in range(24)]
    for step in (1, -1):
        lines = [["name", *names[::step]], ["x", *values[::step]]]
        (tmp_path / "new.csv").write_text("".join(",".join(line) + "\n" for line in lines))
        options = ["--format", "table", "-o", tmp_path / f"out{step}"]
        result = run("predict", finished, tmp_path / "new.csv", *options)
        assert result.exit_code == 0, result.output
    one, other = (rows(tmp_path / f"out{step}" / "membership.csv") for step in (1, -1))
    assert one == other
    of = {row[0]: row[1] for row in rows(finished / "labels.csv")}
    assert rows(tmp_path / "out1" / "labels.csv")[1][1] == of["item 1"]


def test_features_of_new_items(tmp_path):
    rng = np.random.default_rng(0)
    X = np.abs(np.repeat(np.eye(3), 8, axis=0) + 0.05 * rng.standard_normal((24, 3)))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "new.npy", np.eye(3))
    for affinity in ("cosine", "rbf", "nearest_neighbors"):
        home = tmp_path / affinity
        options = ("--affinity", affinity, "-o", home, "-q", "--random-state", 1)
        assert run("cluster", tmp_path / "X.npy", "-r", 3, *options).exit_code == 0
        out = tmp_path / f"{affinity}-new"
        assert run("predict", home, tmp_path / "new.npy", "-o", out).exit_code == 0
        of = [row[1] for row in rows(home / "labels.csv")[1:]]
        assert [row[1] for row in rows(out / "labels.csv")[1:]] == of[::8]


TEXTS = {
    **{f"sea{i}": f"the ship sails the sea with sailors {i} waves" for i in range(4)},
    **{f"farm{i}": f"the cow eats grass on a farm {i} milk" for i in range(4)},
}


def test_texts_are_weighed_as_those_of_the_run(tmp_path):
    for folder, texts in (("old", TEXTS), ("new", {"a": "a ship at sea", "b": "cow milk zebra"})):
        (tmp_path / folder).mkdir()
        for name, text in texts.items():
            (tmp_path / folder / f"{name}.txt").write_text(text)
    home, out = tmp_path / "run", tmp_path / "out"
    assert run("cluster", tmp_path / "old", "--text", "-r", 2, "-o", home, "-q").exit_code == 0
    assert run("predict", home, tmp_path / "new", "-o", out).exit_code == 0
    of = {row[0]: row[1] for row in rows(home / "labels.csv")}
    clusters = {row[0]: row[1] for row in rows(out / "labels.csv")}
    assert (clusters["a.txt"], clusters["b.txt"]) == (of["sea0.txt"], of["farm0.txt"])
    model = od.load(home / "model.npz")
    texts = [TEXTS[name] for name in sorted(TEXTS)]
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit(texts)
    assert model._terms == list(words.get_feature_names_out())
    np.testing.assert_array_equal(model._idf, words.idf_)
    again = tfidf_of_model(texts, model._terms, model._idf)
    np.testing.assert_array_equal(again.toarray(), words.transform(texts).toarray())


@pytest.mark.parametrize(
    ("ending", "header", "options"),
    [(".txt", "", ["--lines"]), (".csv", "n,opinion\n", ["--text-column", "opinion"])],
)
def test_a_file_of_texts_is_read_as_that_of_the_run(ending, header, options, tmp_path):
    old, new, home = tmp_path / f"old{ending}", tmp_path / f"new{ending}", tmp_path / "run"
    mark = "1," if header else ""
    old.write_text(header + "".join(f"{mark}{text}\n" for text in TEXTS.values()))
    new.write_text(f"{header}{mark}a ship at sea\n{mark}cow milk zebra\n")
    assert run("cluster", old, *options, "-r", 2, "-o", home, "-q").exit_code == 0
    of = [row[1] for row in rows(home / "labels.csv")]
    for k, (model, said) in enumerate(((home, []), (home / "model.npz", options))):
        result = run("predict", model, new, *said, "-o", tmp_path / f"out{k}")
        assert result.stdout.startswith("2 new items; wrote ")
        column = [row[1] for row in rows(tmp_path / f"out{k}" / "labels.csv")]
        assert column == ["cluster", of[1], of[-1]]
    (tmp_path / "one").write_text("a ship at sea")  # not like the file of the run: one text
    result = run("predict", home, tmp_path / "one", "-o", tmp_path / "single")
    assert result.stdout.startswith("1 new item; wrote ")


def test_bad_predictions_are_one_line(finished, tmp_path):
    (tmp_path / "same.csv").write_text("item 1,item 2,1\n")
    (tmp_path / "far.csv").write_text("x,y,1\n")
    (tmp_path / "odd.csv").write_text("name,item 0,item z\nx,1,1\n")
    home, out = finished, tmp_path / "out"
    for name in ("same.csv", "far.csv"):
        result = run("predict", home, tmp_path / name, "-o", out)
        refused(result, 1, "no item that is new is linked")
    odd = run("predict", home, tmp_path / "odd.csv", "--format", "table", "-o", out)
    refused(odd, 1, "'item 1' is missing")
    refused(run("predict", tmp_path, tmp_path / "far.csv", "-o", out), 1, "no such file")
    refused(run("predict", home, tmp_path / "far.csv", "-o", home), 1, "choose another")
    (home / "model.npz").write_bytes(b"\x80\x04cos\nsystem\n")
    refused(run("predict", home, tmp_path / "far.csv", "-o", out), 1, "not written by odsymnmf")
    assert not out.exists()


def test_a_checkpoint_is_used_and_removed(tmp_path, monkeypatch):
    edges = write_edges(tmp_path / "graph.csv")
    options = ("-r", 3, "--init", "random", "--n-init", 2, "--tol", 0, "--max-iter", 9, "-q")
    assert run("cluster", edges, *options, "-o", tmp_path / "one").exit_code == 0
    path = tmp_path / "fit.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_result", lambda *a: (_ for _ in ()).throw(OSError("full")))
        refused(run("cluster", edges, *options, "--checkpoint", path, "-o", tmp_path / "x"), 1)
    assert sorted(p.name for p in tmp_path.glob("fit*")) == ["fit.ckpt", "fit.ckpt.1"]
    other = ("-r", 4, *options[2:])
    refused(run("cluster", edges, *other, "--checkpoint", path, "-o", tmp_path / "x"), 1, "r was 3")
    done = run("cluster", edges, *options, "--checkpoint", path, "-o", tmp_path / "two")
    assert done.exit_code == 0, done.output
    assert list(tmp_path.glob("fit*")) == []
    for name in ("labels.csv", "membership.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
