"""Who watches the sweeps of a fit: a progress bar, a log, and scikit-learn's callbacks."""

import sys
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

# Seconds between two lines of a log.
PAUSE = 5.0


def progress(title: str, total: int, verbose: int) -> Any:
    """Return a context whose value is called after every sweep, from any thread."""
    if not verbose:
        return nullcontext(lambda sweep: None)
    return _bar(title, total) if verbose == 1 else nullcontext(_lines(title, total))


@contextmanager
def _bar(title: str, total: int) -> Iterator[Callback]:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            'verbose shows a progress bar of tqdm: pip install "odsymnmf[progress]", or verbose=0'
        ) from error
    best = float("inf")
    with tqdm(desc=title, total=total, unit="sweep") as bar:

        def show(sweep: Sweep) -> None:
            nonlocal best
            best = min(best, sweep.objective)
            rows = {} if sweep.rows is None else {"rows": f"{sweep.rows:,}"}
            bar.set_postfix(objective=f"{best:.6g}", refresh=sweep.rows is not None, **rows)
            bar.update(_whole(sweep))

        yield show
        # Most fits converge long before max_iter: what was done is all there was to do.
        bar.total = bar.n
        bar.refresh()


def _lines(title: str, total: int) -> Callback:
    """Return what prints where the fit is, at the first sweep and whenever time has passed."""
    best, sweeps, last = float("inf"), 0, 0.0
    first: float | None = None

    def show(sweep: Sweep) -> None:
        nonlocal best, sweeps, first, last
        now = time.monotonic()
        best = min(best, sweep.objective)
        sweeps += _whole(sweep)
        if first is None:  # compiling, and the start, take time that is not to be expected again
            first = last = now
        elif now - last < PAUSE:
            return
        last = now
        left = (now - first) / max(1, sweeps - 1) * (total - sweeps)
        known = f", at most {left:.0f} s left" if sweeps > 1 else ""
        where = "" if sweep.rows is None else f" and {sweep.rows:,} rows"
        line = f"{title}: sweep {sweeps}{where} of at most {total}, objective {best:.6g}{known}"
        print(line, file=sys.stderr, flush=True)

    return show


def _whole(sweep: Sweep) -> bool:
    """Say whether a whole sweep was done, and not a column or a part of the rows."""
    return sweep.column is None and sweep.rows is None


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
