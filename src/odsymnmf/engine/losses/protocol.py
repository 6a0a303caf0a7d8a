"""What every loss can do. Sweeps, starts, restarts and runs ask for nothing else.

A loss belongs to a problem (similarities and what their pairs weigh) and an upper bound on the
entries of H:

    f(H) = l1 f_1(H) + l2 f_2(H),   f_p(H) = sum over i != j of w_ij |A_ij - h_i . h_j|^p,

and symNMF adds the diagonal. The two numbers are its `Scales`. A loss keeps no state: what sweeps
keep up to date about H is in the sums that it makes, so a run can set them aside, write them down
and take them up again. (`robust` moves its scales on the way; its sums hold where they are, and
set them again.)
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

from odsymnmf.arrays import Array
from odsymnmf.problem import Similarity
from odsymnmf.problem.rounds import Moves, Share, Task


class Scales(NamedTuple):
    """f = l1 f_1 + l2 f_2."""

    l1: float
    l2: float


class Step(NamedTuple):
    """What a sweep did: by how much f decreased, and how far from optimal the entries were."""

    decrease: float
    violation: float


class Pass(NamedTuple):
    """What one pass over items did: the decreases of f_1 and f_2, and the violation."""

    l1: float
    l2: float
    violation: float


class Change(NamedTuple):
    """What new rows add to sum_i h_i and to H^T H, as far as the loss keeps them."""

    W: Array | None
    D: Array | None


class Proposal(NamedTuple):
    """New rows for some items of a round, each at its optimum with all others as they were.

    ``decreases`` are those of f_1 and f_2 if only these items moved and no pair of them were
    stored; ``change`` is what the sums gain.
    """

    decreases: Array
    violation: float
    change: Change


class Worth(NamedTuple):
    """By how much f would rise without a column, and the size of the terms of that."""

    value: float
    size: float


class Sums(Protocol):
    """What sweeps keep up to date about H.

    A column that is rebuilt: `save`, `column_changed`, sweeps, and `restore` if f did not decrease.
    A round: `begin_round`, `Loss.propose` for every tile, `Loss.meetings`; then, if f decreases,
    `rows_changed` and the tasks of `put`, in any order, and at last `add`.
    """

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""

    def column_sums(self, H: Array) -> Array:
        """Return sum_i H_il for each column l."""

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""

    def begin_round(self) -> None:
        """Note the largest that the sums have been."""

    def add(self, change: Change, H: Array) -> None:
        """Learn of a round that H now holds."""

    def rows_changed(self, items: Array, moved: Array) -> None:
        """Learn of the rows of H that have moved."""

    def put(self) -> list[Task]:
        """Return the tasks that let the products with A learn of a round."""

    def shared(self) -> Any:
        """Return the products with A whose changes in a round workers tell each other, or None."""

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
    # f grows with this power of A; 0 where it is relative to what there is to explain.
    power: ClassVar[int]
    # Whether A enters through g = sum A_kj h_j alone, so that no row of it need be known.
    by_products: ClassVar[bool]
    # Whether "auto" stands for normalised similarities, a bound on H and the spectral start.
    normalized: ClassVar[bool]
    # Whether there are sweeps for sparse memberships (`engine.many.losses`).
    sparse: ClassVar[bool]
    # What the share that is explained is a share of.
    explains: ClassVar[str]
    A: Similarity
    upper: float
    # The share of l1, which "robust" moves between sweeps.
    l1_ratio: float

    @property
    def scales(self) -> Scales:
        """f = l1 f_1 + l2 f_2."""

    def for_parts(self) -> Callable[[Any], "Loss"]:
        """Return what makes the loss that sweeps lower, for any part of the problem."""

    def objective(self, H: Array) -> float:
        """Return f(H)."""

    def sums(self, H: Array) -> Any:
        """Compute what sweeps keep up to date."""

    def sweep(
        self,
        H: Array,
        sums: Any,
        items: Array,
        empty: float = 0.0,
        rounds: Callable[[Array, Any], Pass] | None = None,
    ) -> Step:
        """Bring the rows of the items to their optimum in turn, and the sums with them.

        An entry whose column is zero elsewhere has no influence; it becomes ``empty``. Given
        ``rounds``, that makes the pass over all items instead.
        """

    def tiles(self, sums: Any, r: int) -> list[slice]:
        """Cut the items into tiles for rounds."""

    def propose(self, H: Array, sums: Any, items: Array, New: Array, moved: Array) -> Proposal:
        """Set New[p] to the optimum of row items[p], all others as they are in H.

        H and the sums stay as they are. ``moved`` says which rows differ.
        """

    def meetings(self, sums: Any, moves: Moves, shares: list[Share]) -> list[Task]:
        """Return tasks whose sum is what listed pairs inside a round add to f_1 and f_2."""

    def together(self, violations: list[float]) -> float:
        """Return the violation of a pass, given those of its parts."""

    def tidy(self, H: Array) -> None:
        """Change what has no influence on f, so that nothing can grow without bound."""

    def worth(self, H: Array, j: int, items: Array) -> Worth:
        """Say what column j is worth; its entries are among the items."""

    def place(self, items: Array, H: Array, column: Any) -> None:
        """Give the items their entries in a column that is being built, each in turn."""

    def mix(self, H: Array | None) -> dict[str, float] | None:
        """Say what the parts of a loss of several parts are, None for a loss of one.

        Without H, what takes a product with A is NaN.
        """
