"""Which rule reads overlapping groups off H best, beside peers: ``python -m benchmarks overlaps``.

Planted covers, 10 to 50 % of the items in two groups, r known. The rules are compared on one half
of the families (the first, third, ...), the winner is reported beside the peers on both.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality import graphs, ours
from benchmarks.quality.peers import leiden_with_r
from benchmarks.timing import table
from odsymnmf.memberships import overlapping_sets, strength
from odsymnmf.metrics import best_match_f1, omega_index, overlapping_nmi

# n, groups, share of items in two groups, mean degree, mixing, largest by smallest size
FAMILIES = [
    (1000, 20, 0.1, 15, 0.2, 1), (1000, 20, 0.2, 20, 0.3, 1), (1200, 15, 0.3, 20, 0.2, 1),
    (1200, 24, 0.3, 25, 0.3, 1), (1000, 10, 0.4, 25, 0.2, 5), (1000, 20, 0.5, 30, 0.2, 1),
    (1000, 15, 0.3, 15, 0.1, 5), (1200, 12, 0.5, 40, 0.4, 1),
]  # fmt: skip
# A rule maps the similarities that were fitted, and H, to which items belong to which clusters.
Rule = Callable[[Any, Any], Any]
Cover = list[Any]


def row_share(A: Any, H: Any, share: float) -> Any:
    return share * H.max(axis=1, keepdims=True) <= H


def column_share(A: Any, H: Any, share: float) -> Any:
    return share * H.max(axis=0) <= H


def typical_share(A: Any, H: Any, share: float) -> Any:
    """A share of the median of a column's entries that are a fifth of its largest or more."""
    strong = np.where(0.2 * H.max(axis=0) <= H, H, np.nan)
    return share * np.nanmedian(strong, axis=0) <= H


def least_strength(A: Any, H: Any, least: float) -> Any:
    return strength(H) >= least


def strength_share(A: Any, H: Any, share: float) -> Any:
    s = strength(H)
    return s >= share * s.max(axis=1, keepdims=True)


def harm(A: Any, H: Any, tolerance: float) -> Any:
    belongs = np.zeros(H.shape, dtype=bool)
    for l, items in enumerate(overlapping_sets(H, tolerance, rule="harm", A=A)):
        belongs[items, l] = True
    return belongs


RULES: dict[str, Rule] = {
    **{f"{s} of the row's largest": partial(row_share, share=s) for s in (0.3, 0.4, 0.5)},
    **{f"{s} of the column's largest": partial(column_share, share=s) for s in (0.15, 0.2, 0.25)},
    **{f"{s} of the column's typical": partial(typical_share, share=s) for s in (0.25, 0.3, 0.4)},
    **{f"strength >= {s}": partial(least_strength, least=s) for s in (0.15, 0.2, 0.25)},
    **{f"strength >= {s} of largest": partial(strength_share, share=s) for s in (0.3, 0.4, 0.5)},
    **{f"harm > {t}": partial(harm, tolerance=t) for t in (0.005, 0.01, 0.02)},
}
TODAY, WINNER = "0.5 of the row's largest", "strength >= 0.2"


def read(A: Any, H: Any, rule: Rule) -> Cover:
    """Return the sets of two items or more."""
    belongs = rule(A, H) & (H > 0)
    return [items for items in map(np.flatnonzero, belongs.T) if len(items) > 1]


def of_cdlib(name: str, **options: Any) -> Callable[[Any, int], Cover]:
    def run(A: Any, r: int) -> Cover:
        import networkx as nx
        from cdlib import algorithms

        given = {key: r if value == "r" else value for key, value in options.items()}
        found = getattr(algorithms, name)(nx.from_scipy_sparse_array(A), **given)
        return [np.array(items) for items in found.communities if len(items) > 1]

    return run


def leiden(A: Any, r: int) -> Cover:
    labels = np.asarray(leiden_with_r(A, r))
    return [np.flatnonzero(labels == l) for l in np.unique(labels)]


PEERS: dict[str, Callable[[Any, int], Cover]] = {
    "Leiden with r": leiden,
    "LFM": of_cdlib("lfm", alpha=0.8),
    "SLPA": of_cdlib("slpa"),
    "BigClam": of_cdlib("big_clam", dimensions="r", iterations=30),
    "DEMON": of_cdlib("demon", epsilon=0.25),
    "k-clique, k = 4": of_cdlib("kclique", k=4),
}


def scores(cover: Cover, truth: Cover, n: int) -> tuple[float, float, float]:
    if not cover:
        return 0.0, 0.0, 0.0
    return (
        overlapping_nmi(cover, truth, n),
        best_match_f1(cover, truth),
        omega_index(cover, truth, n),
    )


def measured(place: int) -> dict[str, tuple[float, float, float]]:
    """Return the scores of all rules and peers on one family."""
    A, truth = graphs.cover(*FAMILIES[place], seed=400 + place)
    n, r = A.shape[0], len(truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow convergence, and what the peers warn of
        H = ours.fit(A, r, "overlapping", ours.GRAPH).H
        S = ours.scaled(A, "overlapping", ours.GRAPH.regular)
        found = {name: read(S, H, rule) for name, rule in RULES.items()}
        for name, peer in PEERS.items():
            try:
                found[name] = peer(A, r)
            except ImportError:
                continue
    return {name: scores(cover, truth, n) for name, cover in found.items()}


def main(data: Path | None) -> None:
    np.random.seed(0)  # noqa: NPY002 - what cdlib's methods draw from
    import random

    random.seed(0)
    rows: list[dict[str, tuple[float, float, float]]] = []
    names = [TODAY, WINNER, *PEERS]

    def cells() -> Iterator[list[Any]]:
        for place, family in enumerate(FAMILIES):
            rows.append(measured(place))
            found = (rows[-1].get(name) for name in names)
            yield [family, *("-" if s is None else f"{s[0]:.3f} / {s[1]:.3f}" for s in found)]

    header = ["n, groups, shared, degree, mixing, size ratio", *names]
    table("Overlapping NMI / mean best-match F1 by family", header, cells())
    for half, part in (("chooses", rows[::2]), ("reports", rows[1::2])):
        table(
            f"Overlapping groups, half that {half}: {len(part)} families",
            ["rule or peer", "overlapping NMI", "mean best-match F1", "omega", "worst NMI"],
            [
                (
                    name,
                    *(f"{value:.3f}" for value in np.mean([row[name] for row in part], axis=0)),
                    f"{min(row[name][0] for row in part):.3f}",
                )
                for name in rows[0]
            ],
        )
    rivals = [name for name in PEERS if name in rows[0]]
    first = sum(row[WINNER][1] >= max(row[name][1] for name in rivals) for row in rows)
    print(f"\n{WINNER}: first among the peers by F1 on {first} of {len(rows)} families")


if __name__ == "__main__":
    main(None)
