"""Progress bars and log lines."""

import sys
import threading
import time
from typing import Any, Self

from odsymnmf.utils import optional_import

# Seconds between two log lines.
LOG_INTERVAL = 5.0


class Progress:
    """Report progress: not at all (verbose=0), with a tqdm bar (1) or in log lines (2).

    ``total`` is the largest number of units, if it is known.
    """

    def __init__(self, title: str, unit: str, verbose: int, total: int | None = None):
        self.title, self.unit, self.verbose, self.total = title, unit, verbose, total
        self._bar: Any = None
        self._count = 0
        self._last_line = -LOG_INTERVAL
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if self.verbose == 1:
            tqdm = optional_import("tqdm.auto", "verbose=1", '"odsymnmf[progress]"').tqdm
            self._bar = tqdm(desc=self.title, unit=f" {self.unit}", total=self.total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, text: str, count: int = 1) -> None:
        """Count ``count`` units and show the text; may be called from any thread."""
        with self._lock:
            self._count += count
            if self._bar is not None:
                self._bar.set_postfix_str(text, refresh=False)
                self._bar.update(count)
            elif self.verbose and time.monotonic() - self._last_line >= LOG_INTERVAL:
                self._last_line = time.monotonic()
                total = "" if self.total is None else f" of at most {self.total}"
                line = f"{self.title}: {self.unit} {self._count}{total}, {text}"
                print(line, file=sys.stderr, flush=True)
