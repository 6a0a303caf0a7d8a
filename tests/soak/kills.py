"""kill -9 at random moments of checkpointed fits, and Ctrl-C at random moments of fits.

Children are forked from this process, where everything is loaded: moments then fall into the fit.
Every tenth is a process of its own, whose moments may fall into loading, too.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import odsymnmf as od

from .lines import MEMORY, Line, hear
from .problems import quiet

SCRIPT = f"""
import sys, warnings
from {__name__} import fit
warnings.simplefilter("ignore")
print("begun", flush=True)
fit(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
"""
FORK = multiprocessing.get_context("fork")
# For a child to answer, or to end, on a machine that is busy.
PATIENCE = 300


def fit(seed, k, path=None):
    """A fit that takes about a second, with restarts; written down after every step."""
    rng = np.random.default_rng([seed, k])
    n, r = int(rng.integers(30, 90)), int(rng.integers(2, 8))
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    options = {"loss": str(rng.choice(["l2", "l1", "mixed"])), "restarts": int(rng.integers(3))}
    options |= {
        "init": "random",
        "random_state": k,
        "tol": 0,
        "max_iter": int(rng.integers(20, 120)),
    }
    return quiet(A + A.T, r, **options, checkpoint=path, checkpoint_every=0)


def _process(*command, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    options |= {"env": environment, "preexec_fn": hear}
    return subprocess.Popen([sys.executable, *command], **options)


def _forked(function, *args):
    """Start a child that calls the function; return it, and a pipe that says how it went."""
    ours, theirs = FORK.Pipe()
    child = FORK.Process(target=_answer, args=(theirs, function, *args))
    with warnings.catch_warnings():
        # Python 3.12 warns of threads in the parent.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    assert ours.poll(PATIENCE)
    ours.recv()
    return child, ours


def _answer(pipe, function, *args):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    pipe.send("begun")
    try:
        pipe.send(function(*args))
    except KeyboardInterrupt:
        pipe.send((time.monotonic(), "nothing"))
    except BaseException:
        pipe.send(traceback.format_exc())


def _killed(seed, k, path, moment, own):
    """Run the fit in a process of its own, or a forked one, and kill it after a moment."""
    if own:
        child = _process("-c", SCRIPT, str(seed), str(k), str(path), stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(moment)
        child.kill()
        child.communicate(timeout=PATIENCE)
    else:
        child, pipe = _forked(_nothing, fit, seed, k, path)
        time.sleep(moment)
        child.kill()
        child.join(PATIENCE)
        pipe.close()


def _nothing(function, *args):
    function(*args)


def kill(seed, k):
    """Killed one to three times, then resumed here: the bits of a fit that was never stopped."""
    rng = np.random.default_rng([seed, k, 1])
    began = time.monotonic()
    whole = fit(seed, k)
    took = time.monotonic() - began
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        path = Path(home, "c")
        for _ in range(int(rng.integers(1, 4))):
            _killed(seed, k, path, float(rng.exponential(2 * took)), own=k % 10 == 9)
        resumed = fit(seed, k, path)
        assert os.listdir(home) == ["c"], os.listdir(home)
    for name in ("H", "history", "restarts"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert resumed.status == whole.status


@cache
def _loaded():
    """Load what fits of the next line need."""
    for n_jobs in (None, 2):
        for loss in ("l2", "l1"):
            quiet(np.ones((20, 20)), 2, loss=loss, init="random", max_iter=2, n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        od.ODSymNMF(2, init="random", max_iter=2).fit(np.ones((20, 20)))


def pressed(A, kind):
    """Fit until somebody presses Ctrl-C; return when it came back, and with what."""
    options = {"init": "random", "tol": 0, "max_iter": 10**6, "random_state": 0}
    sweeps = []
    try:
        if kind == "threads":
            model = od.ODSymNMF(8, n_init=4, n_jobs=2, normalize=None, upper=None, **options)
            f = model.fit(A)
            H, status, value = f.membership_, f.status_, f.objective_
        else:
            f = od.factorize(A, 8, loss=kind, callback=sweeps.append, **options)
            H, status, value = f.H, f.status, f.objective
    except KeyboardInterrupt:
        assert not sweeps, "a sweep was complete, and is lost"
        raise
    back = time.monotonic()
    assert status == "interrupted", status
    assert np.isfinite(H).all()
    assert abs(od.objective(A, H, "l1" if kind == "l1" else "l2") - value) <= 1e-9 * value
    return back, kind


def press(seed, k):
    """Ctrl-C in Python, in threads or not: the last sweep is kept, and soon."""
    _loaded()
    rng = np.random.default_rng([seed, k, 2])
    kind = ["l2", "l1", "threads"][k % 3]
    A = rng.random((200, 200))
    child, pipe = _forked(pressed, A + A.T, kind)
    try:
        time.sleep(float(rng.exponential(0.3)))
        at = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        assert pipe.poll(PATIENCE), "no answer"
        answer = pipe.recv()
        assert isinstance(answer, tuple), answer
        assert answer[0] - at < 5, answer[0] - at
        return answer[1]
    finally:
        child.kill()
        child.join()
        pipe.close()


def _command(arguments, said):
    """What the script does, in a forked child whose errors go to a file."""
    from odsymnmf.cli import main

    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["odsymnmf", *arguments]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = -signal.SIGINT
    os._exit(code % 256)


def command(seed, k):
    """Ctrl-C in the command line: a whole run with its last sweep, or nothing."""
    _loaded()
    rng = np.random.default_rng([seed, k, 3])
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        # So many items that it cannot have converged to the last bit before the signal comes.
        A = np.triu(rng.random((500, 500)) < 0.2, 1).astype(float)
        np.save(Path(home, "A.npy"), A + A.T)
        out, said = Path(home, "run"), Path(home, "said")
        options = ["-r", "30", "--init", "random", "--tol", "0", "--max-iter", "1000000", "--quiet"]
        arguments = ["cluster", str(Path(home, "A.npy")), *options, "-o", str(out)]
        number = [signal.SIGINT, signal.SIGTERM][k % 2]
        if k % 10 > 7:
            with open(said, "wb") as errors:
                child = _process("-m", "odsymnmf.cli", *arguments, stderr=errors)
            time.sleep(float(rng.uniform(0, 6)))
            child.send_signal(number)
            code = child.wait(PATIENCE)
        else:
            child = _forked(_command, arguments, str(said))[0]
            time.sleep(float(rng.exponential(1)))
            os.kill(child.pid, number)
            child.join(PATIENCE)
            code = child.exitcode
        # Before Python or the command has set its handlers, the signal itself ends it.
        ends = (-number, 128 + number, 256 - number)
        assert code in ends, (code, said.read_text()[-300:])
        said.unlink(missing_ok=True)
        left = sorted(os.listdir(home))
        if left == ["A.npy"]:
            return "nothing"
        assert left == ["A.npy", "run"], left
        assert od.load(out / "model.odsym").membership_.shape == (500, 30)
        assert {"labels.csv", "membership.csv", "run.json"} <= set(os.listdir(out))
        return "a whole run"


LINES = {
    "kills": Line("kill -9 during checkpointed fits; resumed to the same bits", 1_000, kill),
    "presses-python": Line("Ctrl-C during fits: the last sweep is kept", 500, press),
    "presses-command": Line("Ctrl-C and SIGTERM in the command line", 500, command),
}
