"""The losses behind one protocol, and the registry: a new loss is one line here."""

from collections.abc import Callable
from numbers import Real
from typing import Any

from odsymnmf.engine.losses.l1 import L1
from odsymnmf.engine.losses.l2 import L2
from odsymnmf.engine.losses.measures import (
    harm,
    pair_losses,
    row_work,
    short_blocks,
    stored_pairs,
    tidy,
)
from odsymnmf.engine.losses.mixed import Mixed
from odsymnmf.engine.losses.protocol import Loss, Scales, Step, Sums, Worth
from odsymnmf.engine.losses.robust import Robust
from odsymnmf.engine.losses.symnmf import SymNMF
from odsymnmf.problem import Similarity

__all__ = [
    "Loss",
    "Scales",
    "Step",
    "Sums",
    "Worth",
    "harm",
    "make_loss",
    "names",
    "only_squares",
    "pair_losses",
    "row_work",
    "short_blocks",
    "stored_pairs",
    "swept_as",
    "tidy",
]


def _mixed(A: Similarity, upper: float, l1_ratio: float) -> Loss:
    """At the ends the mix is one of the two, with its own kernel."""
    if l1_ratio == 0:
        return L2(A, upper)
    return L1(A, upper) if l1_ratio == 1 else Mixed(A, upper, l1_ratio)


# (name, diagonal) -> what makes the loss.
REGISTRY: dict[tuple[str, str], Callable[[Similarity, float, float], Loss]] = {
    ("l2", "ignore"): lambda A, upper, l1_ratio: L2(A, upper),
    ("l1", "ignore"): lambda A, upper, l1_ratio: L1(A, upper),
    ("mixed", "ignore"): _mixed,
    ("robust", "ignore"): lambda A, upper, l1_ratio: Robust(A, upper),
    ("l2", "fit"): lambda A, upper, l1_ratio: SymNMF(A, upper),
}


def names() -> list[str]:
    """Return the names of the losses."""
    return list(dict.fromkeys(name for name, _ in REGISTRY))


def only_squares(name: Any, l1_ratio: float = 0.5) -> bool:
    """Say whether a loss counts squared errors and nothing else."""
    return bool(name == L2.name or (name == Mixed.name and l1_ratio == 0))


def swept_as(loss: Loss) -> tuple[str, str]:
    """Return by which name, and with which diagonal, to make what the sweeps of a loss lower.

    Those of "robust" lower a mix, whose scales it moves in between.
    """
    names = {SymNMF.name: (L2.name, "fit"), Robust.name: (Mixed.name, "ignore")}
    return names.get(loss.name, (loss.name, "ignore"))


def make_loss(
    name: Any, A: Similarity, upper: float, *, diagonal: str = "ignore", l1_ratio: Any = 0.5
) -> Loss:
    """Return the loss of that name for a problem.

    Parameters
    ----------
    name : str
        One of `names`.
    A : Dense, Sparse or Gram
        The problem.
    upper : float
        Upper bound on the entries of H; infinity for none.
    diagonal : {"ignore", "fit"}
        Whether the terms i = j count.
    l1_ratio : float
        For "mixed": the share of l1.
    """
    if diagonal not in ("ignore", "fit"):
        raise ValueError(f'diagonal={diagonal!r} is not known; use "ignore" or "fit".')
    if name not in names():
        known = ", ".join(repr(known) for known in names())
        raise ValueError(f"loss={name!r} is not known; use one of {known}.")
    if (name, diagonal) not in REGISTRY:
        able = " or ".join(f'loss="{n}"' for n, d in REGISTRY if d == diagonal)
        raise ValueError(f'loss="{name}" cannot fit the diagonal; use diagonal="ignore" or {able}.')
    if not isinstance(l1_ratio, Real) or not 0 <= float(l1_ratio) <= 1:
        raise ValueError(f"l1_ratio must be a number from 0 to 1; got {l1_ratio!r}.")
    return REGISTRY[name, diagonal](A, upper, float(l1_ratio))
