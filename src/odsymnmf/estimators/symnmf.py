"""The paper's baseline: clustering with self-similarities."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from odsymnmf.estimators.affinity import Affinity
from odsymnmf.estimators.odsymnmf import ODSymNMF
from odsymnmf.random_state import RandomState

# What the diagonal leaves no choice of.
NONE_OF = ("loss", "l1_ratio", "memberships", "mix_")

Estimator = TypeVar("Estimator", bound=type[ODSymNMF])


def _documented(estimator: Estimator) -> Estimator:
    """Put what `ODSymNMF` says of its parameters and attributes into the docstring, too."""
    if ODSymNMF.__doc__ and estimator.__doc__:  # python -OO leaves none
        sections = ODSymNMF.__doc__[ODSymNMF.__doc__.index("    Parameters\n") :]
        sections = sections[: sections.index("    See Also\n")]
        for name in NONE_OF:
            sections = re.sub(rf"(?m)^    {name} : .*\n(?:     .*\n)*", "", sections)
        before, after = estimator.__doc__.split("    See Also\n")
        estimator.__doc__ = f"{before}{sections}    See Also\n{after}"
    return estimator


@_documented
class SymNMF(ODSymNMF):
    """Cluster the items behind similarities, self-similarities included: symmetric NMF.

    Find memberships H >= 0 (n_samples x n_clusters) that minimise
    sum_ij w_ij (A_ij - h_i . h_j)^2 for symmetric similarities A. It is the baseline of `ODSymNMF`,
    which leaves out the terms i = j: self-similarities that mean nothing pull H away from the
    rest.

    See Also
    --------
    ODSymNMF : The same without the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from odsymnmf import SymNMF
    >>> A = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 4, 4], [0, 0, 4, 4]])
    >>> SymNMF(n_clusters=2, normalize=None).fit_transform(A).round(3)
    array([[0., 1.], [0., 1.], [2., 0.], [2., 0.]])
    """

    _diagonal: Literal["ignore", "fit"] = "fit"

    def __init__(
        self,
        n_clusters: int | str | Sequence[int] = 8,
        *,
        affinity: Affinity = "precomputed",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        upper: float | str | None = "auto",
        restarts: int | None = None,
        normalize: Literal["auto", "degree"] | None = "auto",
        zero_weight: float = 1.0,
        gamma: float | None = None,
        n_neighbors: int = 10,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters,
            affinity=affinity,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            upper=upper,
            restarts=restarts,
            normalize=normalize,
            zero_weight=zero_weight,
            gamma=gamma,
            n_neighbors=n_neighbors,
            n_jobs=n_jobs,
            random_state=random_state,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            verbose=verbose,
        )
