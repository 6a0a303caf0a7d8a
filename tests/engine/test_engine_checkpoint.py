"""Checkpoints: a run that goes on from one ends with the bits of a run that was never stopped."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import similarity, storage
from odsymnmf.engine import checkpoint as room

# Kernels are compiled for each kind of input: two losses with all of them, the others with one.
CASES = [(kind, loss, "ignore") for kind in ("dense", "sparse", "gram") for loss in ("l2", "l1")]
CASES += [("sparse", "mixed", "ignore"), ("sparse", "robust", "ignore"), ("dense", "l2", "fit")]


class KilledError(BaseException):
    """The process is no more."""


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(*args, **options)


def links(n=30, seed=0):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return A + A.T


def forms(kind):
    A = links()
    if kind == "dense":
        return np.where(A > 0.9, np.nan, A)
    return sparse.csr_array(A) if kind == "sparse" else similarity.gram(sparse.csr_array(A))


def kill_after(monkeypatch, writes):
    """Let the process die after so many writes."""
    original, count = room.Checkpoint.write, [0]

    def write(self, run):
        original(self, run)
        count[0] += 1
        if count[0] == writes:
            raise KilledError

    monkeypatch.setattr(room.Checkpoint, "write", write)


def same(one, other):
    for name in ("H", "history", "restarts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.status, one.n_iter, one.mix) == (other.status, other.n_iter, other.mix)


@pytest.mark.parametrize(("kind", "loss", "diagonal"), CASES)
def test_killed_again_and_again_it_ends_with_the_same_bits(
    monkeypatch, tmp_path, kind, loss, diagonal
):
    options = {"loss": loss, "diagonal": diagonal, "init": "random", "random_state": 3}
    options |= {"max_iter": 14, "tol": 1e-6, "restarts": 2}
    whole = quiet(forms(kind), 4, **options)
    options |= {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    kills, resumed = 0, None
    while resumed is None:
        try:
            with monkeypatch.context() as patch:
                kill_after(patch, 5)
                resumed = quiet(forms(kind), 4, **options)
        except KilledError:
            kills += 1
    assert kills >= 2
    same(whole, resumed)
    same(whole, quiet(forms(kind), 4, **options))  # done: it returns at once


def test_several_starts_go_on_too(monkeypatch, tmp_path):
    options = {"init": "random", "n_init": 3, "max_iter": 12, "tol": 1e-9, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = od.ODSymNMF(4, **options, n_jobs=1).fit(links())
        for n_jobs in (1, 2):
            options |= {"checkpoint": tmp_path / f"c{n_jobs}", "checkpoint_every": 0}
            with monkeypatch.context() as patch:
                kill_after(patch, 20)
                with pytest.raises(KilledError):
                    od.ODSymNMF(4, **options, n_jobs=n_jobs).fit(links())
            resumed = od.ODSymNMF(4, **options, n_jobs=n_jobs).fit(links())
            np.testing.assert_array_equal(resumed.membership_, whole.membership_)
            np.testing.assert_array_equal(resumed.history_, whole.history_)
    with pytest.raises(ValueError, match="needs random_state"):
        od.ODSymNMF(4, n_init=2, checkpoint=tmp_path / "d").fit(links())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"r": 3}, "its r was 4, not 3"),
        ({"loss": "l1"}, "its loss was 'l2', not 'l1'"),
        ({"max_iter": 9}, "its max_iter was 5, not 9"),
        ({"tol": 0.5}, "its tol was 0.0, not 0.5"),
        ({"upper": 2.0}, "its upper was inf, not 2.0"),
        ({"random_state": 1}, "its random_state was 0, not 1"),
        ({"random_state": np.random.RandomState(0)}, "its random_state was 0"),
        ({"init": "greedy"}, "its init was 'random', not 'greedy'"),
        ({"init": np.ones((30, 4))}, "its init was 'random', not 'array'"),
        ({"A": links(seed=1)}, "the similarities or weights differ"),
        ({"weights": np.ones((30, 30)) - np.eye(30)[::-1]}, "the similarities or weights differ"),
        ({"A": links().astype(np.float32)}, "the similarities or weights differ"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused_and_kept(tmp_path, change, reason):
    path = tmp_path / "c"
    options = {"A": links(), "r": 4, "init": "random", "random_state": 0, "tol": 0.0}
    options |= {"max_iter": 5, "checkpoint": path}
    quiet(**options)
    before = path.read_bytes()
    with pytest.raises(storage.StorageError, match="checkpoint of another fit: " + reason):
        quiet(**{**options, **change})
    assert path.read_bytes() == before


def test_another_version_a_model_and_damage_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "c"
    options = {"r": 4, "max_iter": 5, "checkpoint": path}
    quiet(links(), **options)
    with monkeypatch.context() as patch:
        patch.setattr(od, "__version__", "9.9", raising=False)
        with pytest.raises(storage.StorageError, match="version was"):
            quiet(links(), **options)
    header, arrays = storage.read(path, "checkpoint")
    forgeries = [
        (header, {**arrays, "H": np.full((30, 4), np.nan)}),
        (header, {**arrays, "H": np.ones((30, 5))}),
        (header, {**arrays, "sums_D": np.ones((1, 1))}),
        ({**header, "queue": [7]}, arrays),
        ({**header, "plain": {}}, arrays),
        ({**header, "identity": 3}, arrays),
        ({**header, "audits": [1]}, arrays),
    ]
    for forged in forgeries:
        storage.write(path, "checkpoint", *forged)
        with pytest.raises(storage.StorageError):
            quiet(links(), **options)
    od.factorize(links(), 2, max_iter=0).save(path)
    with pytest.raises(storage.StorageError, match="holds a 'model'"):
        quiet(links(), **options)


def test_a_checkpoint_that_cannot_be_written_says_so_before_the_work(tmp_path, monkeypatch):
    with pytest.raises(OSError, match="cannot write"):
        od.factorize(links(), 4, checkpoint=tmp_path / "no" / "c")
    original, count = room.Checkpoint.write, [0]

    def full(self, run):
        count[0] += 1
        if count[0] > 1:
            raise OSError(28, "cannot write c: No space left on device")
        original(self, run)

    monkeypatch.setattr(room.Checkpoint, "write", full)
    with pytest.warns(RuntimeWarning, match="out of date"):
        found = quiet(links(), 4, max_iter=5, tol=0, checkpoint=tmp_path / "c", checkpoint_every=0)
    same(found, quiet(links(), 4, max_iter=5, tol=0))
