"""Fits of many numbers of clusters to one problem, short, from one set of eigenvectors."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.defaults import Settings, decide, normalization
from odsymnmf.engine.how import LossName
from odsymnmf.engine.losses import loss_class
from odsymnmf.engine.starts import leading_eigenvectors, rotated
from odsymnmf.fitting import Fit
from odsymnmf.problem import Outline, Similarity, outline
from odsymnmf.result import Factorization

# To compare numbers of clusters, fits need not be as close to a minimum as the one that is kept.
SHORT: dict[str, Any] = {"max_iter": 20, "tol": 3e-3}


class Options(NamedTuple):
    """How all are fitted."""

    loss: LossName = "l2"
    l1_ratio: float = 0.5
    normalize: Any = "auto"
    upper: Any = "auto"


@dataclass(frozen=True)
class Fits:
    """One problem, to be fitted with several numbers of clusters.

    Attributes
    ----------
    raw : Dense, Sparse or Gram
        Not yet scaled.
    options : Options
    most : int
        The largest number of clusters.
    """

    raw: Similarity
    options: Options
    most: int

    @cached_property
    def seen(self) -> Outline:
        """What the problem looks like."""
        return outline(self.raw)

    def settings(self, r: int) -> Settings:
        """Return what "auto" stands for with r clusters."""
        o = self.options
        return decide(
            self.raw, r, loss=loss_class(o.loss, l1_ratio=o.l1_ratio), normalize=o.normalize,
            upper=o.upper, init="auto", seen=self.seen,
        )  # fmt: skip

    @cached_property
    def A(self) -> Similarity:
        """What is fitted."""
        how = normalization(self.raw, self.settings(1), self.seen)
        return self.raw if how is None else self.raw.scaled_by(how.roots)

    @cached_property
    def eigenvectors(self) -> Array:
        """Of the largest eigenvalues, enough for all."""
        return leading_eigenvectors(self.A, min(self.most, self.raw.n))

    def prepare(self) -> None:
        """Make what all fits share, before several begin at once."""
        if self.settings(1).init == "spectral":
            _ = self.eigenvectors
        _ = self.A

    def start(self, A: Similarity, V: Array, r: int) -> Any:
        """Return where a fit of r clusters starts."""
        settings = self.settings(r)
        if settings.init != "spectral" or r > V.shape[1]:
            return settings.init
        return rotated(A, V[:, :r])

    def fit(self, r: int) -> tuple[Factorization, float]:
        """Return a short fit of r clusters, and the seconds it took."""
        begun = time.perf_counter()
        V = self.eigenvectors if self.settings(r).init == "spectral" else np.empty((0, 0))
        found = self.short(self.A, self.start(self.A, V, r), r)
        return found, time.perf_counter() - begun

    def short(self, A: Similarity, init: Any, r: int) -> Factorization:
        """Fit r clusters to A, which is scaled, until it is good enough to compare."""
        o = self.options
        fit = Fit(
            loss=o.loss, l1_ratio=o.l1_ratio, init=init, random_state=0,
            upper=self.settings(r).upper, **SHORT,
        )  # fmt: skip
        found = fit(A, r)
        if found.status == "interrupted":
            raise KeyboardInterrupt
        return found
