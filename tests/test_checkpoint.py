"""Resumed runs end with the bits of runs that were never stopped."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import similarity
from odsymnmf.solvers.checkpoint import Checkpoint


class KilledError(BaseException):
    """The process was killed."""


def graph(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), 5)
    n = len(groups)
    A = np.triu((groups[:, None] == groups) * rng.random((n, n)), 1)
    A += np.triu(rng.random((n, n)) < 0.02, 1)
    return (A + A.T).astype(dtype)


def unknown_pairs(A):
    return np.where(A > 0.9, np.nan, A)


FORMS = {
    "dense": unknown_pairs,
    "sparse": sparse.csr_array,
    "gram": lambda A: similarity.gram(sparse.csr_array(A)),
}
# Kernels are compiled for each form: two losses with all of them, the others with one.
DENSE_H = [(form, {"loss": loss}) for form in FORMS for loss in ("l2", "l1")]
DENSE_H += [
    ("sparse", {"loss": "mixed"}),
    ("sparse", {"loss": "robust"}),
    ("sparse", {"n_jobs": 2}),
]
DENSE_H += [("dense", {"diagonal": "fit"})]
SETS = [[5 * l, 5 * l + 1, 5 * l + 2] for l in range(12)]
SPARSE_H = [
    (
        "sparse",
        {"sparse_membership": True, "r": "auto", "restarts": None, "init": "auto", **options},
    )
    for options in (
        {},
        {"n_jobs": 2},
        {"loss": "l1"},
        {"zero_weight": 0.5, "max_iter": 7},
        {"r": 600, "init": SETS},  # pairs of columns in a hash table
    )
]
OPTIONS = {"r": 4, "init": "random", "random_state": 3, "max_iter": 14, "tol": 1e-9, "restarts": 2}


def fitted(A, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(A, **{**OPTIONS, **options})


def kill_after(patch, writes):
    """Raise `KilledError` after this many checkpoints."""
    original, count = Checkpoint.write, [0]

    def write(self, run, **options):
        original(self, run, **options)
        count[0] += 1
        if count[0] == writes:
            raise KilledError

    patch.setattr(Checkpoint, "write", write)


def assert_same(f, g):
    assert sparse.issparse(f.H) == sparse.issparse(g.H)
    H, G = (x.toarray() if sparse.issparse(x) else x for x in (f.H, g.H))
    np.testing.assert_array_equal(H, G)
    np.testing.assert_array_equal(f.history, g.history)
    np.testing.assert_array_equal(f.restart_steps, g.restart_steps)
    for name in ("objective", "status", "n_iter", "loss_terms", "labels_changed"):
        assert getattr(f, name) == getattr(g, name)


@pytest.mark.parametrize(("form", "options"), [*DENSE_H, *SPARSE_H], ids=str)
def test_resumed_runs_are_bit_identical(monkeypatch, tmp_path, form, options):
    A = FORMS[form](graph())
    uninterrupted = fitted(A, **options)
    options = {**options, "checkpoint": tmp_path / "c", "checkpoint_every": 0}
    kills, resumed = 0, None
    while resumed is None:
        try:
            with monkeypatch.context() as patch:
                kill_after(patch, 4)
                resumed = fitted(A, **options)
        except KilledError:
            kills += 1
    assert kills >= 1
    assert_same(resumed, uninterrupted)
    with monkeypatch.context() as patch:  # a finished run is not continued
        patch.setattr("odsymnmf.solvers.run.Run._sweep", None)
        assert_same(fitted(A, **options), uninterrupted)


def test_a_stopped_run_resumes_with_another_number_of_threads(tmp_path):
    A, options = sparse.csr_array(graph()), {"checkpoint": tmp_path / "c"}
    stopped = fitted(A, n_jobs=2, callback=lambda sweep: sweep.n_iter == 3, **options)
    assert (stopped.status, stopped.n_iter) == ("stopped", 3)
    assert_same(fitted(A, n_jobs=3, **options), fitted(A, n_jobs=1))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_checkpoints_of_several_initializations(monkeypatch, tmp_path, n_jobs):
    options = {"init": "random", "n_init": 3, "max_iter": 12, "tol": 1e-9, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        uninterrupted = od.ODSymNMF(4, **options, n_jobs=n_jobs).fit(graph())
        options |= {"checkpoint": tmp_path / "c", "checkpoint_every": 0, "n_jobs": n_jobs}
        with monkeypatch.context() as patch:
            kill_after(patch, 20)
            with pytest.raises(KilledError):
                od.ODSymNMF(4, **options).fit(graph())
        resumed = od.ODSymNMF(4, **options).fit(graph())
    np.testing.assert_array_equal(resumed.membership_, uninterrupted.membership_)
    np.testing.assert_array_equal(resumed.history_, uninterrupted.history_)
    with pytest.raises(ValueError, match="needs an int as random_state"):
        od.ODSymNMF(4, n_init=2, checkpoint=tmp_path / "d").fit(graph())


DATA, START = "the similarities or weights differ", "the given init differs"
GENERATORS = [np.random.default_rng(seed) for seed in (1, 2)]
OTHERS = [
    ({}, {"r": 3}, "its r was 4, not 3"),
    ({}, {"loss": "l1"}, "its loss was 'l2', not 'l1'"),
    ({}, {"max_iter": 9}, "its max_iter was 14, not 9"),
    ({}, {"tol": 0.5}, "its tol was 1e-09, not 0.5"),
    ({}, {"upper": 2.0}, "its upper was inf, not 2.0"),
    ({}, {"n_jobs": 1}, "its rounds was False, not True"),
    ({}, {"random_state": 1}, "its random_state was 3, not 1"),
    ({}, {"random_state": np.random.RandomState(3)}, "its random_state was 3"),
    ({"random_state": GENERATORS[0]}, {"random_state": GENERATORS[1]}, "its random_state was"),
    ({}, {"init": "greedy"}, "its init was 'random', not 'greedy'"),
    ({}, {"init": np.ones((60, 4))}, "its init was 'random', not 'given'"),
    ({"init": np.ones((60, 4))}, {"init": 2 * np.ones((60, 4))}, START),
    ({"sparse_membership": True, "init": SETS[:4]}, {"init": SETS[4:8]}, START),
    ({"sparse_membership": False, "init": SETS[:4]}, {"init": SETS[4:8]}, START),
    (
        {"sparse_membership": True, "init": SETS[:4]},
        {"sparse_membership": False},
        "its sparse_membership was",
    ),
    ({}, {"A": graph(1)}, DATA),
    ({}, {"A": graph(dtype=np.float32)}, DATA),
    ({}, {"zero_weight": 0.5}, DATA),
    ({}, {"weights": np.ones((60, 60)) - np.eye(60)[::-1]}, DATA),
]


@pytest.mark.parametrize(("first", "then", "reason"), OTHERS)
def test_the_checkpoint_of_another_fit_is_rejected_and_kept(tmp_path, first, then, reason):
    path = tmp_path / "c"
    options = {"A": sparse.csr_array(graph()), "restarts": None, "checkpoint": path, **first}
    fitted(**options)
    before = path.read_bytes()
    then = {name: sparse.csr_array(x) if name == "A" else x for name, x in then.items()}
    with pytest.raises(ValueError, match="checkpoint of another fit: " + reason):
        fitted(**{**options, **then})
    assert path.read_bytes() == before


def test_another_version_and_other_files_are_rejected(tmp_path, monkeypatch):
    path = tmp_path / "c"
    fitted(graph(), checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(od, "__version__", "9.9", raising=False)
        with pytest.raises(ValueError, match="its version was"):
            fitted(graph(), checkpoint=path)
    fitted(graph()).save(path)
    with pytest.raises(ValueError, match="contains a Factorization, not a checkpoint"):
        fitted(graph(), checkpoint=path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match="truncated"):
        fitted(graph(), checkpoint=path)


def test_a_checkpoint_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(OSError, match="cannot write"):  # before the first sweep
        fitted(graph(), checkpoint=tmp_path / "no" / "c")
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 0}

    def fill_disk(sweep):
        def full(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("odsymnmf.solvers.checkpoint.write_arrays", full)

    with pytest.warns(RuntimeWarning, match="the checkpoint is out of date"):
        f = fitted(graph(), callback=fill_disk, **options)
    assert_same(f, fitted(graph()))
