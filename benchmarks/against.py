"""Another checkout against this one: ``python -m benchmarks against --old DIR``.

Both sides run in processes of their own, by turns, from the same H, each with one thread for BLAS.
Of every process the least CPU time counts, which is what the code takes when nobody disturbs it;
of several processes the median, because where in memory arrays lie moves one by a tenth or more.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measured_side import NEEDS_DATA, OTHERS, SWEEPS
from benchmarks.timing import table

HERE = Path(__file__).resolve().parents[1]
# A case is measured in so many pairs of processes, each for so many seconds, or so often.
PAIRS, SECONDS, LEAST, MOST = 7, 3.0, 4, 75


class Side:
    """A checkout at work on a case."""

    def __init__(self, root: Path, name: str, start: Path, data: Path | None):
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(root / "src"), str(HERE)]),
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        }
        if data:
            environment["ODSYMNMF_DATA"] = str(data)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.measured_side", name, str(start)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=HERE,
        )
        self._answer()

    def _answer(self) -> list[str]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().split()
        if not line:
            raise RuntimeError("a measuring process failed; what it said is above")
        return line

    def measure(self) -> tuple[float, str]:
        """Return the CPU time of one more measurement, and a fingerprint of H."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        took, bits, _ = self._answer()
        return float(took), bits

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compared(name: str, old: Path, data: Path | None) -> tuple[float, bool, int]:
    """Return new / old, whether both found the same bits, and how many rounds that took."""
    least: list[tuple[float, ...]] = []
    same, total = True, 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(PAIRS):
            sides = [Side(root, name, Path(folder) / "H.npy", data) for root in (HERE, old)]
            times: list[tuple[float, ...]] = []
            rounds, end = 0, time.monotonic() + SECONDS
            while rounds < LEAST or (time.monotonic() < end and rounds < MOST):
                # By turns also in who goes first.
                turn = 1 if rounds % 2 else -1
                measured = [side.measure() for side in sides[::turn]][::turn]
                times.append(tuple(took for took, _ in measured))
                same &= measured[0][1] == measured[1][1]
                rounds += 1
            for side in sides:
                side.end()
            least.append(tuple(min(side) for side in zip(*times, strict=True)))
            total += rounds
    new, before = (median(side) for side in zip(*least, strict=True))
    return new / before, same, total


def main(data: Path | None, old: Path | None, only: str = "") -> None:
    if old is None:
        raise SystemExit("against needs --old DIR, the checkout to compare with")

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for name in [*SWEEPS, *OTHERS]:
            if only in name and (data or name not in NEEDS_DATA):
                ratio, same, rounds = compared(name, old.resolve(), data)
                yield name, f"{ratio:.3f}", "yes" if same else "no", str(rounds)

    table("This checkout against another", ["case", "new / old", "same bits", "rounds"], rows())
