"""Who watches the sweeps of a fit: a progress bar, a log, and scikit-learn's callbacks."""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from odsymnmf.engine.run import Callback, Sweep

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn knows no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Starts", "progress", "with_callbacks"]

# Seconds between two lines of a log, and between two looks at a bar.
PAUSE, GLANCE = 5.0, 0.5
# A guess at the time left needs so many sweeps, and so much of the way behind it.
SWEEPS, SHARE = 3, 0.05

Show = Callable[..., None]


class Pace:
    """How far the starts of a fit are, and how long the rest may take.

    A start ends when its violation has fallen to the tolerance, at best by the same factor in every
    sweep, and at the latest after ``max_iter`` sweeps: the share of the way behind it is the larger
    of log(violation) / log(tol) and n_iter / max_iter, and never decreases.
    """

    def __init__(self, max_iter: int, n_init: int, tol: float):
        self.max_iter, self.tol = max_iter, tol
        self.shares = [0.0] * n_init
        self.sweeps, self.best = 0, float("inf")
        self.rows = ""  # how far a sweep over many items is, in words
        self.first: float | None = None
        self.before = 0.0

    def see(self, sweep: Sweep | None, start: int, now: float) -> None:
        """Take notice of a sweep, or with None of the end of a start."""
        if sweep is None:
            self.shares[start] = 1.0
            return
        self.best = min(self.best, sweep.objective)
        self.sweeps += _whole(sweep)
        self.rows = "" if sweep.rows is None else f" and {sweep.rows:,} rows"
        share = sweep.n_iter / max(1, self.max_iter)
        if 0 < self.tol < 1 and 0 < sweep.violation < 1:
            share = max(share, math.log(sweep.violation) / math.log(self.tol))
        # Restarts of columns may follow: only the end of a start is its end.
        self.shares[start] = max(self.shares[start], min(share, 0.99))
        if self.first is None:  # what came before, compiling and the start, does not come again
            self.first, self.before = now, self.share

    @property
    def share(self) -> float:
        """The share of the whole fit that is done."""
        return sum(self.shares) / len(self.shares)

    def left(self, now: float) -> float | None:
        """Return about how many seconds are left, None as long as it would be a wild guess."""
        done = self.share - self.before
        if self.first is None or self.sweeps < SWEEPS or done < SHARE:
            return None
        return (now - self.first) / done * (1 - self.share)


def progress(title: str, max_iter: int, verbose: int, n_init: int = 1, tol: float = 0.0) -> Any:
    """Return a context whose value is called after every sweep, from any thread.

    It is given the sweep and the number of its start; None for the sweep says that the start has
    ended.
    """
    if not verbose:
        return nullcontext(lambda sweep, start=0: None)
    pace = Pace(max_iter, n_init, tol)
    return _bar(title, pace) if verbose == 1 else nullcontext(_lines(title, pace))


@contextmanager
def _bar(title: str, pace: Pace) -> Iterator[Show]:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            'verbose shows a progress bar of tqdm: pip install "odsymnmf[progress]", or verbose=0'
        ) from error
    begun = time.monotonic()
    bar_format = "{desc}: {percentage:3.0f}%|{bar}| {unit}"  # before a postfix comes a comma
    with tqdm(desc=title, total=100, bar_format=bar_format) as bar:

        def draw() -> None:
            now = time.monotonic()
            passed, left = tqdm.format_interval(now - begun), pace.left(now)
            if pace.sweeps:
                is_known = left is not None and pace.share < 1
                rest = f", about {tqdm.format_interval(left)} left" if is_known else ""
                text = (
                    f"iteration {pace.sweeps}{pace.rows}, objective {pace.best:.6g}, {passed}{rest}"
                )
            else:
                text = f"preparing the start, {passed}"
            bar.n = round(100 * pace.share, 1)
            bar.unit = text
            bar.refresh()

        def show(sweep: Sweep | None, start: int = 0) -> None:
            pace.see(sweep, start, time.monotonic())

        with _every(GLANCE, draw):
            yield show
        draw()


def _lines(title: str, pace: Pace) -> Show:
    """Return what prints where the fit is, at the first sweep and whenever time has passed."""
    last: float | None = None

    def show(sweep: Sweep | None, start: int = 0) -> None:
        nonlocal last
        now = time.monotonic()
        pace.see(sweep, start, now)
        if sweep is None or (last is not None and now - last < PAUSE):
            return
        last = now
        left = pace.left(now)
        known = "" if left is None else f", about {left:.0f} s left"
        most = pace.max_iter * len(pace.shares)
        where = f"iteration {pace.sweeps}{pace.rows} of at most {most}"
        line = f"{title}: {where}, objective {pace.best:.6g}{known}"
        print(line, file=sys.stderr, flush=True)

    return show


def _whole(sweep: Sweep) -> bool:
    """Say whether a whole sweep was done, and not a column or a part of the rows."""
    return sweep.column is None and sweep.rows is None


@contextmanager
def _every(seconds: float, do: Callable[[], None]) -> Iterator[None]:
    """Do something now and again in a few moments, whatever the block does meanwhile."""
    ended = threading.Event()

    def beat() -> None:
        do()
        while not ended.wait(seconds):
            do()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Starts:
    """scikit-learn's view of a fit: the task "fit" with one "start" a piece, each with "sweep"s.

    Where scikit-learn knows no callbacks, or none are set, nothing is called.
    """

    def __init__(self, estimator: Any, X: Any, n_init: int, max_iter: int):
        self.estimator, self.X, self.max_iter = estimator, X, max_iter
        self.root: Any = None
        self.tasks: list[Any] = [None] * n_init
        if not hasattr(estimator, "_init_callback_context"):
            return
        # Starts may run at the same time: their tasks are numbered here.
        self.root = estimator._init_callback_context(max_subtasks=n_init, sequential_subtasks=False)
        self.root.call_on_fit_task_begin(estimator=estimator, X=X)
        if hasattr(estimator, "_skl_callbacks"):
            self.tasks = [
                self.root.subcontext(task_name="start", task_id=s, max_subtasks=max_iter)
                for s in range(n_init)
            ]

    @contextmanager
    def watch(self, start: int, reconstruct: Callable[[Any], dict[str, Any]]) -> Iterator[Callback]:
        """Yield what to call after every sweep of a start; it returns True to stop the start."""
        task = self.tasks[start]
        if task is None:
            yield lambda sweep: False
            return
        known: dict[str, Any] = {"estimator": self.estimator, "X": self.X}
        task.call_on_fit_task_begin(**known)
        running: Any = self._begin_sweep(task, known) if self.max_iter else None

        def after(sweep: Sweep) -> bool:
            nonlocal running
            if not _whole(sweep):  # a restart of a column is no task of its own
                return False
            stop = running.call_on_fit_task_end(
                **known, reconstruction_attributes=lambda: reconstruct(sweep.H)
            )
            more = not stop and sweep.n_iter < self.max_iter
            running = self._begin_sweep(task, known) if more else None
            return bool(stop)

        try:
            yield after
        finally:
            if running is not None:  # begun, but the start had converged
                running.call_on_fit_task_end(estimator=self.estimator)
        task.call_on_fit_task_end(**known)

    @staticmethod
    def _begin_sweep(task: Any, known: dict[str, Any]) -> Any:
        return task.subcontext(task_name="sweep").call_on_fit_task_begin(**known)

    def end(self) -> None:
        """Say that the fit has ended."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.estimator, X=self.X)
