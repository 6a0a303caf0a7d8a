"""The losses behind one protocol, and the registry: a new loss is one line here."""

from numbers import Real
from typing import Any

from odsymnmf.engine.losses.l1 import L1
from odsymnmf.engine.losses.l2 import L2
from odsymnmf.engine.losses.measures import harm, pair_losses, stored_pairs, tidy
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
    "another_loss",
    "harm",
    "loss_class",
    "make_loss",
    "names",
    "pair_losses",
    "stored_pairs",
    "tidy",
]


# (name, diagonal) -> the loss.
REGISTRY: dict[tuple[str, str], Any] = {
    ("l2", "ignore"): L2,
    ("l1", "ignore"): L1,
    ("mixed", "ignore"): Mixed,
    ("robust", "ignore"): Robust,
    ("l2", "fit"): SymNMF,
}


def names() -> list[str]:
    """Return the names of the losses."""
    return list(dict.fromkeys(name for name, _ in REGISTRY))


def loss_class(name: Any, diagonal: str = "ignore", l1_ratio: Any = 0.5) -> Any:
    """Return the class of the loss of that name, which says what is true for every problem.

    At its ends a mix is one of the two, with its own kernel. The parameters are those of
    `make_loss`.
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
    found = REGISTRY[name, diagonal]
    ends: dict[float, Any] = {0.0: L2, 1.0: L1}
    return ends.get(float(l1_ratio), Mixed) if found is Mixed else found


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
    found = loss_class(name, diagonal, l1_ratio)
    made: Loss = found(A, upper, float(l1_ratio)) if found is Mixed else found(A, upper)
    return made


def another_loss(name: str, loss: Loss) -> Loss:
    """Return the loss of that name for the problem of a loss, whose fit it is a start for."""
    if loss.name == name:
        raise ValueError(
            f"init={name!r} starts from the fit of that loss, but loss={name!r} is what is to "
            'be fitted; use init="greedy".'
        )
    return make_loss(name, loss.A, loss.upper)
