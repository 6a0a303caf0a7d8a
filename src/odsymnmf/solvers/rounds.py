"""Parallel rounds: many rows are solved at once, and f never increases.

Item k is in round k mod 16; with many items, runs of eight stay together. In a round, every row is
solved for H at the beginning of the round, then all changed rows are applied. The exact decrease
is the sum over rows minus a correction for pairs inside the round (docs/algorithms.md, "Rounds").
If f would increase, the round is split into two halves, down to single rows, which never increase
it. Pieces of work and the order of sums depend on the problem alone, so the result is the same for
any number of threads or workers.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np

from odsymnmf.utils import Array, blocks

N_ROUNDS = 16
# With at least MIN_FOR_RUNS items, runs of RUN consecutive items are in the same round.
RUN, MIN_FOR_RUNS = 8, 2**14
# An increase of f by less than this fraction of f(0) is rounding.
ROUNDING = 2.0**-50
# Multiply-adds of a piece, its number of rows, and the number of pieces of a round.
MIN_WORK, MAX_WORK = 2**21, 2**22
MIN_ROWS, MAX_ROWS = 16, 1024
N_PIECES, MAX_PIECES = 16, 256
# Entries of the rows that a thread reads at a time; the kernels of l1 compute about one in SKIPPED
# multiply-adds only.
MAX_ENTRIES, SKIPPED = 2**20, 4

Task = Callable[[], Any]


class SweepResult(NamedTuple):
    """Decrease of f with its penalty, violation of optimality, and decrease of f alone."""

    decrease: float
    violation: float
    loss_decrease: float


class Round(NamedTuple):
    """Items that are solved at once, and their positions in the round (-1: not in the round).

    ``pieces`` are slices of ``items``: each is the work of one task. ``cache`` is for what depends
    on the items alone.
    """

    items: Array
    position: Array
    pieces: list[slice]
    cache: dict[str, Any]


class RowUpdates(NamedTuple):
    """New rows of some items, each solved given the old rows of all others.

    ``moved`` marks the rows that changed; updates from another process are `PackedRows` of these.
    ``decreases`` are those of the terms of f, with the pair terms of the items but without those
    of stored similarities. ``change`` is the change of the sums over H.
    """

    rows: Any
    moved: Array
    decreases: Array
    violation: float
    change: Any


class PackedRows(NamedTuple):
    """The nonzeros of an array of rows, and a bit for each entry."""

    shape: tuple[int, ...]
    bits: Array
    values: Array

    @classmethod
    def of(cls, rows: Array, moved: Array | None = None) -> Self:
        """Pack an array, or only the rows that moved."""
        nonzero = rows != 0
        if moved is not None:
            nonzero[~moved] = False
        return cls(rows.shape, np.packbits(nonzero), np.compress(nonzero.ravel(), rows))

    def put(self, rows: Array) -> None:
        """Set the nonzeros."""
        nonzero = np.unpackbits(self.bits, count=rows.size).view(np.bool_)
        np.place(rows, nonzero.reshape(self.shape), self.values)


class PairCorrection(NamedTuple):
    """The pair correction of stored pairs, for each term of f, and new products with A."""

    increases: Array
    products: Any = None


class Rounds:
    """Sweeps in rounds, shared by threads and, with ``exchange``, by processes.

    Parameters
    ----------
    solver : object
        A loss and H: see `odsymnmf.solvers.losses` and `odsymnmf.solvers.sparse_losses`.
    n_threads : int
        Threads of this process.
    exchange : callable, optional
        Sends the results of the pieces of this process to all processes, and returns a list of the
        results of every process, by rank.
    owners : ndarray of shape (n,), optional
        The rank of the process that solves each item.
    rank : int
        Rank of this process.

    Attributes
    ----------
    n_splits : int
        Number of rounds that were split because f would have increased.
    """

    def __init__(
        self,
        solver: Any,
        n_threads: int = 1,
        exchange: Callable[[list[Any]], Sequence[Sequence[Any]]] | None = None,
        owners: Array | None = None,
        rank: int = 0,
    ):
        self.solver, self.threads, self.n_splits = solver, ThreadPool(n_threads), 0
        self.exchange, self.owners, self.rank = exchange, owners, rank

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.threads.close()

    @cached_property
    def _rounds(self) -> list[Round]:
        solver = self.solver
        position = np.full(solver.n, -1, dtype=np.int32)
        parts = partition(solver.n, solver.run_length)
        return [Round(items, position, solver.pieces(items), {}) for items in parts]

    @cached_property
    def tolerance(self) -> float:
        """The increase of f that is rounding; computed when f seems to increase."""
        return ROUNDING * float(self.solver.objective_at_zero())

    def __call__(self, progress: Callable[[int], None] | None = None) -> SweepResult:
        """Update every row of H once; ``progress`` is called with the number of rows done."""
        items = self.solver.begin_sweep()
        decreases, violations, done = np.zeros(2), [], 0
        for round in self._rounds:
            for decrease, violation in self._solve(round):
                decreases += decrease
                violations.append(violation)
            done += len(round.items)
            if progress is not None:
                progress(done)
        violation = self.solver.combine_violations(violations)
        result: SweepResult = self.solver.end_sweep(items, decreases, violation)
        return result

    def _solve(self, round: Round) -> list[tuple[Array, float]]:
        """Solve the rows of a round and apply them if f decreases, else those of its halves."""
        solver, (items, position, pieces, _) = self.solver, round
        solver.begin_round()
        position[items] = np.arange(len(items), dtype=np.int32)
        owners = None if self.owners is None else self.owners[items[[p.start for p in pieces]]]
        solve = [partial(solver.solve_rows, items[piece], piece) for piece in pieces]
        updates = solver.merge(items, self._run(solve, owners))
        tasks = solver.pair_corrections(round, updates)
        if owners is not None:
            owners = solver.correction_owners(owners, len(tasks))
        corrections = self._run(tasks, owners)
        decreases = updates.decreases
        if len(items) > 1:
            decreases = decreases - sum(c.increases for c in corrections)
            decrease = solver.total(decreases)
            if decrease < 0.0 and decrease < -self.tolerance:
                self.n_splits += 1
                position[items] = -1
                parts = [
                    Round(half, position, solver.pieces(half), {})
                    for half in halves(items, solver.run_length)
                ]
                return [result for part in parts for result in self._solve(part)]
        self.threads.run(solver.apply_tasks(round, updates, corrections))
        solver.apply_change(updates)
        position[items] = -1
        return [(decreases, updates.violation)]

    def _run(self, tasks: Sequence[Task], owners: Array | None) -> list[Any]:
        """Run the tasks (of this process, if there are several) and return all results in order."""
        if self.exchange is None or owners is None:
            return self.threads.run(tasks)
        local = [task for task, owner in zip(tasks, owners, strict=True) if owner == self.rank]
        results = [iter(part) for part in self.exchange(self.threads.run(local))]
        return [next(results[owner]) for owner in owners]


def round_numbers(n: int, run: int) -> Array:
    """Return the index of the round of each of n items."""
    return (np.arange(n) // run % N_ROUNDS).astype(np.int8)


def partition(n: int, run: int) -> list[Array]:
    """Return the items of each round."""
    numbers = round_numbers(n, run)
    return [np.flatnonzero(numbers == k) for k in range(int(numbers.max(initial=-1)) + 1)]


def run_length(n: int) -> int:
    """Return the length of runs: rows of consecutive items are adjacent in memory."""
    return RUN if n >= MIN_FOR_RUNS else 1


def halves(items: Array, run: int) -> list[Array]:
    """Return the items of every other run and the remaining items; for a single run, its halves."""
    runs = np.cumsum(np.diff(items // run, prepend=items[0] // run) != 0)
    if runs[-1] > 0:
        return [items[runs % 2 == 0], items[runs % 2 == 1]]
    first = 1 << ((len(items) - 1).bit_length() - 1)
    return [items[:first], items[first:]]


def tiles(n: int, r: int, entries: int, largest: int = MAX_ROWS, skipped: int = 1) -> list[slice]:
    """Return ranges of n items; the items of a range that are in the same round are a piece.

    A row of A or X has ``entries`` entries; the kernels skip all but one in ``skipped`` of its
    multiply-adds. Each piece has an r x r array of sums: with at least r / 2 rows per piece, these
    arrays together are at most an eighth of H.
    """
    work = max(1, (entries + r) * r // skipped)
    rows = max(-(-n // (N_ROUNDS * N_PIECES)), MIN_WORK // work, MIN_ROWS)
    rows = min(rows, max(MAX_WORK // work, MIN_ROWS), largest)
    rows = max(rows, r // 2, -(-n // (N_ROUNDS * MAX_PIECES)))
    pieces = -(-n // (N_ROUNDS * rows))
    return list(blocks(n, N_ROUNDS * -(-n // (N_ROUNDS * pieces))))  # all of one size


def row_tiles(n: int, r: int, entries: int) -> list[slice]:
    """Return ranges of n items for losses that read single rows of A."""
    return tiles(n, r, entries, min(max(1, MAX_ENTRIES // max(1, entries)), MAX_ROWS), SKIPPED)


def cut(items: Array, ranges: list[slice]) -> list[slice]:
    """Return the slices of ``items`` in each range, without empty ones."""
    ends = np.searchsorted(items, [r.stop for r in ranges])
    starts = [0, *ends[:-1]]
    return [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if a < b]


def pairs_inside(stored: Any, run: int) -> Any:
    """Return the entries (i, k), k < i, of CSR arrays whose two items are in the same round.

    ``stored`` is a named tuple of indptr, indices and further arrays of entries.
    """
    indptr, indices = stored[:2]
    numbers = round_numbers(len(indptr) - 1, run)
    rows = np.repeat(np.arange(len(numbers), dtype=indices.dtype), np.diff(indptr))
    inside = (numbers[rows] == numbers[indices]) & (indices < rows)
    counts = np.bincount(rows[inside], minlength=len(numbers))
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(indptr.dtype)
    return type(stored)(begin, *(array[inside] for array in stored[1:]))


class ThreadPool:
    """The calling thread and ``size`` - 1 others; kernels release the global interpreter lock."""

    def __init__(self, size: int = 1):
        self.size = size
        self._pool = ThreadPoolExecutor(size - 1, "odsymnmf") if size > 1 else None

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run the tasks and return their results in order.

        If a task fails, or after Ctrl-C, the other threads finish their current tasks first.
        """
        if self._pool is None or len(tasks) < 2:
            return [task() for task in tasks]
        results: list[Any] = [None] * len(tasks)
        remaining = iter(range(len(tasks)))  # next() of a range is atomic

        def work() -> None:
            try:
                for k in remaining:
                    results[k] = tasks[k]()
            except BaseException:
                for _ in remaining:  # other threads begin no further task
                    pass
                raise

        helpers = [self._pool.submit(work) for _ in range(min(self.size, len(tasks)) - 1)]
        try:
            work()
        finally:
            errors = [helper.exception() for helper in helpers]
        for error in errors:
            if error is not None:
                raise error
        return results
