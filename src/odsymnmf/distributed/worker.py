"""One worker of a distributed fit: rows of A, a copy of H, and exchanges with the other workers."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from odsymnmf.distributed.row_blocks import cut_rows, stack
from odsymnmf.similarity import Dense, Sparse, products, validation
from odsymnmf.similarity.base import row_squares, scale_rows
from odsymnmf.similarity.weights import EQUAL, PairWeights, largest_difference
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.rounds import PackedRows, Rounds, RowUpdates, SweepResult
from odsymnmf.utils import Array, blocks

# Rows of a dense product, as in Dense.matmul.
N_ROWS = 512


class WorkerLostError(Exception):
    """A worker was lost, or a call was ended because another worker failed."""


class Layout(NamedTuple):
    """Size and type of A or X (m features), and the items of each worker."""

    n: int
    m: int
    dtype: Any
    is_sparse: bool
    has_unknown: bool
    tiles: list[slice]
    ranges: list[slice]


class Statistics(NamedTuple):
    """Statistics of some rows of A or X."""

    low: float
    high: float
    n_nonzero: int
    row_squares: Array


class FitWorker:
    """A Dask actor. `run` calls a method in a thread, so that it can receive messages.

    The thread is not one of Dask's, in which two fits on the same workers could deadlock.
    """

    def __init__(self, layout: Layout, rank: int, n_threads: int, rows: Any, starts: list[int]):
        self.layout, self.rank, self.size = layout, rank, len(layout.ranges)
        self.row_range, self.n_threads = layout.ranges[rank], n_threads
        self.items = np.arange(self.row_range.start, self.row_range.stop)
        self.A = self.H = self.solver = self.rounds = cast(Any, None)
        self._rows: Any = cut_rows(rows, starts, self.row_range, layout.dtype)
        self._thread = ThreadPoolExecutor(1)
        self._peers: list[Any] = []
        self._count, self._is_closed = 0, False
        self._received: dict[tuple[int, int], asyncio.Future[Any]] = {}

    # --- messages --------------------------------------------------------------------------------

    async def set_peers(self, peers: list[Any]) -> None:
        """Set the actors of all workers."""
        self._peers, self._loop = peers, asyncio.get_running_loop()

    async def receive(self, count: int, rank: int, message: Any) -> None:
        """Receive the message of another worker in an exchange."""
        self._future(count, rank).set_result(message)

    def _future(self, count: int, rank: int) -> Any:
        """Return the future of a message."""
        return self._received.setdefault((count, rank), self._loop.create_future())

    async def close(self) -> None:
        """End a running call at its next exchange, and release the memory."""
        self._is_closed = True
        for message in self._received.values():
            if not message.done():
                message.set_exception(WorkerLostError())
        self.A = self._rows = self.solver = self.rounds = self.H = None
        self._peers = []

    async def run(self, method: str, *args: Any) -> Any:
        """Return ``method(*args)``; all workers run the same calls."""
        run = contextvars.copy_context().run
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, run, getattr(self, method), *args)

    def exchange(self, messages: list[Any]) -> list[Any]:
        """Send messages[k] to worker k; return the messages received, by rank."""
        exchange = self._exchange(messages)
        return asyncio.run_coroutine_threadsafe(exchange, self._loop).result()

    async def _exchange(self, messages: list[Any]) -> list[Any]:
        if self._is_closed:
            raise WorkerLostError
        self._count += 1
        count, ranks = self._count, range(self.size)
        peers = [(k, peer) for k, peer in enumerate(self._peers) if k != self.rank]
        sent = [peer.receive(count, self.rank, messages[k]) for k, peer in peers]
        await self.receive(count, self.rank, messages[self.rank])
        received = [self._future(count, k) for k in ranks]
        results = await asyncio.gather(*received, *sent)  # raises if a message failed
        for k in ranks:
            del self._received[count, k]
        return results[: self.size]

    def all_gather(self, message: Any) -> list[Any]:
        """Send every worker the same message; return those of all, by rank."""
        return self.exchange([message] * self.size)

    # --- rows of A -------------------------------------------------------------------------------

    def load(self) -> None:
        """Make a similarity of the own rows; rows of other workers are empty."""
        (rows, unknown), self._rows = self._rows, None
        n, weights = self.layout.n, EQUAL
        if self.layout.m:
            self.A = DocumentRows(rows, self)
            return
        if self.layout.has_unknown:
            excess = -_all_rows(unknown, self.row_range, n)
            weights = PairWeights(1.0, excess, np.zeros(excess.nnz))
        matrix = _all_rows(rows, self.row_range, n)
        if self.layout.is_sparse:
            self.A = Sparse(matrix, np.zeros(n), weights)
        else:
            self.A = Dense(matrix, weights, extremes=(np.nan, np.nan))

    @property
    def _own_rows(self) -> Any:
        return (self.A.X if self.layout.m else self.A.A)[self.row_range]

    def check_symmetric(self) -> None:
        """Refuse A unless A_ij = A_ji, up to rounding; and likewise for unknown pairs."""
        if self.layout.has_unknown:
            gap, where, _ = self._largest_gap(self.A.weights.excess[self.row_range])
            if gap > 0:
                validation.refuse_one_sided(*where)
        gap, where, values = self._largest_gap(self._own_rows)
        statistics = self.statistics()
        peak = max(self.all_gather(max(-statistics.low, statistics.high)))
        validation.refuse_asymmetry(gap, where, values, peak, self.layout.dtype)

    def _largest_gap(self, rows: Any) -> tuple[float, tuple[int, int], tuple[float, float]]:
        """Return the largest |A_ij - A_ji| with (i, j) and both values, given the own rows."""
        ranges = self.layout.ranges
        messages, gaps = [rows[:, columns] for columns in ranges], []
        for columns, block, received in zip(ranges, messages, self.exchange(messages), strict=True):
            gap, i, j = largest_difference(block, received.T)
            pair = self.row_range.start + i, columns.start + j
            gaps.append((gap, pair, (block[i, j], received[j, i])))
        return max(self.all_gather(max(gaps)))

    def scale(self, s: Array) -> None:
        """Replace A_ij by s_i A_ij s_j."""
        if self.layout.m or self.layout.is_sparse:
            self.A = self.A.scale(s)
        else:
            s, rows = s.astype(self.layout.dtype), self._own_rows
            rows *= s[self.row_range, None]
            rows *= s

    def statistics(self) -> Statistics:
        """Return statistics of the own rows of A or X."""
        rows = self._own_rows
        values = rows.data if sparse.issparse(rows) else rows
        return Statistics(
            float(values.min(initial=0.0)),
            float(values.max(initial=0.0)),
            int(np.count_nonzero(values)),
            row_squares(rows),
        )

    def absolute_degrees(self) -> Array:
        """Return the sums of |A_ij| over the own rows."""
        if self.layout.is_sparse:
            return np.asarray(self.A.summary.degrees[self.row_range])
        parts = (self._own_rows[b] for b in blocks(len(self.items), N_ROWS))
        return np.concatenate([np.abs(part).sum(axis=1, dtype=np.float64) for part in parts])

    def gram_squares(self) -> float:
        """Return the own part of |X^T X|^2."""
        return float(self.A.gram_squares())

    def product(self, V: Array) -> Array:
        """Return the own rows of w A V, without the diagonal."""
        if self.layout.m:
            return self.A.matmul(V)
        if self.layout.is_sparse:
            return self.A.matmul(V, weighted=True)[self.row_range]
        parts, start = [], self.row_range.start
        for b in blocks(self.layout.n, N_ROWS):  # the same products as in Dense.matmul
            rows = self._own_rows[max(0, b.start - start) : max(0, b.stop - start)]
            part = rows[:, b] @ V[b]
            part += rows[:, : b.start] @ V[: b.start]
            part += rows[:, b.stop :] @ V[b.stop :]
            parts.append(part)
        product = np.concatenate(parts)
        if self.A.weights.excess is not None:
            product += self.A.weights.excess_values[self.row_range] @ V
        return product

    # --- H ---------------------------------------------------------------------------------------

    def set_H(self, packed: PackedRows, sums: dict[str, Array] | None = None) -> None:
        """Set H and, for sweeps, the sums over H."""
        self.H = np.zeros(packed.shape, packed.values.dtype)
        packed.put(self.H)
        if self.solver is not None:
            self.solver.H = self.H
            self.solver.load(sums or {})

    def set_loss(self, name: str, upper: float, tolerance: float) -> None:
        """Set the loss of the sweeps, and the increase of f that counts as rounding."""
        sizes = [rows.stop - rows.start for rows in self.layout.ranges]
        owners = np.repeat(np.arange(self.size), sizes)
        self.solver = make_solver(name, self.A, upper)
        self.solver.tiles = self.layout.tiles
        self.rounds = Rounds(self.solver, self.n_threads, self._share, owners, self.rank)
        self.rounds.tolerance = tolerance

    def _share(self, results: list[Any]) -> list[list[Any]]:
        """Send the results of the own pieces to all workers; return those of all, by rank."""
        messages = [
            r._replace(rows=PackedRows.of(r.rows, r.moved)) if isinstance(r, RowUpdates) else r
            for r in results
        ]
        received = self.all_gather(messages)
        received[self.rank] = results
        return received

    def of_items(self, function: Callable[..., Array]) -> Array:
        """Return what a function of A, items and H returns for the own items."""
        return function(self.A, self.items, self.H)

    def sweep(self) -> SweepResult:
        """Make one sweep."""
        return self.rounds()

    def state(self) -> tuple[Any, Any]:
        """Return the own rows of H, and the sums over H."""
        sums = self.solver.state() if self.rank == 0 else None
        return PackedRows.of(self.H[self.row_range]), sums


def _all_rows(rows: Any, row_range: slice, n: int) -> Any:
    """Return a matrix of n rows, those outside ``row_range`` empty, or missing if it is dense."""
    if not sparse.issparse(rows):
        return OwnRows(rows, row_range.start, n)
    indptr = np.zeros(n + 1, rows.indptr.dtype)
    indptr[row_range.start : row_range.stop + 1] = rows.indptr
    indptr[row_range.stop :] = rows.indptr[-1]
    padded = sparse.csr_array((rows.data, rows.indices, indptr), (n, rows.shape[1]))
    padded.has_canonical_format = True
    return padded


class OwnRows:
    """Consecutive rows of an array of n rows, indexed by their positions in all of it."""

    def __init__(self, rows: Array, first: int, n: int):
        self.rows, self.first, self.shape, self.dtype = rows, first, (n, rows.shape[1]), rows.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Array:
        items, *columns = key if isinstance(key, tuple) else (key,)
        if isinstance(items, slice):
            items = slice(items.start - self.first, items.stop - self.first)
        else:
            items = items - self.first
        return self.rows[(items, *columns)]


class DocumentRows:
    """A = X X^T: a worker has the rows of its items and the columns of its features."""

    weights = EQUAL

    def __init__(self, own_rows: Any, worker: FitWorker):
        self.own_rows, self.worker = own_rows, worker
        self.n, self.m, self.dtype = worker.layout.n, worker.layout.m, own_rows.dtype
        self.is_sparse = sparse.issparse(own_rows)
        self.X = _all_rows(own_rows, worker.row_range, self.n)
        # Each task of a round has a range of features.
        width = products.N_SPARSE if self.is_sparse else products.N_DENSE
        n_tasks = -(-self.m // width)
        self.owners = [task * worker.size // n_tasks for task in range(n_tasks)]
        ends = np.minimum(np.searchsorted(self.owners, np.arange(worker.size + 1)) * width, self.m)
        features = [slice(*ends[k : k + 2].tolist()) for k in range(worker.size)]
        self.first_feature = features[worker.rank].start
        self.diagonal = np.concatenate(worker.all_gather(row_squares(own_rows)))
        self.columns = stack(worker.exchange([own_rows[:, f] for f in features]))

    def scale(self, s: Array) -> "DocumentRows":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)[self.worker.row_range]
        return DocumentRows(scale_rows(self.own_rows, s), self.worker)

    def products(self, H: Array) -> Any:
        """Return X^T H, which is updated with H."""
        kind = products.GramProducts if self.is_sparse else products.DenseGramProducts
        Z = np.concatenate(self.worker.all_gather(products.feature_sums(self.columns, H)))
        shared = kind(self.X, self.diagonal, Z, self.columns, self.first_feature)
        # For dense features, the first task is that of the diagonal.
        shared.task_owners = np.array(self.owners if self.is_sparse else [0, *self.owners])
        return shared

    def matmul(self, V: Array) -> Array:
        """Return the own rows of A V, without the diagonal."""
        total = np.concatenate(self.worker.all_gather(self.columns.T @ V))
        rows = self.worker.row_range
        return self.own_rows @ total - (self.diagonal[rows] * V[rows].T).T

    def gram_squares(self) -> float:
        """Return the part of |X^T X|^2 in the rows of the own features."""
        columns, total = self.columns.astype(np.float64), 0.0
        for rank in range(self.worker.size):
            received = self.worker.all_gather(columns if rank == self.worker.rank else None)[rank]
            for b in blocks(columns.shape[1], 1024):
                product = columns[:, b].T @ received
                total += float(np.sum((product.data if self.is_sparse else product) ** 2))
        return total
