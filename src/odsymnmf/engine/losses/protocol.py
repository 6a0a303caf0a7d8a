"""What every loss can do. Sweeps, starts, restarts and runs ask for nothing else.

A loss belongs to a problem (similarities and what their pairs weigh) and an upper bound on the
entries of H:

    f(H) = l1 f_1(H) + l2 f_2(H),   f_p(H) = sum over i != j of w_ij |A_ij - h_i . h_j|^p,

and symNMF adds the diagonal. The two numbers are its `Scales`. A loss keeps no state: what sweeps
keep up to date about H is in the sums that it makes, so a run can set them aside, write them down
and take them up again.
"""

from typing import Any, ClassVar, NamedTuple, Protocol

from odsymnmf.arrays import Array
from odsymnmf.problem import Similarity


class Scales(NamedTuple):
    """f = l1 f_1 + l2 f_2."""

    l1: float
    l2: float


class Step(NamedTuple):
    """What a sweep did: by how much f decreased, and how far from optimal the entries were."""

    decrease: float
    violation: float


class Worth(NamedTuple):
    """By how much f would rise without a column, and the size of the terms of that."""

    value: float
    size: float


class Sums(Protocol):
    """What sweeps keep up to date about H."""

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""

    def column_sums(self, H: Array) -> Array:
        """Return sum_i H_il for each column l."""

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""

    def state(self) -> dict[str, Array]:
        """Return the arrays that the next sweep goes on from, by name."""

    def load(self, state: dict[str, Array]) -> None:
        """Go on from the arrays that `state` has returned."""


class Loss(Protocol):
    """One loss for one problem."""

    name: ClassVar[str]
    # Rounds of column restarts unless the user says otherwise: docs/results/starts.md has why.
    restarts: ClassVar[int]
    # Sweeps after which the sums are computed anew.
    refresh: ClassVar[int]
    # Whether the violation of a sweep is to be compared with that of the first.
    relative: ClassVar[bool]
    A: Similarity
    upper: float

    @property
    def scales(self) -> Scales:
        """f = l1 f_1 + l2 f_2."""

    def objective(self, H: Array) -> float:
        """Return f(H)."""

    def sums(self, H: Array) -> Any:
        """Compute what sweeps keep up to date."""

    def sweep(self, H: Array, sums: Any, items: Array, empty: float = 0.0) -> Step:
        """Bring the rows of the items to their optimum in turn, and the sums with them.

        An entry whose column is zero elsewhere has no influence; it becomes ``empty``.
        """

    def tidy(self, H: Array) -> None:
        """Change what has no influence on f, so that nothing can grow without bound."""

    def worth(self, H: Array, j: int, items: Array) -> Worth:
        """Say what column j is worth; its entries are among the items."""

    def place(self, items: Array, H: Array, column: Any) -> None:
        """Give the items their entries in a column that is being built, each in turn."""

    def mix(self, H: Array) -> dict[str, float] | None:
        """Say what the parts of a loss of several parts are, None for a loss of one."""
