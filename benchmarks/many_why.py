"""Why sweeps lower the agreement with known groups: what is lost, and examples.

``python -m benchmarks.many_why`` prints both, and what other settings give (data: ODSYMNMF_DATA).
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.many_problems import (
    among_known,
    best_match_f1,
    incidence,
    known_groups,
    mean_f1,
    overlapping,
    planted,
)
from benchmarks.timing import table
from odsymnmf import factorize
from odsymnmf.engine.many import starts
from odsymnmf.engine.many.find import FRACTION, find
from odsymnmf.engine.many.memberships import column_sets
from odsymnmf.engine.many.sweep import links

Array = NDArray[Any]


class Match:
    """Each found set beside the known group that it is closest to, in F1."""

    def __init__(self, n: int, found: list[Array], known: list[Array]):
        both = sparse.csr_array(incidence(n, found).T @ incidence(n, known))
        sizes = np.array([len(s) for s in found]), np.array([len(s) for s in known])
        rows = np.repeat(np.arange(len(found)), np.diff(both.indptr))
        f1 = 2.0 * both.data / (sizes[0][rows] + sizes[1][both.indices])
        order = np.lexsort((-f1, rows))
        first = order[np.unique(rows[order], return_index=True)[1]]
        self.sets, self.groups, self.f1 = rows[first], both.indices[first], f1[first]
        self.precision = both.data[first] / sizes[0][self.sets]
        self.recall = both.data[first] / sizes[1][self.groups]
        self.best = np.zeros(len(known))
        np.maximum.at(self.best, both.indices, f1)

    @property
    def once(self) -> float:
        """The mean F1 of the sets of one group, averaged over the groups."""
        counts = np.bincount(self.groups)
        means = np.bincount(self.groups, weights=self.f1)[counts > 0] / counts[counts > 0]
        return float(means.mean())


def _solutions(A: Any) -> dict[str, list[Array]]:
    stored = links(A)
    start = starts.ego_networks(stored)
    return {"start": start, "after sweeps": column_sets(find(stored, start), FRACTION, 3)}


def lost(problems: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """What happens to the sets, cut to items of known groups."""
    for name, (A, known, solutions) in problems.items():
        for method, sets in solutions.items():
            cut = among_known(A.shape[0], sets, known)
            match = Match(A.shape[0], cut, known)
            shares = (match.precision, match.recall, match.f1, match.best)
            yield (
                name,
                method,
                str(len(cut)),
                f"{len(cut) / len(np.unique(match.groups)):.2f}",
                *(f"{values.mean():.3f}" for values in shares),
                f"{match.once:.3f}",
            )


def examples(problems: dict[str, Any], most: int = 3) -> Iterator[tuple[str, ...]]:
    """The known groups of 8 to 20 items that lost most."""
    for name, (A, known, solutions) in problems.items():
        n = A.shape[0]
        cuts = {method: among_known(n, sets, known) for method, sets in solutions.items()}
        found = {method: Match(n, cut, known) for method, cut in cuts.items()}
        loss = found["start"].best - found["after sweeps"].best
        sizes = np.array([len(s) for s in known])
        loss[(sizes < 8) | (sizes > 20)] = 0.0
        # Some groups are listed twice.
        once = np.unique([" ".join(map(str, np.sort(s))) for s in known], return_index=True)[1]
        for g in once[np.argsort(-loss[once], kind="stable")[:most]]:
            group = known[g]
            parts = [np.intersect1d(s, group) for s in cuts["after sweeps"]]
            parts = sorted((p for p in parts if len(p) > 2), key=len, reverse=True)[:4]
            shown = ", ".join(f"{len(p)} ({density(A, p):.2f})" for p in parts)
            yield (
                name, f"{len(group)} ({density(A, group):.2f})",
                f"{found['start'].best[g]:.2f}", f"{found['after sweeps'].best[g]:.2f}", shown,
            )  # fmt: skip


def readings(problems: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """F1 with other thresholds, prices, weights of unlinked pairs, and normalised similarities."""
    families = {name: (A, known, True) for name, (A, known, _) in problems.items()}
    families["overlapping"] = (*overlapping(10_000, mixing=0.6, seed=3), False)
    families["planted"] = (*planted(10_000, inside=0.5, seed=3), False)
    swept = {name: find(links(A)) for name, (A, _, _) in families.items()}

    def read(fraction: float) -> Callable[[str, Any], list[Array]]:
        return lambda name, A: column_sets(swept[name], fraction, 3)

    def priced(share: float) -> Callable[[str, Any], list[Array]]:
        return lambda name, A: column_sets(find(links(A), share=share), FRACTION, 3)

    def fitted(**options: Any) -> Callable[[str, Any], list[Array]]:
        return lambda name, A: column_sets(
            factorize(A, "auto", memberships="sparse", **options).H, FRACTION, 3
        )

    cases: dict[str, Callable[[str, Any], list[Array]]] = {
        "the start": lambda name, A: starts.ego_networks(links(A)),
        "as it is": read(FRACTION),
        "until converged": fitted(),
        **{f"sets down to {f} of the largest": read(f) for f in (0.1, 0.05)},
        **{f"price {s}": priced(s) for s in (0.01, 0.2)},
        **{f"unlinked pairs weigh {w}": fitted(zero_weight=w) for w in (0.3, 0.1)},
        "similarities over roots of degrees": lambda name, A: fitted()(name, normalised(A)),
    }
    for case, method in cases.items():
        cells = []
        for name, (A, known, real) in families.items():
            sets, n = [s for s in method(name, A) if len(s) >= 3], A.shape[0]
            if real:
                cells.append(f"{best_match_f1(n, sets, known)[0]:.3f}")
            cells.append(f"{mean_f1(n, among_known(n, sets, known) if real else sets, known):.3f}")
        yield case, *cells


def normalised(A: Any) -> sparse.csr_array:
    """A_ij / sqrt(d_i d_j)."""
    scale = sparse.diags_array(1.0 / np.sqrt(np.maximum(A.sum(axis=0), 1.0)))
    B = sparse.csr_array(scale @ A @ scale)
    return (B + B.T) / 2


def density(A: Any, items: Array) -> float:
    """The mean similarity of a pair of the items."""
    return float(A[items][:, items].sum() / max(len(items) * (len(items) - 1), 1))


def main(data: Path | None) -> None:
    problems = {}
    for name in ("amazon", "dblp"):
        problem = known_groups(data, name)
        if problem is not None:
            problems[name] = (*problem, _solutions(problem[0]))
    table(
        "What sweeps do to sets, cut to items of known groups",
        ["graph", "", "sets", "per known group", "precision", "recall", "F1 of the sets",
         "F1 of the known groups", "F1 of the sets, each group once"],
        lost(problems),
    )  # fmt: skip
    table(
        "Known groups of 8 to 20 items that lost most",
        ["graph", "items (density)", "F1 of the start", "F1 after sweeps",
         "what sweeps make of it: items of the group (density)"],
        examples(problems),
    )  # fmt: skip
    each = [f"{name}, {of}" for name in problems for of in ("known groups", "both ways, cut")]
    table(
        "Other settings",
        ["setting", *each, "overlapping, 60 % leave", "planted, half leave"],
        readings(problems),
    )


if __name__ == "__main__":
    folder = os.environ.get("ODSYMNMF_DATA")
    main(Path(folder) if folder else None)
