"""One worker of a distributed fit: rows of A, a copy of H, and exchanges with the other workers."""

import asyncio
import contextvars
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf import kernels
from odsymnmf.distributed.row_blocks import cut_rows
from odsymnmf.similarity import Dense, Sparse, products, validation
from odsymnmf.similarity.base import listed_squares, row_squares, scale_rows
from odsymnmf.similarity.weights import EQUAL, PairWeights, keep_entries
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.objective import listed_errors
from odsymnmf.solvers.rounds import Rounds, RowUpdates
from odsymnmf.utils import Array, blocks

# Seconds between checks for failed messages.
CHECK_EVERY = 5.0
# Rows of a dense product, as in Dense.matmul.
N_ROWS = 512


Packed = tuple[Array, Array]


class WorkerLostError(Exception):
    """A worker was lost, or a call was stopped because another worker failed."""


class Layout(NamedTuple):
    """Size and type of A or X (m features), and the items of each worker."""

    n: int
    m: int
    dtype: Any
    is_sparse: bool
    has_unknown: bool
    tiles: list[slice]
    ranges: list[slice]


class FitWorker:
    """A Dask actor. `run` calls a method in a thread, so that messages arrive meanwhile."""

    def __init__(
        self,
        version: str,
        layout: Layout,
        rank: int,
        n_threads: int,
        rows: list[validation.CleanRows],
        starts: list[int],
    ):
        if version != odsymnmf.__version__:
            raise RuntimeError(
                f"a worker has odsymnmf {odsymnmf.__version__}, the client {version}; install the "
                "same version on both."
            )
        self.layout, self.rank, self.size = layout, rank, len(layout.ranges)
        self.own = layout.ranges[rank]
        self.items = np.arange(self.own.start, self.own.stop)
        self.n_threads = n_threads
        self.A: Any = None
        self.H: Any = None
        self.solver: Any = None
        self.rounds: Any = None
        self._rows: Any = cut_rows(rows, starts, self.own, layout.dtype)
        self._thread = ThreadPoolExecutor(1)
        self._peers: list[Any] = []
        self._call, self._count, self._stopped = 0, 0, -1
        self._received: dict[tuple[int, int], dict[int, Any]] = defaultdict(dict)
        self._arrived = threading.Condition()

    # --- messages --------------------------------------------------------------------------------

    async def meet(self, peers: list[Any]) -> None:
        """Set the actors of all workers."""
        self._peers = peers

    async def give(self, call: int, count: int, rank: int, parcel: Any) -> None:
        """Receive the parcel of another worker."""
        with self._arrived:
            if call >= self._call:
                self._received[call, count][rank] = parcel
                self._arrived.notify_all()

    async def stop(self, call: int) -> None:
        """End calls up to this one at their next exchange."""
        with self._arrived:
            self._stopped = max(self._stopped, call)
            self._arrived.notify_all()

    async def close(self) -> None:
        """Release the memory."""
        self._peers, self.A, self._rows = [], None, None
        self.solver = self.rounds = self.H = None

    async def run(self, call: int, method: str, *args: Any) -> Any:
        """Return ``method(*args)``; all workers run it, and number their calls alike."""
        run = contextvars.copy_context().run
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, run, self._run, call, method, args)

    def _run(self, call: int, method: str, args: tuple[Any, ...]) -> Any:
        with self._arrived:
            self._call, self._count = call, 0
            for key in [key for key in self._received if key[0] < call]:
                del self._received[key]
        return getattr(self, method)(*args)

    def exchange(self, parcels: list[Any]) -> list[Any]:
        """Send parcels[k] to worker k; return the parcels received, by rank."""
        self._count += 1
        key = self._call, self._count
        others = [k for k in range(self.size) if k != self.rank]
        sent = [self._peers[k].give(*key, self.rank, parcels[k]) for k in others]
        with self._arrived:
            received = self._received[key]
            received[self.rank] = parcels[self.rank]
        while True:
            with self._arrived:
                if self._arrived.wait_for(lambda: self._is_over(received), CHECK_EVERY):
                    break
            for message in sent:
                if message.done():
                    message.result()  # raises if it failed
        if self._stopped >= self._call:
            raise WorkerLostError
        del self._received[key]
        return [received[k] for k in range(self.size)]

    def _is_over(self, received: dict[int, Any]) -> bool:
        return self._stopped >= self._call or len(received) == self.size

    def all_gather(self, parcel: Any) -> list[Any]:
        """Send every worker the same parcel; return those of all, by rank."""
        return self.exchange([parcel] * self.size)

    # --- rows of A -------------------------------------------------------------------------------

    def load(self) -> None:
        """Make a similarity of the own rows; rows of other workers are empty."""
        n, rows = self.layout.n, self._rows
        self._rows = None
        matrix = _all_rows(rows.matrix, self.own, n)
        if self.layout.m:
            self.A = DocumentRows(matrix, rows.matrix, self)
            return
        weights = EQUAL
        if self.layout.has_unknown:
            excess = _all_rows(rows.unknown, self.own, n)
            values = np.zeros(excess.nnz)
            excess.data = values - 1.0
            weights = PairWeights(1.0, excess, values)
        diagonal = np.zeros(n)
        diagonal[self.own] = rows.diagonal
        self.A = (
            Sparse(matrix, diagonal, weights) if self.layout.is_sparse else Dense(matrix, weights)
        )

    def check_symmetric(self) -> None:
        """Refuse A unless A_ij = A_ji, up to rounding; and likewise for unknown pairs."""
        if self.layout.has_unknown:
            gap, where, _ = self._largest_gap(self.A.weights.excess)
            if gap > 0:
                validation.refuse_one_sided(*where)
        gap, where, values = self._largest_gap(self.A.A)
        low, high, _ = self.statistics()
        peak = max(self.all_gather(max(-low, high)))
        validation.refuse_asymmetry(gap, where, values, peak, self.layout.dtype)

    def _largest_gap(self, M: Any) -> tuple[float, tuple[int, int], tuple[float, float]]:
        """Return the largest |M_ij - M_ji| with (i, j) and both values.

        In step s, the columns of worker rank + s are sent to it and those of rank - s are received.
        """
        rows, worst = M[self.own], (0.0, (0, 0), (0.0, 0.0))
        for step in range(self.size):
            to = (self.rank + step) % self.size
            source = (self.rank - step) % self.size
            parcels: list[Any] = [None] * self.size
            parcels[to] = rows[:, self.layout.ranges[to]]
            there = self.exchange(parcels)[source].T
            columns = self.layout.ranges[source]
            here = rows[:, columns]
            gap, i, j = validation.largest_difference(here, there)
            where, values = (self.own.start + i, columns.start + j), (here[i, j], there[i, j])
            worst = max(worst, (gap, where, values), key=lambda found: found[0])
        return max(self.all_gather(worst), key=lambda found: found[0])

    def scale(self, s: Array) -> None:
        """Replace A_ij by s_i A_ij s_j."""
        if self.layout.m or self.layout.is_sparse:
            self.A = self.A.scale(s)
        else:
            s = s.astype(self.layout.dtype)
            self.A.A.rows *= s[self.own, None] * s

    def summary(self) -> tuple[Any, ...]:
        """Return degrees of the own items, sign, density, whether binary, and the largest entry."""
        found = self.A.summary()
        return (found.degrees[self.own], *found[1:], self.A.max_value)

    def statistics(self) -> tuple[float, float, Array]:
        """Return the smallest and largest entry of the own rows of A or X, and their squares."""
        M = (self.A.X if self.layout.m else self.A.A)[self.own]
        values = M.data if sparse.issparse(M) else M
        return float(values.min(initial=0.0)), float(values.max(initial=0.0)), row_squares(M)

    def gram_squares(self) -> float:
        """Return the own part of |X^T X|^2."""
        return float(self.A.gram_squares())

    def product(self, V: Array) -> Array:
        """Return the own rows of w A V, without the diagonal."""
        if self.layout.m:
            return self.A.matmul(V)
        if self.layout.is_sparse:
            return self.A.matmul(V, weighted=True)[self.own]
        found = np.empty((len(self.items), *V.shape[1:]), np.result_type(self.A.dtype, V))
        for b in blocks(self.layout.n, N_ROWS):
            first, last = max(b.start, self.own.start), min(b.stop, self.own.stop)
            if first < last:
                some = slice(first - b.start, last - b.start)
                rows = products.block_product(self.A.A, V, b, products.square(self.A.A, b), some)
                found[first - self.own.start : last - self.own.start] = rows
        if self.A.weights.excess is not None:
            found += self.A.weights.excess_values[self.own] @ V
        return found

    # --- H ---------------------------------------------------------------------------------------

    def set_H(self, shape: tuple[int, int], rows: Packed) -> None:
        """Set all rows of H."""
        self.H = np.empty(shape, self.layout.dtype)
        unpack(rows, self.H)
        if self.solver is not None:
            self.solver.H = self.H

    def set_loss(self, name: str, upper: float, tolerance: float) -> None:
        """Set the loss of the sweeps, and the increase of f that counts as rounding."""
        ranges = self.layout.ranges
        owners = np.repeat(np.arange(self.size), [own.stop - own.start for own in ranges])
        self.solver = make_solver(name, self.A, upper)
        self.solver.tiles = self.layout.tiles
        if self.H is not None:
            self.solver.H = self.H
        self.rounds = Rounds(self.solver, self.n_threads, self._share, owners, self.rank)
        self.rounds.tolerance = tolerance

    def _share(self, own: list[Any]) -> list[list[Any]]:
        """Send the results of the own pieces to all workers; return those of all, by rank."""
        parcels = self.all_gather([pack_result(result) for result in own])
        parcels[self.rank] = own
        return [
            own if rank == self.rank else [unpack_result(p, self.layout.dtype) for p in parcel]
            for rank, parcel in enumerate(parcels)
        ]

    def item_errors(self, power: int, pairwise: bool) -> list[Array]:
        """Return arrays with the terms of f_p for the own items."""
        A, items, H = self.A, self.items, self.H
        listed = np.zeros(len(items))
        if A.weights.exceptions is not None:
            listed = listed_errors(A, items, H, power)
        if power == 1:
            return [A.stored_errors(items, H), listed]
        if pairwise or not self.layout.is_sparse:
            return [A.pairwise_errors(items, H), listed]
        return [*A.stored_squares(items, H), listed]

    def unknown_squares(self) -> list[Array]:
        """Return sum_j (h_i . h_j)^2 over the unknown pairs of each own item."""
        if self.A.weights.excess is None:
            return [np.zeros(len(self.items))]
        return [listed_squares(self.A.weights.excess, self.items, self.H)]

    def feature_sums(self) -> Array:
        """Return the rows of X^T H of the own features."""
        return self.A.feature_sums(self.H.astype(np.float64, copy=False))

    def sweep(self, state: dict[str, Array] | None, tidy: bool) -> tuple[Any, ...]:
        """Make one sweep; return its result, the sums and the own rows of H.

        Given ``state``, the sums are set first.
        """
        if tidy:
            self.solver.clean_columns(self.H)
        if state is not None:
            self.solver.load(state)
        found = self.rounds.update_rows()
        sums = self.solver.state() if self.rank == 0 else None
        return found, sums, pack(self.H[self.own])


def pack_result(result: Any) -> Any:
    """Return the updates of a piece of a round with the packed rows that moved."""
    if not isinstance(result, RowUpdates):
        return result
    rows = result.rows if result.moved.all() else result.rows[result.moved]
    return result._replace(rows=(pack(rows), rows.shape))


def unpack_result(result: Any, dtype: Any) -> Any:
    """Return what was given to `pack_result`, with the rows that moved."""
    if not isinstance(result, RowUpdates):
        return result
    packed, shape = result.rows
    rows = np.empty(shape, dtype)
    unpack(packed, rows)
    return result._replace(rows=rows)


def pack(rows: Array) -> Packed:
    """Return a bit mask and the nonzero values, followed by a zero."""
    numbers = _bits(np.ascontiguousarray(rows))
    mask = np.zeros(-(-len(numbers) // 8), np.uint8)
    values = np.empty(len(numbers) + 1, numbers.dtype)
    return mask, values[: kernels.packing.pack(numbers, mask, values)]


def unpack(packed: Packed, rows: Array) -> None:
    """Fill contiguous rows."""
    kernels.packing.unpack(*packed, _bits(rows))


def _bits(rows: Array) -> Array:
    return rows.view(f"u{rows.dtype.itemsize}").reshape(-1)


def _all_rows(rows: Any, own: slice, n: int) -> Any:
    """Return an array of n rows, all zero but the own ones."""
    if not sparse.issparse(rows):
        return OwnRows(rows, own.start, n)
    indptr = np.zeros(n + 1, rows.indptr.dtype)
    indptr[own.start : own.stop + 1] = rows.indptr
    indptr[own.stop :] = rows.indptr[-1]
    padded = sparse.csr_array((rows.data, rows.indices, indptr), (n, rows.shape[1]))
    padded.has_canonical_format = True
    return padded


class OwnRows:
    """Consecutive rows of a full array of n rows, indexed like all of it; other rows are zero."""

    def __init__(self, rows: Array, first: int, n: int):
        self.rows, self.first, self.shape, self.dtype = rows, first, (n, rows.shape[1]), rows.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Array:
        items, *columns = key if isinstance(key, tuple) else (key,)
        if isinstance(items, slice):
            start, stop, _ = items.indices(len(self))
            if self.first <= start and stop <= self.first + len(self.rows):
                return self.rows[(slice(start - self.first, stop - self.first), *columns)]
            items = np.arange(start, stop)
        own = (items >= self.first) & (items < self.first + len(self.rows))
        if own.all():
            return self.rows[(items - self.first, *columns)]
        found = np.zeros((len(items), self.shape[1]), self.dtype)
        found[own] = self.rows[items[own] - self.first]
        return found[(slice(None), *columns)]


class DocumentRows:
    """A = X X^T: a worker has the rows of its items and the columns of its features."""

    weights = EQUAL

    def __init__(self, X: Any, own_rows: Any, worker: FitWorker):
        self.X, self.own_rows, self.worker = X, own_rows, worker
        self.n, self.m, self.dtype = worker.layout.n, worker.layout.m, X.dtype
        width = products.WORDS if worker.layout.is_sparse else products.FEATURES
        n_pieces = -(-self.m // width)
        self.ranks = [p * worker.size // n_pieces for p in range(n_pieces)]
        ends = np.minimum(np.searchsorted(self.ranks, np.arange(worker.size + 1)) * width, self.m)
        self.features = [slice(*ends[k : k + 2].tolist()) for k in range(worker.size)]
        self.diagonal = np.concatenate(worker.all_gather(row_squares(own_rows)))
        received = worker.exchange([self._some(own_rows, some) for some in self.features])
        stack = sparse.vstack if worker.layout.is_sparse else np.concatenate
        self.columns = stack(received)
        if worker.layout.is_sparse:
            self.columns = sparse.csr_array(self.columns)

    def _some(self, X: Any, features: slice) -> Any:
        """Return some columns; those of a sparse matrix keep their numbers."""
        if not sparse.issparse(X):
            return np.ascontiguousarray(X[:, features])
        return keep_entries(X, (X.indices >= features.start) & (X.indices < features.stop))

    @property
    def own_features(self) -> slice:
        return self.features[self.worker.rank]

    def scale(self, s: Array) -> "DocumentRows":
        """Return the similarities s_i A_ij s_j."""
        own = self.worker.own
        rows = scale_rows(self.own_rows, s.astype(self.dtype)[own])
        return DocumentRows(_all_rows(rows, own, self.n), rows, self.worker)

    def products(self, H: Array) -> Any:
        """Return X^T H, which follows changes of H; the client sets it."""
        return (SharedGramProducts if self.worker.layout.is_sparse else SharedDenseGramProducts)(
            self, H
        )

    def feature_sums(self, H: Array) -> Array:
        """Return the rows of X^T H of the own features."""
        if not sparse.issparse(self.columns):
            own = self.columns
            return products.feature_sums(own, H) if own.size else np.empty((0, H.shape[1]))
        return products.feature_sums(self.columns, H)[self.own_features]

    def matmul(self, V: Array) -> Array:
        """Return the own rows of A V, without the diagonal."""
        own, sums = self.worker.own, self.columns.T @ V
        if sparse.issparse(self.columns):
            sums = sums[self.own_features]
        total = np.concatenate(self.worker.all_gather(sums))
        return self.own_rows @ total - (self.diagonal[own] * V[own].T).T

    def gram_squares(self) -> float:
        """Return the part of |X^T X|^2 in the rows of the own features."""
        total, worker = 0.0, self.worker
        columns = self.columns
        if sparse.issparse(columns):
            columns = columns[:, self.own_features]
        columns = columns.astype(np.float64)
        for rank in range(worker.size):
            other = worker.all_gather(columns if rank == worker.rank else None)[rank]
            for b in blocks(columns.shape[1], 1024):
                product = columns[:, b].T @ other
                values = product.data if sparse.issparse(product) else product
                total += float(np.sum(np.square(values)))
        return total


class SharedGramProducts(products.GramProducts):
    """Z = X^T H for all features; a worker computes the changes of its own features."""

    def __init__(self, documents: DocumentRows, H: Array):
        self.documents, self.X, self.norms = documents, documents.X, documents.diagonal
        self.Z = np.zeros((documents.m, H.shape[1]))
        self.entries, self._features = 0, {}

    @property
    def columns(self) -> Any:
        """All rows of the own features."""
        return self.documents.columns

    @property
    def task_owners(self) -> Array:
        """The rank of each task of `corrections`."""
        return np.array(self.documents.ranks)


class SharedDenseGramProducts(SharedGramProducts, products.DenseGramProducts):
    """The same for dense X."""

    @property
    def columns(self) -> Any:
        """All rows; only the own features can be read."""
        documents = self.documents
        return OwnColumns(documents.columns, documents.own_features.start, documents.m)

    @property
    def task_owners(self) -> Array:
        """The rank of each task of `corrections`; the first one is about the diagonal."""
        return np.array([0, *self.documents.ranks])


class OwnColumns:
    """Consecutive columns of a full array of m columns, indexed like all of it."""

    def __init__(self, columns: Array, first: int, m: int):
        self.columns, self.first, self.shape = columns, first, (len(columns), m)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return OwnColumns(self.columns[key], self.first, self.shape[1])
        start, stop = (max(0, end - self.first) for end in (key[1].start, key[1].stop))
        return self.columns[key[0], start:stop]
