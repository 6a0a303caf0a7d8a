"""A run over sparse memberships written down now and then, and taken up again."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.checkpoint import Checkpoint, array_of
from odsymnmf.engine.sets import as_sets


class Saved(NamedTuple):
    """What was written: H in the order of the sweeps, that order, the run so far, the sums."""

    H: sparse.csr_array
    order: Array
    decreases: list[float]
    n_iter: int
    first_violation: float
    converged: bool
    objective: float | None
    sums: dict[str, Array]


class SparseCheckpoint(Checkpoint):
    """As `odsymnmf.engine.checkpoint.Checkpoint`, for a `SparseRun`."""

    def _pack(self, run: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        state, sums = run.state, run.fit.state()
        header = {
            "n_iter": state.n_iter,
            "first_violation": state.first_violation,
            "converged": state.converged,
            "objective": run.unpriced,
            "sums": sorted(sums),
        }
        arrays = {
            # Not the complete state, which is tidied at the end: sweeps go on from here.
            "H": run.fit.H.csr(),
            "order": run.order,
            "decreases": np.array(state.decreases, dtype=np.float64),
            **{f"sums_{name}": array for name, array in sums.items()},
        }
        return header, arrays

    def _unpack(
        self, header: dict[str, Any], arrays: dict[str, Any], shape: tuple[int, int], dtype: Any
    ) -> Saved:
        H, order, decreases = (arrays[name] for name in ("H", "order", "decreases"))
        n, objective = shape[0], header["objective"]
        if (
            not sparse.issparse(H)
            or H.shape[0] != n
            or H.dtype != dtype
            or not (np.isfinite(H.data) & (H.data >= 0)).all()
            or not np.array_equal(np.sort(order), np.arange(n))
            or decreases.ndim != 1
        ):
            raise ValueError
        return Saved(
            sparse.csr_array(H),
            order.astype(np.intp),
            decreases.tolist(),
            int(header["n_iter"]),
            float(header["first_violation"]),
            bool(header["converged"]),
            None if objective is None else float(objective),
            {name: arrays[f"sums_{name}"] for name in header["sums"]},
        )


def start_of(init: Any, n: int, r: int | None) -> str | None:
    """Return what tells one start that is given from another; None for one that has a name."""
    if isinstance(init, str):
        return None
    sets = as_sets(init, n, r)
    if sets is not None:
        parts = [np.array([len(items) for items in sets]), *sets]
        return _digest([np.asarray(part, dtype=np.int64) for part in parts])
    if not sparse.issparse(init):
        return array_of(init)
    H = sparse.csr_array(init)
    parts = [np.array(H.shape), H.indptr, H.indices]
    return _digest([*(part.astype(np.int64) for part in parts), H.data.astype(np.float64)])


def _digest(parts: list[Array]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()
