"""Accepted and refused input; tables of edges; the estimator and the command."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from distributed_problems import assert_same, factorize, fit, in_blocks, problem
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf import io
from odsymnmf.cli import app
from odsymnmf.distributed import from_edges


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (factorize, {"init": "greedy"}, "init='greedy' is not available.*A.compute"),
        (factorize, {"init": "nonsense"}, "use one of"),
        (factorize, {"restarts": 2}, "restarts=2 is not available"),
        (factorize, {"sparse_membership": True}, "sparse_membership=True is not available"),
        (factorize, {"weights": np.ones((90, 90))}, "leave weights and zero_weight out"),
        (factorize, {"loss": "mixed"}, "loss='mixed' is not available"),
        (factorize, {"loss": "l3"}, "loss='l3' is not known"),
        (factorize, {"diagonal": "fit"}, "fitting the diagonal is not available"),
        (fit, {"n_clusters": "auto"}, "n_clusters='auto' is not available"),
        (fit, {"n_init": 2}, "n_init=2 is not available"),
        (fit, {"affinity": "rbf"}, "affinity='rbf' is not available"),
        (fit, {"zero_weight": 0.5}, "leave weights and zero_weight out"),
        (fit, {"loss": "l1", "affinity": "cosine"}, 'use loss="l2"'),
    ],
)
def test_unavailable_options(client, function, options, words):
    with pytest.raises(ValueError, match=words):
        function(in_blocks(problem("sparse")), **options)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize(
    ("value", "both", "words"),
    [
        (np.inf, True, r"A\[(5, 60|60, 5)\] is inf"),
        (3.0, False, r"A must be symmetric, but A\[(5, 60|60, 5)\] = .* differ by"),
        (np.nan, False, r"of A\[(5, 60|60, 5)\] and A\[(5, 60|60, 5)\] only one is NaN"),
    ],
)
def test_invalid_similarities_are_refused_as_on_one_machine(client, kind, value, both, words):
    A = problem("dense")
    A[5, 60] = value
    A[60, 5] = value if both else A[60, 5]
    A = sparse.csr_array(A) if kind == "sparse" else A
    for X in (A, in_blocks(A)):
        with pytest.raises(ValueError, match=words):
            factorize(X)


def test_invalid_arrays(client):
    with pytest.raises(ValueError, match=r"must be a square matrix.*affinity"):
        factorize(da.ones((20, 10), chunks=5))
    ones = da.ones(20, chunks=5)
    with pytest.raises(ValueError, match=r"A\.compute_chunk_sizes"):
        factorize(ones[ones > 0][:, None])
    mixed = da.ones((20, 20), chunks=(10, 20)).map_blocks(
        lambda b, block_info=None: sparse.csr_array(b) if block_info[0]["chunk-location"][0] else b,
        dtype=float,
        meta=np.empty((0, 0)),
    )
    with pytest.raises(ValueError, match="some blocks of A are sparse"):
        factorize(mixed)
    table = dd.from_pandas(pd.DataFrame({"source": [0], "target": [1]}), npartitions=1)
    with pytest.raises(ValueError, match=r"a DataFrame of Dask.*from_edges"):
        factorize(table)
    with pytest.raises(ValueError, match="more than half of all pairs are unknown"):
        factorize(da.full((20, 20), np.nan, chunks=10))
    with pytest.raises(ValueError, match=r"A is a dask array.*A\.compute"):
        od.objective(da.ones((4, 4), chunks=2), np.ones((4, 1)))


def test_the_diagonal_is_ignored(client):
    A = problem("dense")
    other = A.copy()
    other[np.arange(90), np.arange(90)] = np.resize([np.nan, np.inf, 1e300], 90)
    assert_same(factorize(in_blocks(A)), factorize(in_blocks(other)))


# --- tables of edges


def links(seed=0, n=40, count=200):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, n, (count, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    order = rng.permutation(len(ends))
    weight = rng.random(len(ends)).round(3)
    return pd.DataFrame({"source": ends[order, 0], "target": ends[order, 1], "weight": weight})


def read_back(table, tmp_path, **options):
    path = tmp_path / "links.parquet"
    table.to_parquet(path)
    return io.read(path, **options)


ENDS = ["source", "target"]
BACK = {"source": "target", "target": "source"}
LOOP = pd.DataFrame({"source": [3], "target": [3], "weight": [9.0]})
CHANGES = {
    "ids": lambda table: table,
    "names": lambda table: table.assign(**{end: "n" + table[end].astype(str) for end in ENDS}),
    "twice": lambda table: pd.concat([table, table.rename(columns=BACK)], ignore_index=True),
    "repeated": lambda table: pd.concat([table, table.head(5), LOOP], ignore_index=True),
    "gaps": lambda table: table.assign(**{end: 7 * table[end] + 2 for end in ENDS}),
    "unknown": lambda table: table.assign(weight=table["weight"].where(table.index % 9 > 1)),
    "unweighted": lambda table: table.drop(columns="weight"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("npartitions", [1, 4])
def test_edges_are_read_as_from_a_file(change, npartitions, tmp_path):
    table = CHANGES[change](links())
    items = read_back(table, tmp_path)
    A = from_edges(dd.from_pandas(table, npartitions=npartitions, sort=False))
    computed = A.compute()
    assert_allclose(computed.toarray(), items.matrix.toarray(), rtol=1e-15)
    assert [str(name) for name in A.names or range(A.n)] == items.names


@pytest.mark.parametrize("rule", ["max", "mean", "sum"])
def test_symmetrize(rule, tmp_path):
    table = links()
    back = table.head(30).rename(columns=BACK)
    table = pd.concat([table, back.assign(weight=back["weight"] + 1)], ignore_index=True)
    df = dd.from_pandas(table, npartitions=3, sort=False)
    with pytest.raises(ValueError, match=r"linked in both directions.*symmetrize"):
        from_edges(df)
    items = read_back(table, tmp_path, symmetrize=rule)
    assert_allclose(from_edges(df, symmetrize=rule).compute().toarray(), items.matrix.toarray())


def test_invalid_tables():
    def edges(**columns):
        return dd.from_pandas(pd.DataFrame(columns), npartitions=1)

    with pytest.raises(ValueError, match="there is no column 'source'"):
        from_edges(edges(a=[1], b=[2]))
    with pytest.raises(ValueError, match="holds no numbers"):
        from_edges(edges(source=[1], target=[2], weight=["x"]))
    with pytest.raises(ValueError, match="an edge has no name"):
        from_edges(edges(source=["a", None], target=["b", "c"]))
    with pytest.raises(ValueError, match="the id -1 is negative"):
        from_edges(edges(source=[-1], target=[2]))
    with pytest.raises(ValueError, match="symmetrize='min' is not known"):
        from_edges(edges(source=[1], target=[2]), symmetrize="min")
    with pytest.raises(ValueError, match="differ by 1"):
        from_edges(edges(source=[1, 2], target=[2, 1], weight=[1.0, 2.0]))


def test_fit_of_edges(client, tmp_path):
    table = CHANGES["names"](links())
    items = read_back(table, tmp_path)
    f = factorize(from_edges(dd.read_parquet(tmp_path / "links.parquet")))
    assert f.names == items.names
    assert_same(f, factorize(items.matrix, n_jobs=2))


# --- the estimator and the command


@pytest.mark.parametrize("normalize", ["auto", "degree", None])
def test_estimator(client, normalize, tmp_path):
    A = problem("sparse")
    model, expected = fit(in_blocks(A), normalize=normalize), fit(A, normalize=normalize, n_jobs=2)
    assert_array_equal(model.membership_, expected.membership_)
    assert model.settings_["upper"] == expected.settings_["upper"]
    assert model.settings_["labels"] == "largest membership"
    assert model.n_features_in_ == expected.n_features_in_
    new = A.toarray()[:4]
    assert_array_equal(model.predict_membership(new), expected.predict_membership(new))
    model.save(tmp_path / "model.npz")
    assert_array_equal(od.load(tmp_path / "model.npz").membership_, model.membership_)


def test_command(processes, tmp_path):
    folder, out = tmp_path / "links", tmp_path / "out"
    folder.mkdir()
    table = CHANGES["names"](links())
    for k in range(3):
        table[k::3].to_parquet(folder / f"part{k}.parquet")
    address = processes.scheduler.address
    args = ["cluster", str(folder), "-r", "3", "--scheduler", address, "-o", str(out)]
    result = CliRunner().invoke(app, args, prog_name="odsymnmf")
    assert result.exit_code == 0, result.output
    assert "no report.html" in result.output
    labels = pd.read_csv(out / "labels.csv")
    assert len(labels) == len(set(table["source"]) | set(table["target"]))
    assert not (out / "report.html").exists()


def test_command_errors(tmp_path):
    path = tmp_path / "links.parquet"
    links().to_parquet(path)
    args = ["cluster", str(path), "-r", "3", "--scheduler", "tcp://127.0.0.1:1"]
    for more, words in (["--many"], "leave --many"), ([], "no Dask scheduler at"):
        result = CliRunner().invoke(app, [*args, *more], prog_name="odsymnmf")
        assert result.exit_code != 0
        assert words in result.output
