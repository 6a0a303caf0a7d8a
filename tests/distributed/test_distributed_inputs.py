"""What is taken, what is refused and why; tables of links; the estimator and the command."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from distributed_problems import assert_same, here, in_blocks, problem, quiet
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf import ODSymNMF, io
from odsymnmf.cli.app import app
from odsymnmf.distributed import from_edges

RANDOM = {"init": "random", "random_state": 0, "max_iter": 5}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"init": "greedy"}, "init='greedy' needs the matrix in one place.*A.compute"),
        ({"init": "l2", "loss": "l1"}, "init='l2' needs the matrix in one place"),
        ({"init": "nonsense"}, "use 'random', 'spectral', 'nndsvd'"),
        ({"restarts": 2}, "restarts=2, but columns are rebuilt"),
        ({"memberships": "sparse"}, "H is stored in full"),
        ({"weights": np.ones((90, 90))}, "weights and zero_weight are not known"),
        ({"zero_weight": 0.5}, "weights and zero_weight are not known"),
        ({"loss": "l3"}, "loss='l3' is not known"),
    ],
)
def test_what_is_not_offered_says_what_is(client, options, words):
    with pytest.raises(ValueError, match=words):
        od.factorize(in_blocks(problem("sparse"), (30, 90)), 3, **options)


def damaged(A, i, j, value, both=True):
    A = A.copy()
    A[i, j] = value
    if both:
        A[j, i] = value
    return A


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((5, 60, np.inf), r"A\[(5, 60|60, 5)\] is inf"),
        ((5, 60, 3.0, False), "A must be symmetric, but row (5|60) and column"),
        ((5, 60, np.nan, False), "hold different (similarities|unknown pairs)"),
    ],
)
def test_a_matrix_that_is_none(client, kind, change, words):
    A = damaged(problem("dense"), *change)
    A = sparse.csr_array(A) if kind == "sparse" else A
    with pytest.raises(ValueError, match=words):
        od.factorize(in_blocks(A, (30, 90)), 3)


def test_shapes_that_are_none(client):
    with pytest.raises(ValueError, match=r"must be a square matrix.*affinity"):
        od.factorize(da.ones((20, 10), chunks=5), 2)
    ones = da.ones(20, chunks=5)
    unknown = ones[ones > 0][:, None]
    with pytest.raises(ValueError, match=r"A\.compute_chunk_sizes"):
        od.factorize(unknown, 2)
    mixed = da.ones((20, 20), chunks=(10, 20)).map_blocks(
        lambda b, block_info=None: sparse.csr_array(b) if block_info[0]["chunk-location"][0] else b,
        dtype=float,
        meta=np.empty((0, 0)),
    )
    with pytest.raises(ValueError, match="some blocks of A are sparse"):
        od.factorize(mixed, 2)
    table = dd.from_pandas(pd.DataFrame({"source": [0], "target": [1]}), npartitions=1)
    with pytest.raises(ValueError, match=r"a DataFrame of Dask.*from_edges"):
        od.factorize(table, 2)
    with pytest.raises(ValueError, match="more than half of all pairs are unknown"):
        od.factorize(da.full((20, 20), np.nan, chunks=10), 2)
    with pytest.raises(ValueError, match=r"A is a dask array.*A\.compute"):
        od.objective(da.ones((4, 4), chunks=2), np.ones((4, 1)))


def test_the_diagonal_is_never_looked_at(client):
    A = problem("dense")
    wild = A.copy()
    wild[np.arange(90), np.arange(90)] = np.resize([np.nan, np.inf, 1e300], 90)
    assert_same(*(quiet(in_blocks(M, (30, 90)), 3, **RANDOM) for M in (A, wild)))


# Tables of links


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


def names(table):
    return table.assign(**{c: "n" + table[c].astype(str) for c in ("source", "target")})


def twice(table):
    other = table.rename(columns={"source": "target", "target": "source"})
    return pd.concat([table, other], ignore_index=True)


def repeated(table):
    loops = pd.DataFrame({"source": [3], "target": [3], "weight": [9.0]})
    return pd.concat([table, table.head(5), loops], ignore_index=True)


def with_gaps(table):
    return table.assign(source=7 * table["source"] + 2, target=7 * table["target"] + 2)


def with_unknown(table):
    table = table.copy()
    table.loc[[2, 9], "weight"] = np.nan
    return table


CHANGES = {
    "ids": lambda table: table,
    "names": names,
    "twice": twice,
    "repeated": repeated,
    "gaps": with_gaps,
    "unknown": with_unknown,
    "unweighted": lambda table: table.drop(columns="weight"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("npartitions", [1, 4])
def test_links_are_read_as_from_a_file(change, npartitions, tmp_path):
    table = CHANGES[change](links())
    items = read_back(table, tmp_path)
    A = from_edges(dd.from_pandas(table, npartitions=npartitions, sort=False))
    found = A.compute()
    assert_allclose(found.toarray(), items.matrix.toarray(), rtol=1e-15)
    assert [str(name) for name in A.names or range(A.n)] == items.names


@pytest.mark.parametrize("how", ["max", "mean", "sum"])
def test_directed_links_are_made_symmetric_on_request(how, tmp_path):
    table = links()
    back = table.head(30).rename(columns={"source": "target", "target": "source"})
    table = pd.concat([table, back.assign(weight=back["weight"] + 1)], ignore_index=True)
    df = dd.from_pandas(table, npartitions=3, sort=False)
    with pytest.raises(ValueError, match=r"linked in both directions.*Choose symmetrize"):
        from_edges(df)
    items = read_back(table, tmp_path, symmetrize=how)
    assert_allclose(from_edges(df, symmetrize=how).compute().toarray(), items.matrix.toarray())


def test_tables_that_are_none():
    def made(**columns):
        return dd.from_pandas(pd.DataFrame(columns), npartitions=1)

    with pytest.raises(ValueError, match="no column 'source', but 'a', 'b'"):
        from_edges(made(a=[1], b=[2]))
    with pytest.raises(ValueError, match="weights must be numbers"):
        from_edges(made(source=[1], target=[2], weight=["x"]))
    with pytest.raises(ValueError, match="rows without a name"):
        from_edges(made(source=["a", None], target=["b", "c"]))
    with pytest.raises(ValueError, match="the id -1 is negative"):
        from_edges(made(source=[-1], target=[2]))
    with pytest.raises(ValueError, match="symmetrize='min' is not known"):
        from_edges(made(source=[1], target=[2]), symmetrize="min")
    with pytest.raises(ValueError, match="differ by 1"):
        from_edges(made(source=[1, 2], target=[2, 1], weight=[1.0, 2.0]))


def test_a_fit_of_links(client, tmp_path):
    table = names(links())
    items = read_back(table, tmp_path)
    df = dd.read_parquet(tmp_path / "links.parquet")
    found = quiet(from_edges(df), 3, **RANDOM)
    assert found.names == items.names
    assert_same(found, here(items.matrix, "sparse", 3, **RANDOM))


# The estimator

IGNORE_MAX_ITER = pytest.mark.filterwarnings("ignore:no convergence")


def fitted(X, **options):
    options = {"n_clusters": 3, "max_iter": 15, "random_state": 0} | options
    return ODSymNMF(**options).fit(X)


@IGNORE_MAX_ITER
@pytest.mark.parametrize("normalize", ["auto", "degree", None])
@pytest.mark.parametrize(("kind", "affinity"), [("sparse", "precomputed"), ("documents", "cosine")])
def test_the_estimator(client, normalize, kind, affinity):
    A = problem(kind)
    options = {"normalize": normalize, "affinity": affinity, "init": "random", "n_jobs": 2}
    one, other = fitted(in_blocks(A, (30, 20)), **options), fitted(A, **options)
    assert_array_equal(one.membership_, other.membership_)
    assert one.settings_["upper"] == other.settings_["upper"]
    assert one.settings_["labels"] == "largest membership"
    assert one.n_features_in_ == other.n_features_in_
    assert (one.status_, one.n_iter_) == (other.status_, other.n_iter_)
    if affinity == "precomputed":
        new = A.toarray()[:4]
        assert_array_equal(one.predict_membership(new), other.predict_membership(new))
    else:
        with pytest.raises(ValueError, match="on a cluster"):
            one.predict(A.toarray()[:2])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": "auto"}, "it must be a number"),
        ({"n_init": 2}, "makes one start"),
        ({"affinity": "rbf"}, "affinity='rbf' is not offered on a cluster"),
        ({"zero_weight": 0.5}, "zero_weight are not known"),
        ({"loss": "l1", "affinity": "cosine"}, 'use loss="l2"'),
    ],
)
def test_what_the_estimator_does_not_offer(client, options, words):
    with pytest.raises(ValueError, match=words):
        fitted(in_blocks(problem("dense"), (30, 90)), **options)


@IGNORE_MAX_ITER
def test_the_estimator_without_a_client():
    A = problem("sparse")
    one, other = fitted(in_blocks(A, (30, 20))), fitted(A, n_jobs=2)
    assert_array_equal(one.membership_, other.membership_)
    assert_array_equal(one.labels_, other.labels_)


@IGNORE_MAX_ITER
def test_a_model_that_is_saved(client, tmp_path):
    model = fitted(in_blocks(problem("sparse"), (30, 90)))
    model.save(tmp_path / "model.odsym")
    assert_array_equal(od.load(tmp_path / "model.odsym").membership_, model.membership_)


# The command


def test_the_command(processes, tmp_path):
    folder = tmp_path / "links"
    folder.mkdir()
    table = names(links())
    for k in range(3):
        table[k::3].to_parquet(folder / f"part{k}.parquet")
    address = processes.scheduler.address
    out = tmp_path / "out"
    args = ["cluster", str(folder), "-r", "3", "--scheduler", address, "-o", str(out)]
    result = CliRunner().invoke(app, args, prog_name="odsymnmf")
    assert result.exit_code == 0, result.output
    assert "no report.html" in result.output
    labels = pd.read_csv(out / "labels.csv")
    assert len(labels) == len(set(table["source"]) | set(table["target"]))
    assert not (out / "report.html").exists()


def test_the_command_says_what_is_wrong(tmp_path):
    def says(*args):
        result = CliRunner().invoke(
            app, ["cluster", *map(str, args), "-r", "3"], prog_name="odsymnmf"
        )
        assert result.exit_code != 0
        return result.output

    links().to_parquet(tmp_path / "links.parquet")
    path = tmp_path / "links.parquet"
    assert "leave --many" in says(path, "--scheduler", "tcp://127.0.0.1:1", "--many")
    assert "no Dask scheduler answers" in says(path, "--scheduler", "tcp://127.0.0.1:1")
