"""CPU time of the import, the first fit ever, and the first fit in a new process."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import in_new_process, table

CLOCK = "import time; t = time.process_time()\n{code}\nprint(time.process_time() - t)"
FIT = """
import numpy as np, odsymnmf as od
A = np.ones((20, 20))
od.factorize(A, 2, loss={loss!r})
"""
DEFAULT_FIT = """
import odsymnmf as od
A, _ = od.datasets.planted_partition([10] * 6, degree_in=8, degree_out=1, random_state=0)
od.ODSymNMF(6).fit(A)
"""
# Name, code and budget of first fits.
FITS = [
    ("l2 fit", FIT.format(loss="l2"), "< 6 s"),
    ("l1 fit", FIT.format(loss="l1"), ""),
    ("default fit of a graph", DEFAULT_FIT, "< 6 s"),
]


def seconds(code: str, before: str = "", repeats: int = 3, **environment: str) -> float:
    """Return the minimum CPU time of code in a new process, after ``before`` has run there."""
    timed = before + "\n" + CLOCK.format(code=code)
    return min(float(in_new_process(timed, **environment)) for _ in range(repeats))


def rows() -> Iterator[tuple[str, str, str]]:
    extra = seconds("import odsymnmf", before="import numpy")
    yield "`import odsymnmf`, numpy imported", "< 0.2 s", f"{extra:.3f} s"
    imports = "import sklearn.cluster"
    for name, fit, budget in FITS:
        cold = np.inf
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                cold = min(cold, seconds(fit, repeats=1, NUMBA_CACHE_DIR=cache))
                warm = seconds(fit, before=imports, NUMBA_CACHE_DIR=cache)
        yield f"first {name} ever, empty cache, imports included", budget, f"{cold:.1f} s"
        title = f"first {name} in a new process, scikit-learn imported"
        yield title, "< 1 s", f"{warm:.2f} s"


def main(data: Path | None) -> None:
    table("Start-up", ["case", "budget", "measured"], rows())
