"""The losses for a dense H, as used by sweeps, rounds, restarts and initializations.

    f(H) = l1 f_1(H) + l2 f_2(H),   f_p(H) = sum over i != j of w_ij |A_ij - h_i . h_j|^p.

The two numbers are the `scales` of a loss. A new loss is a class here and a line in `LOSSES`;
`odsymnmf.solvers.base.PairwiseLoss` is their base class.
"""

from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from odsymnmf import kernels
from odsymnmf.similarity import Similarity
from odsymnmf.solvers.base import ColumnSums, GramSums, NewRows, PairwiseLoss, Solved
from odsymnmf.solvers.objective import ColumnGain, Scales, error, zero_objective
from odsymnmf.solvers.rounds import (
    PairCorrection,
    Round,
    RowUpdates,
    SweepResult,
    Task,
    tiles,
)
from odsymnmf.utils import Array

# Outputs of kernels that sweeps in place do not use.
UNUSED, NO_GRAM = np.empty(0, dtype=np.bool_), np.empty((0, 0))
# robust: after a sweep, the share of each loss is multiplied by this power of its value.
SHARE_POWER = 2.0
# robust: number of consecutive undone sweeps after which the run has converged.
MAX_UNDONE = 8


class L2(PairwiseLoss):
    """sum_{i != j} w_ij (A_ij - h_i . h_j)^2."""

    name = "l2"
    restarts, refresh_every, relative_tol = 0, 10, True
    auto_normalize = supports_sparse_h = True
    explained_name = "squared similarities"
    scales, l1_ratio = Scales(0.0, 1.0), 0.0
    combine_violations = sum

    def refresh(self) -> None:
        """Recompute D = H^T H and the products with A."""
        self.gram, self._since_refresh = GramSums(self.A, self._H), 0
        self._products = self.gram.products

    def _solve(self, items: Array, rows: Any, new: NewRows | None, empty: float = 0.0) -> Solved:
        l2, H, r, in_place = kernels.l2, self._H, self.r, new is None
        work, bounds = l2.workspace(r), kernels.rows.Bounds(self.upper, empty)
        gram = l2.GramState(self.gram.D, self.gram.peak)
        if not in_place:  # the kernel may change these
            gram = l2.GramState(gram.D.copy(), gram.peak.copy())
        decrease, violation = l2.l2_rows(
            items, rows, self.A.weights.for_kernel(items, r), self.diagonal, H, H, gram, work,
            bounds, 1, in_place, H if new is None else new.rows, UNUSED,
        )  # fmt: skip
        pair_terms = 0.0
        if new is not None:
            pair_terms = kernels.rounds.gram_change(
                items, H, new.rows, new.moved, decrease, new.D, work
            )
        return (0.0, decrease), violation, (0.0, pair_terms)

    def end_sweep(self, items: Array, decreases: Array, violation: float) -> SweepResult:
        """Return the result of a sweep; the violation is 0 if it is rounding."""
        rows = self._H if len(items) == self.n else self._H[items]
        # The sum of H D, which A H balances, times the machine epsilon.
        total = np.ones(len(rows), dtype=rows.dtype) @ rows @ self.gram.D.sum(axis=1)
        rounding = 16.0 * float(np.finfo(rows.dtype).eps * total)
        decrease = float(decreases[1])
        return SweepResult(decrease, 0.0 if violation <= rounding else violation, decrease)

    @cached_property
    def tiles(self) -> list[slice]:
        """Ranges of items; the items of a round in one range are a piece of work."""
        return tiles(self.n, self.r, self.gram.products.entries)

    def _stored_corrections(self, round: Round, updates: RowUpdates) -> list[Task]:
        """Return tasks for -2 A_ij d_i . d_j, summed over the pairs of the round."""
        tasks = self.gram.products.corrections(round, self._H, updates.rows)
        if tasks is None:
            return super()._stored_corrections(round, updates)
        return [partial(self._product_correction, task) for task in tasks]

    def _product_correction(self, task: Task) -> PairCorrection:
        value, products = task()
        return PairCorrection(np.array([0.0, -2.0 * self.A.weights.default * value]), products)


class L1(PairwiseLoss):
    """sum_{i != j} w_ij |A_ij - h_i . h_j|: each entry is a weighted median over the neighbors."""

    name = "l1"
    restarts, refresh_every, relative_tol = 10, 1, False
    supports_sparse_h = True
    explained_name = "absolute similarities"
    scales, l1_ratio = Scales(1.0, 0.0), 1.0

    def refresh(self) -> None:
        """Recompute the column sums of H."""
        self.columns, self._since_refresh = ColumnSums(self._H), 0

    def _solve(self, items: Array, rows: Any, new: NewRows | None, empty: float = 0.0) -> Solved:
        l1, H, sums, in_place = kernels.l1, self._H, self.columns, new is None
        new = new or NewRows(H, UNUSED, sums.W, NO_GRAM)
        weights = self.A.row_weights(items)
        columns = l1.ColumnState(sums.W, sums.peak, sums.nonzero)
        if not in_place:  # the kernel may change these
            columns = l1.ColumnState(sums.W.copy(), sums.peak.copy(), sums.nonzero)
        decrease, violation, pair_terms = l1.l1_rows(
            items, rows, weights, self.A.weights.for_kernel(items, 0), H, H, columns,
            l1.workspace(rows, weights is not None, self.r),
            kernels.rows.Bounds(self.upper, empty), 1, in_place, new.rows, new.moved, new.W,
        )  # fmt: skip
        return (decrease, 0.0), violation, (pair_terms, 0.0)


class Mixed(PairwiseLoss):
    """l1_ratio f_1(H) / f_1(0) + (1 - l1_ratio) f_2(H) / f_2(0)."""

    name = "mixed"
    restarts, refresh_every, relative_tol = 10, 10, False
    explained_name = "similarities, absolute and squared"

    def __init__(self, A: Similarity, upper: float = np.inf, l1_ratio: float = 0.5):
        super().__init__(A, upper)
        self.l1_ratio = float(l1_ratio)
        self.zero = Scales(*(zero_objective(A, power) or 1.0 for power in (1, 2)))

    @property
    def scales(self) -> Scales:  # type: ignore[override]
        """The scales of f_1 and f_2."""
        return Scales(self.l1_ratio / self.zero.l1, (1.0 - self.l1_ratio) / self.zero.l2)

    def refresh(self) -> None:
        """Recompute the sums over H of both losses."""
        self.gram, self.columns = GramSums(self.A, self._H), ColumnSums(self._H)
        self._since_refresh = 0

    def _solve(self, items: Array, rows: Any, new: NewRows | None, empty: float = 0.0) -> Solved:
        l1, l2, mixed, H, r = kernels.l1, kernels.l2, kernels.mixed, self._H, self.r
        in_place, sums = new is None, self.columns
        new = new or NewRows(H, UNUSED, sums.W, NO_GRAM)
        weights, second_terms = self.A.row_weights(items), 0.0
        columns = l1.ColumnState(sums.W, sums.peak, sums.nonzero)
        gram = l2.GramState(self.gram.D, self.gram.peak)
        if not in_place:  # the kernel may change these
            columns = l1.ColumnState(sums.W.copy(), sums.peak.copy(), sums.nonzero)
            gram = l2.GramState(gram.D.copy(), gram.peak.copy())
        state = mixed.State(columns, gram)
        work = mixed.Workspace(l1.workspace(rows, weights is not None, r), l2.workspace(r))
        first, second, violation, first_terms = mixed.mixed_rows(
            items, rows, weights, self.A.weights.for_kernel(items, r), H, H, state, work,
            tuple(self.scales), kernels.rows.Bounds(self.upper, empty), 1, in_place, new.rows,
            new.moved, new.W,
        )  # fmt: skip
        if not in_place:
            second_terms = kernels.rounds.gram_change(
                items, H, new.rows, new.moved, second, new.D, work.l2
            )
        return (first, second), violation, (first_terms, second_terms)

    def both(self, H: Array) -> tuple[float, float]:
        """Return f_1(H) / f_1(0) and f_2(H) / f_2(0)."""
        first, second = (error(self.A, H, power) for power in (1, 2))
        return (1.0 / self.zero.l1) * first, (1.0 / self.zero.l2) * second

    def loss_terms(self, H: Array) -> dict[str, float]:
        """Return ``l1_ratio`` and both losses relative to f(0)."""
        absolute, squares = self.both(H)
        return {"l1_ratio": self.l1_ratio, "l1": absolute, "l2": squares}


class Robust(Mixed):
    """max(f_1(H) / f_1(0), f_2(H) / f_2(0)); ``l1_ratio`` is the mix that sweeps lower.

    After Gillis, Hien, Leplat and Tan, "Distributionally robust and multi-objective nonnegative
    matrix factorization" (2019). After a sweep, the mix moves towards the larger loss. A sweep that
    would increase the larger one is undone, and only the mix moves.
    """

    name = "robust"
    restarts = 0
    explained_name = "similarities, absolute or squared, whichever is less"

    def __init__(self, A: Similarity, upper: float = np.inf, l1_ratio: float = 0.5):
        super().__init__(A, upper, 0.5)
        # l1_ratio, both relative losses, and the number of consecutive undone sweeps.
        self._mix: Any = None
        self._before: Any = None

    def objective(self, H: Array | None = None) -> float:
        """Return the larger of the two."""
        return max(self.both(self._H if H is None else H))

    def column_gain(self, j: int, items: Array) -> ColumnGain:
        """Return -f(H), up to a constant: the larger loss is not a sum over columns."""
        value = self.objective()
        return ColumnGain(-value, value)

    def refresh(self) -> None:
        """Recompute the sums over H, and both losses."""
        super().refresh()
        self._mix = np.array([self.l1_ratio, *self.both(self._H), 0.0])

    def column_changed(self, j: int, items: Array) -> None:
        """Update the sums over H for a new column j, and both losses."""
        super().column_changed(j, items)
        self._mix[1:3] = self.both(self._H)

    def save(self, items: Array) -> Any:
        """Return the sums over H that changes of the items' rows can change, and the mix."""
        return super().save(items), self._mix.copy()

    def restore(self, saved: Any) -> None:
        """Restore the sums and the mix that `save` returned."""
        super().restore(saved[0])
        self._mix = saved[1]
        self.l1_ratio = float(saved[1][0])

    def state(self) -> dict[str, Array]:
        """Return the arrays besides H that the next sweep depends on, by name."""
        arrays = super().state()
        if self._mix is not None:
            arrays["mix"] = self._mix
        return arrays

    def load(self, arrays: dict[str, Array]) -> None:
        """Continue from the arrays that `state` returned for this H."""
        super().load(arrays)
        if arrays:
            self.l1_ratio = float(arrays["mix"][0])

    def begin_sweep(self, items: Array | None = None) -> Array:
        """Prepare a sweep that may be undone."""
        items = super().begin_sweep(items)
        self._before = self._H[items].copy(), self.save(items)
        return items

    def end_sweep(self, items: Array, decreases: Array, violation: float) -> SweepResult:
        """Undo the sweep if the larger loss has increased; move the mix."""
        violation = super().end_sweep(items, decreases, violation).violation
        _, absolute, squares, undone = self._mix.tolist()
        new = absolute - decreases[0] / self.zero.l1, squares - decreases[1] / self.zero.l2
        decrease, ratio = float(max(absolute, squares) - max(new)), self.l1_ratio
        if decrease > 0.0:
            undone = 0.0
            # Both shares times a power of their loss, so that the larger loss weighs more.
            shares = np.array([ratio, 1.0 - ratio]) * np.power(new, SHARE_POWER)
            if shares.sum() > 0:
                ratio = float(shares[0] / shares.sum())
        else:
            self._H[items] = self._before[0]
            self.restore(self._before[1])
            new, decrease, undone = (absolute, squares), 0.0, undone + 1.0
            violation = 1.0 if undone < MAX_UNDONE else 0.0
            ratio = 0.5 * (ratio + float(absolute > squares))
        self.l1_ratio = min(max(ratio, 1e-3), 1.0 - 1e-3)
        self._mix, self._before = np.array([self.l1_ratio, *new, undone]), None
        return SweepResult(decrease, violation, decrease)


class SymNMF(L2):
    """sum_ij (A_ij - h_i . h_j)^2: the paper's baseline. The diagonal always has weight one."""

    name = "symnmf"
    supports_sparse_h = False
    diagonal: Array

    def __init__(self, A: Similarity, upper: float = np.inf, l1_ratio: float = 0.0):
        super().__init__(A, upper)
        self.diagonal = np.array(A.diagonal, dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(self.diagonal))
        if bad.size:
            raise ValueError(
                f"A[{bad[0]}, {bad[0]}] is {self.diagonal[bad[0]]}, but the diagonal is to be "
                'fitted. Replace it, or leave the diagonal out with diagonal="ignore".'
            )

    def objective(self, H: Array | None = None) -> float:
        """Return f(H), by default of the current memberships."""
        H = self._H if H is None else H
        H64 = H.astype(np.float64, copy=False)
        norms = np.einsum("ij,ij->i", H64, H64)
        return super().objective(H) + float(np.sum((self.diagonal - norms) ** 2))

    @staticmethod
    def clean_columns(H: Array) -> None:
        """Do nothing: an entry alone in its column explains a self-similarity."""

    def column_gain(self, j: int, items: Array) -> ColumnGain:
        """Return the increase of f if column j were removed; its nonzeros are among the items."""
        value, size = super().column_gain(j, items)
        h, others = self._H[items, j].astype(np.float64), self._H[items].astype(np.float64)
        others[:, j] = 0.0
        P = self.diagonal[items] - np.einsum("ij,ij->i", others, others)
        return ColumnGain(value + float(np.sum(h**2 * (2.0 * P - h**2))), size)


# (name, diagonal) -> the loss.
LOSSES: dict[tuple[str, str], Any] = {
    ("l2", "ignore"): L2,
    ("l1", "ignore"): L1,
    ("mixed", "ignore"): Mixed,
    ("robust", "ignore"): Robust,
    ("l2", "fit"): SymNMF,
}


def names() -> list[str]:
    """Return the names of the losses."""
    return list(dict.fromkeys(name for name, _ in LOSSES))


def loss_class(name: Any, diagonal: str = "ignore", l1_ratio: Any = 0.5) -> Any:
    """Return the class of a loss; a mix at its ends is l2 or l1."""
    if diagonal not in ("ignore", "fit"):
        raise ValueError(f'diagonal={diagonal!r} is not known; use "ignore" or "fit".')
    if (name, "ignore") not in LOSSES:
        known = ", ".join(repr(known) for known in names())
        raise ValueError(f"loss={name!r} is not known; use one of {known}.")
    if (name, diagonal) not in LOSSES:
        able = " or ".join(f'loss="{n}"' for n, d in LOSSES if d == diagonal)
        raise ValueError(f'loss="{name}" cannot fit the diagonal; use diagonal="ignore" or {able}.')
    if not isinstance(l1_ratio, Real) or not 0 <= float(l1_ratio) <= 1:
        raise ValueError(f"l1_ratio must be a number from 0 to 1; got {l1_ratio!r}.")
    pure: dict[float, Any] = {0.0: L2, 1.0: L1}
    return pure.get(float(l1_ratio), Mixed) if name == "mixed" else LOSSES[name, diagonal]


def make_solver(
    name: Any, A: Similarity, upper: float, *, diagonal: str = "ignore", l1_ratio: Any = 0.5
) -> Any:
    """Return a solver for a loss, one of `names`; H is set later."""
    return loss_class(name, diagonal, l1_ratio)(A, upper, l1_ratio)
