"""Similarities whose rows are on other machines, behind the protocol that a fit asks for."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.distributed import cleaning
from odsymnmf.distributed.blocks import RowBlocks
from odsymnmf.distributed.cleaning import Look
from odsymnmf.distributed.crew import Crew
from odsymnmf.distributed.parts import Problem
from odsymnmf.engine.losses import Loss
from odsymnmf.engine.losses.protocol import Pass
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.problem import pair_squares
from odsymnmf.problem.closed_forms import LITTLE, TOO_MANY, inner_product, pair_products
from odsymnmf.problem.rounds import tiles
from odsymnmf.problem.weights import ORDINARY

# How many sums of columns are added up by one task.
FAN = 8


class Following:
    """What a loss keeps of the products with A: for documents X^T H, which members have made."""

    def __init__(self, entries: int, Z: Array | None):
        self.entries, self.Z = entries, Z

    def state(self) -> dict[str, Array]:
        """Return what is kept up to date."""
        return {} if self.Z is None else {"Z": self.Z}

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""
        return None if self.Z is None else self.Z.copy()

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""
        self.Z = saved


class Elsewhere:
    """Similarities of n items on the workers of a client.

    Parameters
    ----------
    client : distributed.Client
    rows : RowBlocks
    held : RowBlocks or None
        The same, computed already.
    seen : Look
        What is known of it, of all rows together.
    """

    # Unknown pairs are known to those that hold them.
    weights = ORDINARY
    rounding: Any = 0.0

    def __init__(self, client: Any, rows: RowBlocks, held: RowBlocks | None, seen: Look):
        self.client, self.blocks, self.held, self.seen = client, rows, held, seen
        self.n, self.dtype = rows.n, np.dtype(seen.dtype)
        self._loaded: Crew | None = None

    @property
    def n_features(self) -> int | None:
        """How many features items have, None where similarities are given."""
        return self.blocks.m or None

    @property
    def diagonal(self) -> Array:
        """A_ii, or |x_i|^2."""
        return self.crew.diagonal

    @property
    def largest(self) -> float:
        """The largest off-diagonal entry, at least 0; of documents, a bound on it."""
        return float(self.diagonal.max()) if self.blocks.m else self._extremes[1]

    @property
    def reach(self) -> float:
        """What no pair of items exceeds: the largest entry."""
        return self.largest

    @property
    def peak(self) -> float:
        """The largest |A_ij| off the diagonal."""
        return self.largest if self.blocks.m else max(map(abs, self._extremes))

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        receipts = self.crew.receipts
        return min(r.low for r in receipts if r), max(r.high for r in receipts if r)

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        if self.blocks.m:
            total = self.crew.energy() - float(np.sum(self.diagonal**2))
            return max(0.0, total)
        return float(np.sum(np.concatenate([r.squares for r in self.crew.receipts if r])))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all that a fit looks at but the diagonal; chunks do not matter."""
        digests = [receipt.digest for receipt in self.crew.receipts if receipt]
        head = repr((self.n, self.blocks.m, self.dtype.str, self.seen.sparse, digests))
        return hashlib.sha256(head.encode()).hexdigest()

    @property
    def stored(self) -> int:
        """How many pairs i < j are stored."""
        links = self.seen.sparse and not self.blocks.m
        return self.seen.stored // 2 if links else self.n * (self.n - 1) // 2

    @property
    def entries(self) -> int:
        """How many entries a row has, on average."""
        return self.seen.stored // self.n

    @property
    def row_entries(self) -> int:
        """How many entries a row of A has."""
        return self.entries if self.seen.sparse and not self.blocks.m else self.n

    def following(self, H: Array) -> Following:
        """Return what follows changes of H."""
        Z = self.crew.words(H) if self.blocks.m else None
        return Following(self.entries, Z)

    def product(self, V: Array) -> Array:
        """Return w A V with the diagonal of A left out."""
        return self.crew.product(V)

    def absolute_error(self, H: Array) -> float:
        """Return f_1(H)."""
        stored, listed = (float(np.sum(part)) for part in self.crew.errors(H, 1))
        return max(0.0, pair_products(H) + stored + listed)

    def squared_error(self, H: Array) -> float:
        """Return f_2(H)."""
        if self.blocks.m:
            return self._documents_error(H)
        *parts, listed = (float(np.sum(part)) for part in self.crew.errors(H, 2))
        if not self.seen.sparse:
            return max(0.0, parts[0] + listed)
        everywhere, (stored, squares) = pair_squares(H), parts
        value, terms = everywhere + stored - squares, everywhere + stored
        if value < LITTLE * terms and float(self.n) ** 2 * H.shape[1] <= TOO_MANY:
            value = float(np.sum(self.crew.errors(H, 2, "pairwise")[0]))
        return max(0.0, max(0.0, value) + listed)

    def explained(self, H: Array) -> tuple[float, float]:
        """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, p_ij = h_i . h_j."""
        H64 = H.astype(np.float64, copy=False)
        inner = inner_product(H64, self.product(H))
        squares = pair_squares(H64)
        if self.seen.unknown:
            squares += float(np.sum(self.crew.errors(H, 2, "listed")[0]))
        return inner, squares

    def _documents_error(self, H: Array) -> float:
        H64 = H.astype(np.float64, copy=False)
        inner = float(np.einsum("ij,ij->", H64, self.product(H64)))
        return max(0.0, self.energy - 2.0 * inner + pair_squares(H64))

    def load(self, cut: list[slice]) -> Crew:
        """Have the rows loaded where they will stay."""
        seen = self.seen
        problem = Problem(self.n, self.blocks.m, self.dtype, cut, seen.sparse, bool(seen.unknown))
        work = 8.0 + self.seen.counts
        load = np.array([float(work[tile].sum()) for tile in cut])
        diagonal = self.seen.diagonal.astype(np.float64)
        if self.blocks.roots is not None:
            diagonal *= self.blocks.roots**2
        kept, self.held = self.held, None
        self._loaded = Crew(self.client, self.blocks, kept, problem, diagonal, load)
        return self._loaded

    @contextmanager
    def loaded_for(self, r: int) -> Iterator[None]:
        """Have the rows loaded for a while, and made ready to be loaded again."""
        held = self.held
        try:
            self.load(tiles(self.n, r, self.entries))
            yield
        finally:
            self.close()
            self.held = held

    def close(self) -> None:
        """Let go of what was loaded."""
        if self._loaded is not None:
            self._loaded.close()
            self._loaded = None

    def scaled_by(self, roots: Array) -> "Elsewhere":
        """Return the similarities s_i A_ij s_j, to be loaded; what was computed goes with them."""
        held, self.held = self.held and self.held.scaled_by(roots), None
        return Elsewhere(self.client, self.blocks.scaled_by(roots), held, self.seen)

    @property
    def crew(self) -> Crew:
        """Those that hold the rows."""
        assert self._loaded is not None
        return self._loaded


class CrewRounds(Rounds):
    """Passes over all rows of H, as `Run` asks for them, made by a crew."""

    def __init__(self, loss: Loss, crew: Crew):
        super().__init__(loss, Team())
        self.crew = crew

    def __call__(self, H: Array, sums: Any) -> Pass:
        """Make one sweep."""
        try:
            found, refused = self.crew.sweep(H, sums, self.loss.l1_ratio)
        except KeyboardInterrupt:
            self.crew.stop()
            raise
        self.refused += refused
        return Pass(*found)


def looked_at(client: Any, rows: RowBlocks) -> Elsewhere:
    """Compute all blocks once, and check them; workers keep them until they are loaded."""
    import dask

    held = replace(rows, blocks=client.persist(rows.blocks, optimize_graph=False))
    see = dask.delayed(cleaning.look_at, pure=False)
    pairs = [
        see(block, start, rows.n, bool(rows.m))
        for block, start in zip(held.blocks, rows.starts, strict=False)
    ]
    pairs = client.persist(pairs, optimize_graph=False)
    first, add = dask.delayed(cleaning.first_of), dask.delayed(cleaning.add_columns)
    columns = pairs
    while len(columns) > 1 or columns is pairs:
        columns = [add(columns[k : k + FAN]) for k in range(0, len(columns), FAN)]
    looks, (here, bad) = client.gather(
        client.compute([[first(pair) for pair in pairs], columns[0]], optimize_graph=False)
    )
    seen = cleaning.joined(looks)
    if not rows.m:
        cleaning.check_symmetric(seen, here, bad)
    return Elsewhere(client, rows, held, seen)
