"""kill -9 at random moments of checkpointed fits, and Ctrl-C at random moments of fits."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import odsymnmf as od

from .lines import Line
from .problems import quiet

SCRIPT = f"""
import sys, warnings
from {__name__} import fit
warnings.simplefilter("ignore")
print("begun", flush=True)
fit(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
"""


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


def _child(seed, k, path, moment, number):
    """Run the fit in a process of its own, and end it after a moment; say whether it was done."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT, str(seed), str(k), str(path)]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    child.stdout.readline()
    try:
        child.wait(timeout=moment)
        done = True
    except subprocess.TimeoutExpired:
        child.send_signal(number)
        done = False
    child.wait(timeout=300)
    child.stdout.close()
    return done


def kill(seed, k):
    """Killed one to three times, then resumed here: the bits of a fit that was never stopped."""
    rng = np.random.default_rng([seed, k, 1])
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "c")
        for _ in range(int(rng.integers(1, 4))):
            _child(seed, k, path, float(rng.exponential(0.5)), signal.SIGKILL)
        resumed, whole = fit(seed, k, path), fit(seed, k)
        assert os.listdir(home) == ["c"], os.listdir(home)
    for name in ("H", "history", "restarts"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert resumed.status == whole.status


PRESSED = """
import os, signal, sys, threading, time, warnings
import numpy as np
import odsymnmf as od
warnings.simplefilter("ignore")
A = np.random.default_rng(int(sys.argv[1])).random((200, 200))
od.factorize(A + A.T, 5, max_iter=1, restarts=0)
od.factorize(A + A.T, 5, max_iter=1, loss="l1")

def press():
    time.sleep(float(sys.argv[2]))
    os.kill(os.getpid(), signal.SIGINT)
    pressed.append(time.monotonic())

pressed = []
threading.Thread(target=press).start()
try:
    if sys.argv[3] == "threads":
        model = od.ODSymNMF(8, n_init=4, n_jobs=2, tol=0, max_iter=10**6, random_state=0)
        f = model.fit(A + A.T)
        H, status, value = f.membership_, f.status_, f.objective_
    else:
        f = od.factorize(A + A.T, 8, loss=sys.argv[3], tol=0, max_iter=10**6, init="random",
                         random_state=0)
        H, status, value = f.H, f.status, f.objective
    loss = "l1" if sys.argv[3] == "l1" else "l2"
    assert status == "interrupted", status
    assert np.isfinite(H).all()
    assert abs(od.objective(A + A.T, H, loss) - value) <= 1e-9 * value
except KeyboardInterrupt:
    pass
took = time.monotonic() - pressed[0]
assert took < 5, took
"""


def press(seed, k):
    """Ctrl-C in Python, in threads or not: the last sweep is kept, and soon."""
    rng = np.random.default_rng([seed, k, 2])
    kind = ["l2", "l1", "threads"][k % 3]
    command = [sys.executable, "-c", PRESSED, str(k), str(rng.uniform(0, 1.5)), kind]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-500:]
    return kind


def command(seed, k):
    """Ctrl-C in the command line: a whole run with its last sweep, or nothing."""
    rng = np.random.default_rng([seed, k, 3])
    with tempfile.TemporaryDirectory() as home:
        A = np.triu(rng.random((150, 150)) < 0.2, 1).astype(float)
        np.save(Path(home, "A.npy"), A + A.T)
        out = Path(home, "run")
        options = ["-r", "9", "--init", "random", "--tol", "0", "--max-iter", "1000000"]
        arguments = ["cluster", str(Path(home, "A.npy")), *options, "-o", str(out)]
        child = subprocess.Popen(
            [sys.executable, "-m", "odsymnmf.cli", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            child.wait(timeout=float(rng.uniform(1, 15)))
        except subprocess.TimeoutExpired:
            child.send_signal([signal.SIGINT, signal.SIGTERM][k % 2])
        _, said = child.communicate(timeout=300)
        # 0: it had converged to the last bit before the signal came.
        assert child.returncode in (0, -2, -15, 130, 143), (child.returncode, said[-300:])
        left = sorted(os.listdir(home))
        if left == ["A.npy"]:
            return "nothing"
        assert left == ["A.npy", "run"], left
        assert od.load(out / "model.odsym").membership_.shape == (150, 9)
        assert {"labels.csv", "membership.csv", "run.json"} <= set(os.listdir(out))
        return "a whole run"


LINES = {
    "kills": Line("kill -9 during checkpointed fits; resumed to the same bits", 1_000, kill),
    "presses-python": Line("Ctrl-C during fits: the last sweep is kept", 500, press),
    "presses-command": Line("Ctrl-C and SIGTERM in the command line", 500, command),
}
