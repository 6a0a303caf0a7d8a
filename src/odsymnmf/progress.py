"""Progress bars, log lines and scikit-learn callbacks."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    def __exit__(self, *error: object) -> None:
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

    ``reconstruct`` returns the fitted attributes that follow from H.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        n_init: int,
        max_iter: int,
        reconstruct: Callable[[Any], dict[str, Any]],
    ):
        self.known = {"estimator": estimator, "X": X}
        self.max_iter, self.reconstruct = max_iter, reconstruct
        # Starts may run in parallel, so they are numbered here.
        context = estimator._init_callback_context(max_subtasks=n_init, sequential_subtasks=False)
        self.root = context.call_on_fit_task_begin(**self.known)

    @contextmanager
    def watch(self, start: int) -> Iterator[Callback]:
        """Yield a function to call after every sweep; it returns True to stop the start."""
        task = self.root.subcontext(task_name="start", task_id=start, max_subtasks=self.max_iter)
        task.call_on_fit_task_begin(**self.known)
        sweep_task: Any = self._begin_sweep(task) if self.max_iter else None

        def after(sweep: Sweep) -> bool:
            nonlocal sweep_task
            if not sweep.is_complete:  # column restarts are not tasks
                return False
            stop = sweep_task.call_on_fit_task_end(
                **self.known, reconstruction_attributes=lambda: self.reconstruct(sweep.H)
            )
            is_last = stop or sweep.n_iter == self.max_iter
            sweep_task = None if is_last else self._begin_sweep(task)
            return bool(stop)

        try:
            yield after
        finally:
            if sweep_task is not None:  # the start converged before max_iter
                sweep_task.call_on_fit_task_end(estimator=self.known["estimator"])
        task.call_on_fit_task_end(**self.known)

    def _begin_sweep(self, task: Any) -> Any:
        return task.subcontext(task_name="sweep").call_on_fit_task_begin(**self.known)

    def end(self) -> None:
        """Report the end of the fit."""
        self.root.call_on_fit_task_end(**self.known)
