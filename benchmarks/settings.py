"""Other settings than the defaults, on the half of the graphs on which the defaults were chosen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.families import CHOOSE, GRAPHS, problems
from benchmarks.quality import estimator, score
from benchmarks.timing import table
from odsymnmf import defaults


class Setting(NamedTuple):
    """Scaling by 1 / sqrt(d_i + t mean(d)), upper = 1 / sqrt(max(a, n / (b r))), and so on."""

    t: float | None = 0.25
    bound: tuple[float, float] | None = (6, 5)
    init: str = "spectral"
    refine: str | None = "links"
    restarts: int = 0

    def __str__(self) -> str:
        scale = "not scaled" if self.t is None else f"degree, t = {self.t}"
        bound = f", bound {self.bound}" if self.bound else ""
        restarts = f", {self.restarts} rounds of restarts" if self.restarts else ""
        return f"{scale}{bound}, {self.init}{restarts}{', refined' if self.refine else ''}"

    def fit_predict(self, X: Any, r: int) -> Any:
        """Fit with the defaults of the library replaced by this setting."""
        smallest, share = self.bound or (6, 5)
        changes = {
            "REGULAR": dict.fromkeys(defaults.REGULAR, self.t),
            "REFINE": dict.fromkeys(defaults.REFINE, self.refine),
            "FEWEST": smallest,
            "SHARE": share,
        }
        options = {
            "normalize": None if self.t is None else "auto",
            "upper": "auto" if self.bound else None,
            "init": self.init,
            "restarts": self.restarts,
        }
        with mock.patch.multiple(defaults, **changes):
            return estimator("graphs", **options)(X, r)


TRIED = [
    Setting(None, None, "greedy", None),
    Setting(None, None, refine=None),
    Setting(0.0, None, refine=None),
    Setting(0.0, init="greedy", refine=None),
    *(Setting(t, refine=None) for t in (0.0, 0.1, 0.25, 0.5, 1.0)),
    *(Setting(bound=bound, refine=None) for bound in ((6, 3), (6, 8), (12, 5))),
    Setting(init="greedy", refine=None),
    Setting(refine=None, restarts=3),
    Setting(),
    Setting(1.0),
]


def main(data: Path | None) -> None:
    chosen = [(p, *p.make()) for p in problems(data, GRAPHS) if p.half == CHOOSE]
    Setting().fit_predict(chosen[0][1], 2)  # compiles
    times: list[float] = []

    def rows() -> Iterator[list[str]]:
        for setting in TRIED:
            scores = [(p.family, score(X, groups, setting.fit_predict)) for p, X, groups in chosen]
            nmi = [np.mean([s.nmi for f, s in scores if f == family]) for family in GRAPHS]
            times.append(sum(s.seconds for _, s in scores))
            values = [*nmi, np.mean([s.nmi for _, s in scores])]
            yield [str(setting), *(f"{v:.3f}" for v in values), f"{times[-1] / times[0]:.2f}"]

    table(
        f"Mean NMI on the half that chooses, {len(chosen)} graphs",
        ["setting", *GRAPHS, "all", "time / first"],
        rows(),
    )
