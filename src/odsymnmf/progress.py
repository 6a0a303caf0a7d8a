"""Progress bars, log lines and scikit-learn callbacks."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from odsymnmf.solvers.run import Callback, Sweep

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder for scikit-learn versions without callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


__all__ = ["CallbackSupportMixin", "CallbackTasks", "Progress", "with_callbacks"]

# Seconds between two log lines.
LOG_INTERVAL = 5.0


class Progress:
    """Report progress: not at all (verbose=0), with a tqdm bar (1) or in log lines (2).

    Parameters
    ----------
    title : str
        Name of the task.
    unit : str
        What is counted.
    verbose : int
        Kind of report.
    total : int, optional
        Largest number of units.
    """

    def __init__(self, title: str, unit: str, verbose: int, total: int | None = None):
        self.title, self.unit, self.verbose, self.total = title, unit, verbose, total
        self._bar: Any = None
        self._count = 0
        self._last_line = -LOG_INTERVAL
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if self.verbose == 1:
            try:
                from tqdm.auto import tqdm
            except ImportError as error:
                raise ImportError(
                    "verbose=1 shows a tqdm progress bar. Install tqdm with "
                    'pip install "odsymnmf[progress]", or set verbose=0.'
                ) from error
            self._bar = tqdm(desc=self.title, unit=f" {self.unit}", total=self.total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, text: str, count: int = 1) -> None:
        """Count further units and show the text; may be called from any thread."""
        if not self.verbose:
            return
        with self._lock:
            self._count += count
            if self._bar is not None:
                self._bar.set_postfix_str(text, refresh=False)
                self._bar.update(count)
            elif time.monotonic() - self._last_line >= LOG_INTERVAL:
                self._last_line = time.monotonic()
                total = "" if self.total is None else f" of at most {self.total}"
                line = f"{self.title}: {self.unit} {self._count}{total}, {text}"
                print(line, file=sys.stderr, flush=True)


class CallbackTasks:
    """Tasks reported to scikit-learn callbacks: "fit" > "start" (one per n_init) > "sweep".

    Nothing is called if scikit-learn does not support callbacks or none are set.
    """

    def __init__(self, estimator: Any, X: Any, n_init: int, max_iter: int):
        self.estimator, self.X, self.max_iter = estimator, X, max_iter
        self.root: Any = None
        self.tasks: list[Any] = [None] * n_init
        if not hasattr(estimator, "_init_callback_context"):
            return
        # Starts may run in parallel, so their tasks are numbered here.
        self.root = estimator._init_callback_context(max_subtasks=n_init, sequential_subtasks=False)
        self.root.call_on_fit_task_begin(estimator=estimator, X=X)
        if hasattr(estimator, "_skl_callbacks"):
            self.tasks = [
                self.root.subcontext(task_name="start", task_id=s, max_subtasks=max_iter)
                for s in range(n_init)
            ]

    @contextmanager
    def watch(self, start: int, reconstruct: Callable[[Any], dict[str, Any]]) -> Iterator[Callback]:
        """Yield a function to call after every sweep; it returns True to stop the start."""
        task = self.tasks[start]
        if task is None:
            yield lambda sweep: False
            return
        known: dict[str, Any] = {"estimator": self.estimator, "X": self.X}
        task.call_on_fit_task_begin(**known)
        running: Any = self._begin_sweep(task, known) if self.max_iter else None

        def after(sweep: Sweep) -> bool:
            nonlocal running
            if not sweep.is_complete:  # column restarts are not tasks
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
            if running is not None:  # the start converged before max_iter
                running.call_on_fit_task_end(estimator=self.estimator)
        task.call_on_fit_task_end(**known)

    @staticmethod
    def _begin_sweep(task: Any, known: dict[str, Any]) -> Any:
        return task.subcontext(task_name="sweep").call_on_fit_task_begin(**known)

    def end(self) -> None:
        """Report the end of the fit."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.estimator, X=self.X)
