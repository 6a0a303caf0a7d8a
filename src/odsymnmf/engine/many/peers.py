"""The sets of other methods as a start: Leiden and label propagation of igraph."""

import random
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.sets import sets_from_labels
from odsymnmf.kernels.sparse_arrays import Links


def leiden_sets(A: Links, resolution: float | None = None, seed: int = 0) -> list[Array]:
    """Return the sets of igraph's Leiden: modularity, or constant Potts with a resolution."""
    graph, weights = _igraph(A, seed)
    options: dict[str, Any] = {"objective_function": "modularity"}
    if resolution is not None:
        options = {"objective_function": "CPM", "resolution": resolution}
    found = graph.community_leiden(weights=weights, n_iterations=2, **options)
    return sets_from_labels(np.array(found.membership, dtype=np.intp))


def label_propagation_sets(A: Links, seed: int = 0) -> list[Array]:
    """Return the sets of igraph's label propagation."""
    graph, weights = _igraph(A, seed)
    found = graph.community_label_propagation(weights=weights)
    return sets_from_labels(np.array(found.membership, dtype=np.intp))


def _igraph(A: Links, seed: int) -> tuple[Any, list[float]]:
    """Return the graph of the positive links and their weights, with igraph seeded."""
    try:
        import igraph
    except ImportError as error:
        raise ImportError(
            "This start needs igraph, which is not installed. Install it with: pip install igraph"
        ) from error
    # It has no generator of its own to pass on.
    igraph.set_random_number_generator(random.Random(seed))
    rows = np.repeat(np.arange(len(A.indptr) - 1), np.diff(A.indptr))
    once = (rows < A.indices) & (A.data > 0)
    edges = np.column_stack([rows[once], A.indices[once]])
    return igraph.Graph(n=len(A.indptr) - 1, edges=edges), A.data[once].tolist()
