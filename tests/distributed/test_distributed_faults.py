"""Lost workers, errors on workers, Ctrl-C, callbacks and checkpoints."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from distributed_problems import assert_same, assert_same_model, factorize, fit, in_blocks, problem
from numpy.testing import assert_array_equal

import odsymnmf as od
from odsymnmf.distributed import worker
from odsymnmf.distributed.cluster import WorkerGroup
from odsymnmf.fit import InterruptedWarning


def kill_one(client):
    os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)


@pytest.mark.parametrize("kind", ["sparse", "documents"])
def test_killed_between_sweeps(processes, kind, monkeypatch):
    A, options = problem(kind), {"max_iter": 6, "tol": 0}
    created, create, setup = [], WorkerGroup._create, WorkerGroup.setup

    def setup_and_kill(group, *call):
        setup(group, *call)
        if call[0] == "set_loss" and len(created) == 1:
            kill_one(processes)

    monkeypatch.setattr(WorkerGroup, "_create", lambda group: created.append(create(group)))
    monkeypatch.setattr(WorkerGroup, "setup", setup_and_kill)
    if kind == "documents":
        options |= {"affinity": "cosine", "normalize": None}
        assert_same_model(fit(in_blocks(A), **options), fit(A, n_jobs=2, **options))
    else:
        assert_same(factorize(in_blocks(A), **options), factorize(A, n_jobs=2, **options))
    assert len(created) >= 2


def test_killed_during_sweep(processes):
    A, options = problem("sparse", n=400), {"max_iter": 40, "tol": 0}
    started = threading.Event()

    def kill_soon():
        started.wait(60)
        time.sleep(0.05)
        kill_one(processes)

    thread = threading.Thread(target=kill_soon)
    thread.start()
    f = factorize(in_blocks(A, (90, 400)), 4, callback=lambda sweep: started.set(), **options)
    thread.join()
    assert_same(f, factorize(A, 4, n_jobs=2, **options))


def test_error_on_one_worker(client, monkeypatch):
    sweep, A = worker.FitWorker.sweep, problem("sparse")

    def fail(self, *args):
        if self.rank == 1:
            raise ZeroDivisionError("on a worker")
        return sweep(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(worker.FitWorker, "sweep", fail)
        with pytest.raises(ZeroDivisionError, match="on a worker"):
            factorize(in_blocks(A))
    assert_same(factorize(in_blocks(A)), factorize(A, n_jobs=2))


def test_interrupt_during_sweep(client, monkeypatch):
    A, sweep, calls = problem("sparse"), worker.FitWorker.sweep, []

    def interrupt(self, *args):
        calls.append(self.rank)
        if len(calls) > 9:  # three workers: in the fourth sweep
            signal.raise_signal(signal.SIGINT) if self.rank == 0 else time.sleep(0.2)
        return sweep(self, *args)

    monkeypatch.setattr(worker.FitWorker, "sweep", interrupt)
    with pytest.warns(InterruptedWarning):
        f = od.factorize(in_blocks(A), 3, init="random", random_state=0, tol=0, max_iter=6)
    assert 3 <= f.n_iter <= 4
    expected = factorize(A, n_jobs=2, tol=0, max_iter=f.n_iter)
    assert_array_equal(f.H, expected.H)
    assert f.objective == pytest.approx(expected.objective, rel=1e-12)


@pytest.mark.parametrize("every", [1, 6])
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_callback(client, loss, every):
    A, seen = problem("sparse"), []

    def stop(sweep):
        H = sweep.H if sweep.n_iter % every == 0 else np.empty(0)  # fetched when it is read
        seen.append([sweep.n_iter, sweep.objective, *H.flat])
        return sweep.n_iter == 14

    options = {"max_iter": 20, "tol": 0, "callback": stop, "loss": loss}
    f = factorize(in_blocks(A), **options)
    assert f.status == "stopped"
    assert_same(f, factorize(A, n_jobs=2, restarts=0, **options))
    assert seen[:14] == seen[14:]


@pytest.mark.parametrize(("kind", "loss"), [("sparse", "l2"), ("dense", "l1")])
def test_checkpoint(client, kind, loss, tmp_path):
    A, options = problem(kind), {"loss": loss, "tol": 0, "max_iter": 9}
    saved = {"checkpoint": tmp_path / "fit.npz", "checkpoint_every": 0}

    def fail(sweep):
        if sweep.n_iter == 4:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        factorize(in_blocks(A), **options, **saved, callback=fail)
    n_iter = []
    saved["callback"] = lambda sweep: n_iter.append(sweep.n_iter)
    f = factorize(in_blocks(A, (45, 40)), **options, **saved)
    assert n_iter[0] <= 5
    assert_array_equal(f.H, factorize(A, n_jobs=2, restarts=0, **options).H)
    with pytest.raises(ValueError, match="another fit"):
        factorize(in_blocks(A * 2.0), **options, **saved)


@pytest.mark.filterwarnings("ignore:no convergence")
def test_concurrent_fits(client):
    A = problem("sparse")
    expected, results = factorize(A, n_jobs=2), [None] * 3
    options = {"init": "random", "random_state": 0, "max_iter": 5}

    def run(k):
        results[k] = od.factorize(in_blocks(A, (20 + 10 * k, 90)), 3, **options)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for method in ("start", "join"):
        for thread in threads:
            getattr(thread, method)()
    for one in results:
        np.testing.assert_array_equal(one.H, expected.H)
