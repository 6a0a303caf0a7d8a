"""Workers that are killed, members that fail, Ctrl-C, and fits that go on."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from distributed_problems import assert_same, here, in_blocks, problem, there
from numpy.testing import assert_array_equal

import odsymnmf as od
from odsymnmf.distributed import member, post, roster
from odsymnmf.distributed.crew import Crew
from odsymnmf.fitting import InterruptedWarning
from odsymnmf.storage import StorageError

RANDOM = {"init": "random", "random_state": 0, "max_iter": 5}


def kill_one(client):
    pids = sorted(client.run(os.getpid).values())
    os.kill(pids[0], signal.SIGKILL)


@pytest.mark.parametrize("kind", ["sparse", "documents"])
def test_a_worker_that_is_killed_between_sweeps_changes_no_bit(processes, kind):
    A, options = problem(kind), RANDOM | {"max_iter": 6, "tol": 0}
    kills = []

    def watch(sweep):
        if sweep.n_iter == 3:
            kills.append(kill_one(processes))

    found = there(processes, A, kind, (30, 20), 3, **options, callback=watch)
    assert len(kills) == 1
    assert_same(found, here(A, kind, 3, **options), kind)


def test_a_worker_that_is_killed_in_a_sweep_changes_no_bit(processes, monkeypatch):
    A, options = problem("sparse", n=400), RANDOM | {"max_iter": 40, "tol": 0}
    lost = []
    close = Crew.close
    monkeypatch.setattr(Crew, "close", lambda crew: (lost.append(crew.lost), close(crew)))
    begun = threading.Event()

    def kill_soon():
        begun.wait(30)
        time.sleep(0.05)
        kill_one(processes)

    killer = threading.Thread(target=kill_soon)
    killer.start()
    found = there(
        processes, A, "sparse", (90, 400), 4, **options, callback=lambda sweep: begun.set()
    )
    killer.join()
    assert_same(found, here(A, "sparse", 4, **options))
    assert lost[0] >= 1


def test_an_error_of_a_member_is_raised_and_nobody_waits_for_it(client, monkeypatch):
    sweep = member.Member._sweep

    def fail(self, l1_ratio):
        if self.rank == 1:
            raise ZeroDivisionError("of a member")
        return sweep(self, l1_ratio)

    monkeypatch.setattr(member.Member, "_sweep", fail)
    A = problem("sparse")
    with pytest.raises(ZeroDivisionError, match="of a member"):
        there(client, A, "sparse", (30, 90), 3, **RANDOM)
    monkeypatch.undo()
    for name, value in {"LEAST": 1, "MOST": 1, "FEWEST": 2}.items():
        monkeypatch.setattr(od.problem.rounds, name, value)
    assert_same(there(client, A, "sparse", (30, 90), 3, **RANDOM), here(A, "sparse", 3, **RANDOM))


def test_a_parcel_that_is_lost_on_its_way_is_asked_for(client, monkeypatch):
    lost, send = [], post.Post._send

    async def lose(self, now, rank, member):
        if now[1] % 7 == 3 and len(lost) < 4:
            lost.append(now)
        else:
            await send(self, now, rank, member)

    monkeypatch.setattr(post.Post, "_send", lose)
    monkeypatch.setattr(post, "LONG", 0.05)
    A = problem("sparse")
    assert_same(there(client, A, "sparse", (30, 90), 3, **RANDOM), here(A, "sparse", 3, **RANDOM))
    assert len(lost) == 4


def test_tasks_that_nobody_can_do_are_given_up(client, monkeypatch):
    # As those are that had been asked of a worker when it was killed.
    monkeypatch.setattr(roster, "LOOK", 0.1)
    stuck = client.submit(int, workers=["tcp://127.0.0.1:1"], pure=False)
    with pytest.raises(post.LostError):
        roster.Roster(client, None)._wait_for([stuck], set(client.nthreads()))
    assert stuck.cancelled()


def test_workers_of_another_version_are_refused(client, monkeypatch):
    monkeypatch.setattr(roster.odsymnmf, "__version__", "0.0.1")
    make = member.Member.__init__

    def elsewhere(self, name, problem, version):
        monkeypatch.setattr(roster.odsymnmf, "__version__", "0.0.2")
        make(self, name, problem, version)

    monkeypatch.setattr(member.Member, "__init__", elsewhere)
    with pytest.raises(RuntimeError, match=r"has odsymnmf 0\.0\.2, the client 0\.0\.1"):
        there(client, problem("sparse"), "sparse", (30, 90), 3, **RANDOM)


def test_members_let_go_of_their_memory(client):
    there(client, problem("sparse"), "sparse", (30, 90), 3, **RANDOM)
    assert not member._MEMBERS


def test_ctrl_c_keeps_the_last_complete_sweep(client):
    A, options = problem("sparse"), RANDOM | {"tol": 0}

    def press(sweep):
        if sweep.n_iter == 3:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        found = od.factorize(in_blocks(A, (30, 90)), 3, **options, callback=press)
    assert found.status == "interrupted"
    assert_array_equal(found.H, here(A, "sparse", 3, **options | {"max_iter": 3}).H)


def test_ctrl_c_within_a_sweep(client, monkeypatch):
    A, options = problem("sparse"), RANDOM | {"tol": 0, "max_iter": 6}
    sweeps, sweep = [], member.Member._sweep

    def slow(self, l1_ratio):
        sweeps.append(self.rank)
        if len(sweeps) > 9:  # three members: in the fourth sweep
            signal.raise_signal(signal.SIGINT) if self.rank == 0 else time.sleep(0.2)
        return sweep(self, l1_ratio)

    monkeypatch.setattr(member.Member, "_sweep", slow)
    with pytest.warns(InterruptedWarning):
        found = od.factorize(in_blocks(A, (30, 90)), 3, **options)
    assert found.status == "interrupted"
    assert 3 <= found.n_iter <= 4
    want = here(A, "sparse", 3, **options | {"max_iter": found.n_iter})
    assert_array_equal(found.H, want.H)
    assert found.objective == pytest.approx(want.objective, rel=1e-12)


def test_the_callback_sees_what_it_sees_on_one_machine(client):
    A, seen = problem("sparse"), []

    def look(sweep):
        seen.append((sweep.n_iter, sweep.objective, sweep.H.copy()))
        return sweep.n_iter == 4

    options = RANDOM | {"max_iter": 9, "tol": 0, "callback": look}
    one, other = there(client, A, "sparse", (30, 90), 3, **options), here(A, "sparse", 3, **options)
    assert one.status == "stopped"
    assert_same(one, other)
    for mine, theirs in zip(seen[:4], seen[4:], strict=True):
        assert mine[:2] == theirs[:2]
        assert_array_equal(mine[2], theirs[2])


@pytest.mark.parametrize(("kind", "loss"), [("sparse", "l2"), ("dense", "l1"), ("documents", "l2")])
def test_a_fit_goes_on_from_its_checkpoint(client, kind, loss, tmp_path):
    A, options = problem(kind), RANDOM | {"loss": loss, "tol": 0, "max_iter": 9}
    path = tmp_path / "fit.odsym"
    kept = {"checkpoint": path, "checkpoint_every": 0}

    class StopHereError(Exception):
        pass

    def die(sweep):
        if sweep.n_iter == 4:
            raise StopHereError

    with pytest.raises(StopHereError):
        there(client, A, kind, (30, 20), 3, **options, **kept, callback=die)
    iterations = []
    watch = {"callback": lambda sweep: iterations.append(sweep.n_iter)}
    found = there(client, A, kind, (45, 40), 3, **options, **kept, **watch)
    assert iterations[0] <= 5
    assert_array_equal(found.H, here(A, kind, 3, **options).H)
    again = there(client, A, kind, (30, 20), 3, **options, **kept)
    assert_same(again, found)
    with pytest.raises(StorageError, match="another fit"):
        there(client, A * 2.0, kind, (30, 20), 3, **options, **kept) if kind == "sparse" else there(
            client, A, kind, (30, 20), 3, **options | {"tol": 1e-3}, **kept
        )


# One filter for all threads: `quiet` would have each set its own.
@pytest.mark.filterwarnings("ignore:no convergence")
def test_many_fits_at_once(client):
    A = problem("sparse")
    want = here(A, "sparse", 3, **RANDOM)
    found = [None] * 3

    def fit(k):
        found[k] = od.factorize(in_blocks(A, (20 + 10 * k, 90)), 3, **RANDOM)

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    for one in found:
        assert one is not None
        np.testing.assert_array_equal(one.H, want.H)
