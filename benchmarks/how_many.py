"""How many clusters: what is recommended beside the true number, ``python -m benchmarks how_many``.

`odsymnmf.choose.n_clusters` as it is by default: for graphs the Bethe-Hessian centres the
candidates, the description length decides, and stability where groups have groups inside; else
stability alone. The cost is in CPU time, in seconds and per 10 candidates: as so many fits of
`ODSymNMF(r)` with the mean time of its candidates r, or with that of the true r.
``--held-out`` adds the choice of the error on held-out pairs.
"""

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import odsymnmf as od
from benchmarks.quality.families import Problem, problems
from benchmarks.timing import table


def close(r: int, true: int) -> bool:
    """Within 20 % of the true number, or within 1."""
    return abs(r - true) <= max(1, 0.2 * true)


def wanted(problem: Problem) -> bool:
    """Leave out LFR with mixing over 0.5, near the limit where groups can be found."""
    return not (problem.family == "lfr" and problem.name[-3:] in ("0.6", "0.7"))


def best(found: od.choose.NumberOfClusters, measure: str) -> Any:
    """Return the candidate that a measure alone would take."""
    values = found.table[measure]
    if not np.isfinite(values).any():
        return "-"
    if measure == "stability":
        return found.n_clusters
    return int(found.candidates[np.nanargmin(values)])


def seconds(call: Any) -> tuple[Any, float]:
    """Return what a call returns, and its CPU time: of a short one, the least of several."""
    times: list[float] = []
    while not times or (sum(times) < 0.2 and len(times) < 5):
        started = time.process_time()
        result = call()
        times.append(time.process_time() - started)
    return result, min(times)


def some_of_each_kind() -> list[Any]:
    """Return small problems, one for every type that kernels are compiled for."""
    A = np.kron(np.eye(3), np.ones((9, 9)))
    narrow, wide = sparse.csr_array(A), sparse.csr_array(A)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return [A, narrow, wide, od.similarity.gram(narrow)]


def measured(problem: Problem, held_out: bool) -> tuple[list[Any], bool, float]:
    X, groups = problem.make()
    true = len(np.unique(groups[groups >= 0]))
    A = od.similarity.gram(X) if problem.family == "documents" else od.similarity.as_similarity(X)
    affinity = "cosine" if problem.family == "documents" else "precomputed"
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # slow convergence
        found, took = seconds(lambda: od.choose.n_clusters(A))
        fits = {
            r: seconds(lambda r=r: od.ODSymNMF(r, affinity=affinity).fit(X))[1]
            for r in {true, *found.fits}
        }
        more = []
        if held_out:
            more = [od.choose.n_clusters(A, found.fits, measure="held_out_error").n_clusters]
    cells = [best(found, "description_length"), best(found, "stability"), found.n_clusters, *more]
    bethe = "-" if found.bethe_hessian is None else found.bethe_hessian
    cost = 10 * took / sum(fits[r] for r in found.fits)
    of_true = 10 / len(found.fits) * took / fits[true]
    cells = [bethe, *cells, len(found.fits), f"{took:.1f}", f"{cost:.1f}", f"{of_true:.1f}"]
    return [problem.name, problem.half, true, *cells], close(found.n_clusters, true), cost


def main(data: Path | None, families: list[str] | None = None, held_out: bool = False) -> None:
    tally: dict[tuple[str, str], list[bool]] = {}
    costs = []
    for A in some_of_each_kind():  # kernels are loaded before anything is timed
        od.choose.n_clusters(A, [2, 3], measure="all")

    def rows() -> Any:
        for problem in filter(wanted, problems(data, families)):
            row, hit, cost = measured(problem, held_out)
            tally.setdefault((problem.family, problem.half), []).append(hit)
            costs.append(cost)
            yield row

    header = ["problem", "half", "true", "Bethe-Hessian", "description length", "stability"]
    header += ["recommended", *(["held-out"] if held_out else [])]
    header += ["candidates", "seconds", "in fits, per 10 candidates", "in fits of the true r"]
    table("How many clusters", header, rows())
    table(
        "Recommended within 20 % of the true number, or within 1",
        ["family", "half", "problems"],
        [(*key, f"{sum(hits)} of {len(hits)}") for key, hits in tally.items()],
    )
    print(f"\nper 10 candidates, in fits: median {np.median(costs):.1f}, most {max(costs):.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.how_many", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ODSYMNMF_DATA"))
    parser.add_argument("--families", nargs="*", help="real, lfr, planted, ... (default: all)")
    parser.add_argument("--held-out", action="store_true", help="add the held-out error's choice")
    options = parser.parse_args()
    main(Path(options.data) if options.data else None, options.families, options.held_out)
