"""Checkpoints of sparse memberships: the bits of a run that was never stopped."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import storage
from odsymnmf.engine import checkpoint as room


class KilledError(BaseException):
    """The process is no more."""


def graph(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(40), 6)
    n = len(groups)
    A = np.triu((groups[:, None] == groups) * (rng.random((n, n)) < 0.8), 1).astype(float)
    A += np.triu(rng.random((n, n)) < 0.01, 1)
    return sparse.csr_array(np.minimum(A + A.T, 1.0).astype(dtype))


def fitted(A, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(A, **{"r": "auto", "memberships": "sparse", **options})


def kill_after(patch, writes):
    """Let the process die after so many writes."""
    original, count = room.Checkpoint.write, [0]

    def write(self, run):
        original(self, run)
        count[0] += 1
        if count[0] == writes:
            raise KilledError

    patch.setattr(room.Checkpoint, "write", write)


def same(one, other):
    assert np.array_equal(one.H.toarray(), other.H.toarray())
    assert np.array_equal(one.history, other.history)
    assert (one.objective, one.status, one.n_iter) == (other.objective, other.status, other.n_iter)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_jobs": 2},
        {"loss": "l1"},
        {"loss": "l1", "n_jobs": 2},
        {"r": 600, "init": [[6 * l, 6 * l + 1, 6 * l + 2] for l in range(40)]},  # pairs by hash
        {"zero_weight": 0.5, "max_iter": 7},
    ],
)
def test_killed_again_and_again_it_ends_with_the_same_bits(monkeypatch, tmp_path, options):
    A, options = graph(), {"tol": 1e-9, "max_iter": 25, **options}
    whole = fitted(A, **options)
    options |= {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    kills, resumed = 0, None
    while resumed is None:
        try:
            with monkeypatch.context() as patch:
                kill_after(patch, 4)
                resumed = fitted(A, **options)
        except KilledError:
            kills += 1
    assert kills >= 1
    same(whole, resumed)
    with monkeypatch.context() as patch:  # done: it returns at once
        patch.setattr("odsymnmf.engine.many.sweep.one_by_one", None)
        same(whole, fitted(A, **options))
    assert fitted(A, **options).memberships == "sparse"


def test_it_goes_on_with_another_number_of_threads(monkeypatch, tmp_path):
    A, options = graph(), {"tol": 1e-9, "max_iter": 12}
    whole = fitted(A, n_jobs=1, **options)
    options |= {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    with monkeypatch.context() as patch:
        kill_after(patch, 5)
        with pytest.raises(KilledError):
            fitted(A, n_jobs=2, **options)
    same(whole, fitted(A, n_jobs=3, **options))


def test_a_callback_may_stop_it_and_it_goes_on(tmp_path):
    A, options = graph(), {"tol": 1e-9, "max_iter": 12}
    whole = fitted(A, **options)
    options["checkpoint"] = tmp_path / "c"
    stopped = fitted(A, callback=lambda s: s.n_iter == 3, **options)
    assert stopped.status == "stopped"
    assert stopped.n_iter == 3
    same(whole, fitted(A, **options))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"r": 3}, "its r was 'auto', not 3"),
        ({"loss": "l1"}, "its loss was 'l2', not 'l1'"),
        ({"max_iter": 9}, "its max_iter was 5, not 9"),
        ({"upper": 2.0}, "its upper was 1.0, not 2.0"),
        ({"n_jobs": 1}, "its rounds was False, not True"),
        ({"init": np.repeat(np.arange(40), 6)}, "its init was 'ego', not 'given'"),
        ({"A": graph(1)}, "the similarities or weights differ"),
        ({"A": graph(dtype=np.float32)}, "the similarities or weights differ"),
        ({"zero_weight": 0.5}, "the similarities or weights differ"),
        ({"r": 40, "memberships": "full", "init": "auto"}, "its memberships was 'sparse'"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused_and_kept(tmp_path, change, reason):
    path = tmp_path / "c"
    options = {"A": graph(), "max_iter": 5, "init": "ego", "checkpoint": path}
    fitted(**options)
    before = path.read_bytes()
    with pytest.raises(storage.StorageError, match=reason):
        fitted(**{**options, **change})
    assert path.read_bytes() == before


def test_starts_that_are_given_tell_fits_apart(tmp_path):
    A, path = graph(), tmp_path / "c"
    labels = np.repeat(np.arange(40), 6)
    H = sparse.csr_array((np.ones(240), (np.arange(240), labels)))
    fitted(A, init=H, checkpoint=path)
    fitted(A, init=H.copy(), checkpoint=path)
    for other in (2.0 * H, np.where(labels == 3, 4, labels), [[0, 1, 2], [6, 7, 8]]):
        with pytest.raises(storage.StorageError, match="what was given as init differ"):
            fitted(A, init=other, checkpoint=path)
