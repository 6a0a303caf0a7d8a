"""The search for the number of clusters: docs/choices.md, "Number of clusters".

Graphs are partitioned at a range of resolutions (`init.multilevel`). Other input is fitted with a
range of numbers of clusters; each fit is compared with fits to subsets of the items.
"""

import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from odsymnmf.choose.criteria import adjusted_rand_index, agreement, block_model_length, link_weight
from odsymnmf.choose.result import NumberOfClusters
from odsymnmf.defaults import decide
from odsymnmf.factorization import objective
from odsymnmf.fit import Factorization, FitOptions, LossName, fit
from odsymnmf.init.multilevel import (
    MIN_FRACTION,
    Graph,
    Partition,
    aggregate,
    coarsen,
    leiden,
    nonnegative,
    renumber,
)
from odsymnmf.init.spectral import leading_eigenvectors, scaled_rotation
from odsymnmf.memberships import labels
from odsymnmf.progress import Progress
from odsymnmf.similarity import Similarity, as_similarity
from odsymnmf.utils import (
    Array,
    as_random,
    limit_blas_threads,
    plain_signature,
    user_stacklevel,
    whole_number,
)

# Graphs. Components smaller than this fraction of the largest are left out.
MIN_COMPONENT = 0.01
# Graphs of more than MAX_NODES are coarsened, to n / ITEMS_PER_NODE nodes, at least MIN_NODES; if
# no groups are found, to n / FINE nodes, at every second resolution. Coarse graphs take a single
# iteration of Leiden.
MAX_NODES, MIN_NODES, ITEMS_PER_NODE, FINE = 3000, 2000, 50, 12
# Independent partitions at every resolution.
N_RUNS = 3
# Resolutions, at equal ratios.
STEP, LOWEST, HIGHEST = 2**0.5, 2**-8, 2**8
# The finest partition has at least this many nodes per group.
MIN_NODES_PER_GROUP = 8
# Partitions are compared on this many items.
N_SAMPLE = 20_000
# A partition is a candidate if its adjusted Rand index between runs is at least MIN_ARI, and its
# modularity at least MIN_MODULARITY times the best. Stabilities that differ by SLACK are equal.
MIN_ARI, MIN_MODULARITY, SLACK = 0.5, 0.5, 0.05
# Groups that shorten the description by more than STRONG_GAIN nats per item must be reproduced with
# an adjusted Rand index of REPRODUCED, in another run or at a neighboring resolution.
STRONG_GAIN, REPRODUCED = 0.5, 0.9
# Modularity must exceed that of N_RANDOM random graphs by N_DEVIATIONS standard deviations.
N_RANDOM, N_DEVIATIONS = 20, 4.0

# Other input. The largest number of clusters tried by default.
MAX_CLUSTERS = 40
# Of more than N_CANDIDATES candidates, that many are tried.
N_CANDIDATES = 15
# Subsets of the items, and the fraction of the items in each.
N_SUBSETS, SUBSET_FRACTION = 4, 0.7
# Clusters whose stability differs by this are as stable; labels that agree less with those of
# subsets (adjusted Rand index) are weak evidence.
SUBSET_SLACK, MIN_SUBSET_ARI = 0.02, 0.5
# A cluster of a smaller fraction of the mean size does not count.
MIN_CLUSTER = 0.05
# Options of fits that are only compared, and need not be close to a minimum.
SHORT_FIT: dict[str, Any] = {"max_iter": 20, "tol": 3e-3}

EVIDENCE = {
    "clear": "the clusters are reproduced in other runs",
    "weak": "the evidence is weak: other numbers may be as good",
    "none": "there is no clear structure: no partition is both stable and better than that of a "
    "random graph with the same degrees",
}


@plain_signature
def n_clusters(
    A: Any,
    candidates: Iterable[int] | None = None,
    *,
    resolution: float | None = None,
    loss: LossName = "l2",
    l1_ratio: float = 0.5,
    weights: Any = None,
    zero_weight: float = 1.0,
    normalize: Any = "auto",
    upper: Any = "auto",
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> NumberOfClusters:
    """Recommend a number of clusters, with the alternatives.

    A graph is partitioned at a range of resolutions, several times each. The stability of a
    resolution is the mean adjusted Rand index of its partitions with each other and with those of
    the next lower and higher resolution. Of the most stable partitions (to within 0.05), the one
    with the shortest `description_length` is chosen. If no partition is both stable and better than
    a single group, ``evidence`` is "none", and one cluster is recommended, with a warning; for
    graphs of at most 3,000 items it is "weak" if the modularity is four standard deviations above
    that of random graphs with the same degrees.

    For other input, the choice is the largest number of clusters that are as stable as those of any
    other number (to within 0.02): stability is the mean `agreement` of the clusters with those of
    fits to four subsets of 70 % of the items.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, graph, or a similarity of n items
        Symmetric similarities, not normalized; `odsymnmf.similarity.cosine(X)` for documents.
        Graphs are nonnegative similarities of which at most half are not zero, or of which all
        that are not zero are equal.
    candidates : iterable of int, optional
        The numbers to choose from. For a graph, the partitions with about as many groups are
        compared. For other input, ten numbers at equal ratios are fitted if there are more than
        15. Default: 2 to 40 at equal ratios, if A is not a graph.
    resolution : float, optional
        For graphs: the resolution of modularity, instead of a search; 1 is ordinary modularity, and
        larger values give more clusters.
    loss, l1_ratio, weights, zero_weight, normalize, upper
        As for `odsymnmf.ODSymNMF`. The search on graphs does not depend on them, except that
        unknown pairs count as not linked.
    n_jobs : int, optional
        Number of threads that run the fits; the result does not depend on it.
    random_state : int, Generator, RandomState or None
        Random seed; for graphs, None means 0.
    verbose : int
        1 shows a progress bar (needs tqdm), 2 prints a log line every few seconds.

    Returns
    -------
    NumberOfClusters

    Examples
    --------
    >>> import odsymnmf as od
    >>> A, groups = od.datasets.planted_partition([30] * 4, 0.4, 0.02, random_state=0)
    >>> result = od.choose.n_clusters(A)
    >>> result.n_clusters, result.evidence
    (4, 'clear')
    """
    A = as_similarity(A, weights, zero_weight)
    given = None if candidates is None else check_candidates(candidates, A.n)
    options = FitOptions(
        loss=loss,
        l1_ratio=l1_ratio,
        normalize=normalize,
        upper=upper,
        random_state=0,
        sparse_membership=False,
        **SHORT_FIT,
    )
    summary = A.summary
    is_graph = summary.kind == "graph" or (summary.kind == "kernel" and summary.is_binary)
    if resolution is not None:
        if not resolution > 0:
            raise ValueError(f"resolution must be a number > 0; got {resolution!r}.")
        if not is_graph or given is not None:
            why = "candidates were given" if is_graph else "A is not a graph"
            raise ValueError(f"resolution={resolution} needs a graph and no candidates; {why}.")
    with Progress("choosing the number of clusters", "partition", verbose) as progress:
        if is_graph:
            seed = int(2**32 * as_random(random_state or 0).uniform())
            links = nonnegative(A)
            search = GraphSearch(links, seed, progress)
            if resolution is None:
                search.coarsen(FINE)
                fine = search.runs.copy()
                search.coarsen(ITEMS_PER_NODE)
                result = search.run(given)
                small = result.evidence == "none" or result.n_clusters > search.max_groups
                if small and A.n > MIN_NODES * FINE:  # groups may be smaller than a node
                    search.runs, search.step = fine, STEP**2
                    result = search.run(given)
            else:  # the graph itself is partitioned
                result = search.run(given, resolution)
        else:
            result = search_by_stability(A, given, options, random_state, n_jobs, progress)
    if result.evidence == "none" and resolution is None:
        remedy = "give a number of clusters or a resolution, or see the table of partitions"
        message = f"n_clusters={result.n_clusters}: {result.reason}; {remedy}"
        warnings.warn(message, stacklevel=user_stacklevel())
    return result


class Coarse(NamedTuple):
    """A coarse graph, the volumes of its nodes, the node of every item, the items per node."""

    graph: Any
    volume: Array
    node: Array
    sizes: Array


class Partitions(NamedTuple):
    """Partitions at one resolution: labels of the nodes, and medians over the runs."""

    resolution: float
    n_clusters: int
    modularity: float
    description_length: float
    labels: list[Array]


class GraphSearch:
    """Partitions of a graph at a range of resolutions."""

    def __init__(self, links: Any, seed: int, progress: Progress):
        self.seed, self.progress, self.step = seed, progress, STEP
        self.n, component = links.shape[0], connected_components(links, directed=False)[1]
        sizes = np.bincount(component)
        self.items = np.flatnonzero((sizes >= MIN_COMPONENT * sizes.max())[component])
        self.n_components = len(np.unique(component[self.items]))
        if len(self.items) < self.n:
            links = links[self.items][:, self.items]
            links.sort_indices()
        self.graph = Graph(links)
        self.unit = link_weight(self.graph.links.data)
        n = len(self.items)
        whole = Coarse(self.graph.links, self.graph.degrees, np.arange(n), np.ones(n))
        self.runs = [whole] * N_RUNS if links.nnz else []
        self.sample = np.random.default_rng(seed).permutation(n)[:N_SAMPLE]

    def coarsen(self, items_per_node: int) -> None:
        """Coarsen the graph of every run independently; small graphs stay as they are."""
        n = len(self.items)
        target = n if n <= MAX_NODES else max(MIN_NODES, n // items_per_node)
        for i, (graph, volume, node, _) in enumerate(self.runs):
            rng = np.random.default_rng([self.seed, i])
            levels, graph, volume = coarsen(graph, volume, target, rng)
            for _, _, groups in levels:
                node = groups[node]
            sizes = np.bincount(node).astype(np.float64)
            self.runs[i] = Coarse(graph, volume, node, sizes)

    @property
    def max_groups(self) -> float:
        """The largest number of groups that the coarse graphs can show."""
        return min(len(run.volume) for run in self.runs) / MIN_NODES_PER_GROUP

    def run(
        self, candidates: list[int] | None, resolution: float | None = None
    ) -> NumberOfClusters:
        """Return the recommended number of clusters."""
        if not self.runs:
            table = {name: np.empty(0) for name in (*Partitions._fields[:-1], "stability")}
            return NumberOfClusters(1, "none", "no two items are similar", None, table, [])
        partitions = self.partitions() if resolution is None else [self.partition(resolution)]
        table = {
            name: np.array([getattr(p, name) for p in partitions])
            for name in Partitions._fields[:-1]
        }
        table["stability"], reproduced, ari = self.stability(partitions)
        row, evidence = self.choose(table, reproduced, ari)
        if resolution is not None:
            row = 0
        if candidates is not None:  # the best partition with about as many groups
            numbers = table["n_clusters"]
            distance = np.abs(np.log(numbers / [nearest(candidates, k) for k in numbers.tolist()]))
            row = best_row(table, distance <= max(distance.min(), np.log(self.step)))
        k = 1 if row is None else int(table["n_clusters"][row])
        k = k if candidates is None else nearest(candidates, k)
        all_labels = np.full((len(partitions), self.n), -1, dtype=np.int32)
        all_labels[:, self.items] = [p.labels[0][self.runs[0].node] for p in partitions]
        reason = EVIDENCE[evidence]
        if resolution is not None and evidence == "none":  # nothing was searched
            reason = "as given"
        if row is not None:
            reason = f"resolution {table['resolution'][row]:.3g}; {reason}"
        return NumberOfClusters(k, evidence, reason, row, table, list(all_labels))

    def partitions(self) -> list[Partitions]:
        """Return partitions from one group per component to groups of a few nodes."""
        partitions = [self.partition(1.0)]
        while partitions[0].resolution > LOWEST and (
            len(partitions) < 2 or partitions[1].n_clusters > self.n_components
        ):
            partitions.insert(0, self.partition(partitions[0].resolution / self.step))
        while partitions[-1].resolution < HIGHEST and partitions[-1].n_clusters <= self.max_groups:
            partitions.append(self.partition(partitions[-1].resolution * self.step))
        return partitions

    def partition(self, resolution: float) -> Partitions:
        """Partition every coarse graph."""
        self.progress.update(f"resolution {resolution:.3g}")
        rows, labels = [], []
        for i, run in enumerate(self.runs):
            rng = np.random.default_rng([self.seed, i])
            n_iter = 2 if run.graph is self.graph.links else 1
            groups = leiden(run.graph, run.volume, resolution, rng, n_iter)
            labels.append(groups)
            rows.append(self.measure(run, groups))
        k, modularity, length = np.median(rows, axis=0)
        return Partitions(resolution, int(k), float(modularity), float(length), labels)

    def measure(self, run: Coarse, groups: Array) -> tuple[int, float, float]:
        """Return the number of large groups, the modularity and the description length."""
        sizes = np.bincount(groups, weights=run.sizes)
        smallest = MIN_FRACTION * sizes.sum()
        k = np.count_nonzero(sizes * len(sizes) >= smallest)
        k = np.count_nonzero(sizes * k >= smallest)
        # Groups smaller than half of the smallest that counts are merged into one.
        is_counted = 2 * sizes * k >= smallest
        merged = renumber(np.where(is_counted, np.arange(len(sizes)), len(sizes))[groups])
        W, volume = aggregate(run.graph, run.volume, merged)
        total = volume.sum()
        modularity = round(W.diagonal().sum() / total - (volume @ volume) / total**2, 12) + 0.0
        length = block_model_length(W / self.unit, np.bincount(merged, weights=run.sizes))
        return int(k), float(modularity), length

    def stability(self, partitions: list[Partitions]) -> tuple[Array, Array, Array]:
        """Return the stability, the largest index in its mean, and the mean index between runs."""
        sampled = [
            [groups[run.node[self.sample]] for groups, run in zip(p.labels, self.runs, strict=True)]
            for p in partitions
        ]
        ari = np.array([mean_index(combinations(labels, 2)) for labels in sampled])
        steps = [mean_index(zip(low, high, strict=True)) for low, high in pairwise(sampled)]
        sides = np.array([[np.nan, *steps], [*steps, np.nan]])
        if not steps:
            return ari, ari, ari
        return (ari + np.nanmean(sides, axis=0)) / 2, np.fmax(ari, np.fmax(*sides)), ari

    def choose(
        self, table: dict[str, Array], reproduced: Array, ari: Array
    ) -> tuple[int | None, str]:
        """Return the chosen row of the table (or None) and the evidence for it."""
        length, modularity = table["description_length"], table["modularity"]
        one_group = sparse.csr_array([[self.graph.degrees.sum() / self.unit]])
        n = len(self.items)
        gain = (block_model_length(one_group, np.array([n])) - length) / n
        # Nodes of coarse graphs may mix groups: runs differ then, though each finds the groups.
        eligible = (ari >= MIN_ARI) | (gain > STRONG_GAIN) & (reproduced >= REPRODUCED)
        eligible &= (table["n_clusters"] >= 2) & (modularity >= MIN_MODULARITY * modularity.max())
        eligible &= (gain > 0) | (n <= MAX_NODES)
        shorter = eligible & (gain > 0)
        if shorter.any():
            row, eligible = best_row(table, shorter), shorter
            if gain[row] <= STRONG_GAIN or reproduced[row] >= REPRODUCED:
                return row, "clear"
        # Not finer than modularity itself. Stable groups of a small graph may have too few links to
        # shorten the description.
        eligible &= table["resolution"] <= 1.0 + 1e-9
        if eligible.any() and (shorter.any() or self.exceeds_random(modularity.max())):
            return best_row(table, eligible), "weak"
        return None, "none"

    def exceeds_random(self, modularity: float) -> bool:
        """Return whether modularity is far above that of random graphs with the same degrees."""
        links = self.graph.links
        n, rng = len(self.items), np.random.default_rng(self.seed)
        ends = np.repeat(np.arange(n), np.diff(links.indptr))
        weights = links.data[ends < links.indices]
        values = []
        for _ in range(N_RANDOM):
            i, j = rng.permutation(ends).reshape(2, -1)
            half = sparse.coo_array((rng.permutation(weights), (i, j)), shape=(n, n))
            random = Graph(sparse.csr_array(half + half.T))
            labels = leiden(random.links, random.degrees, 1.0, rng)
            values.append(random.quality(Partition(labels, 1.0))[1] / random.degrees.sum())
        return bool(modularity > np.mean(values) + N_DEVIATIONS * np.std(values))


def mean_index(pairs: Iterable[tuple[Array, Array]]) -> float:
    """Return the mean adjusted Rand index of pairs of labels."""
    return float(np.mean([adjusted_rand_index(a, b) for a, b in pairs]))


def best_row(table: dict[str, Array], eligible: Array) -> int:
    """Return the row with the shortest description among the most stable eligible rows."""
    stability = np.where(eligible, table["stability"], -np.inf)
    stable = stability >= stability.max() - SLACK
    return int(np.where(stable, table["description_length"], np.inf).argmin())


def nearest(candidates: list[int], k: float) -> int:
    """Return the candidate whose ratio to k is nearest to 1."""
    return min(candidates, key=lambda c: abs(np.log(c / k)))


class ShortFits:
    """Short fits of one problem with at most ``max_clusters`` clusters."""

    def __init__(self, A: Similarity, options: FitOptions, max_clusters: int):
        self.options, self.unscaled = options, A
        settings = decide(A, 1, options)
        scaling = settings.normalization
        self.A = A if scaling is None else A.scale(scaling.roots)
        self.eigenvectors = None
        if settings.init != "greedy":
            self.eigenvectors = leading_eigenvectors(self.A, min(max_clusters, A.n))

    def fit(self, r: int) -> Factorization:
        """Fit r clusters with few sweeps."""
        settings = decide(self.unscaled, r, self.options)
        init, V = settings.init, self.eigenvectors
        if V is not None and r <= V.shape[1]:
            init = scaled_rotation(self.A, V[:, :r])
        result = fit(self.A, r, replace(self.options, init=init, upper=settings.upper))
        if result.status == "interrupted":
            raise KeyboardInterrupt
        return result


def search_by_stability(
    A: Similarity,
    candidates: list[int] | None,
    options: FitOptions,
    random_state: Any,
    n_jobs: int | None,
    progress: Progress,
) -> NumberOfClusters:
    """Return the largest number of clusters that are stable in fits to subsets of the items."""
    n, rng = A.n, as_random(random_state)
    size = max(int(SUBSET_FRACTION * n), min(n, 2))
    if candidates is None:
        candidates = list(range(2, max(2, min(MAX_CLUSTERS, n // 5)) + 1))
    tried = spread([r for r in candidates if r <= size] or [size])
    subsets = [np.sort(np.argsort(rng.uniform(size=n))[:size]) for _ in range(N_SUBSETS)]
    problems = [ShortFits(part, options, max(tried)) for part in [A, *map(A.subset, subsets)]]

    def run(problem: ShortFits, r: int) -> Factorization:
        progress.update("fit")
        return problem.fit(r)

    with nullcontext() if n_jobs in (None, 1) else limit_blas_threads():
        jobs = (delayed(run)(problem, r) for r in tried for problem in problems)
        fits = list(Parallel(n_jobs=n_jobs, require="sharedmem")(jobs))
    f0 = objective(problems[0].A, np.zeros((n, 1)), options.loss, l1_ratio=options.l1_ratio)
    all_labels, rows = [], []
    for i in range(0, len(fits), len(problems)):
        full, clusters = fits[i], labels(fits[i].H)
        pairs = list(zip(subsets, fits[i + 1 : i + len(problems)], strict=True))
        stability = np.mean([agreement(full.H[s], subset.H).mean() for s, subset in pairs])
        ari = mean_index((clusters[s] + 1, labels(subset.H) + 1) for s, subset in pairs)
        explained = 1 - full.objective / f0 if f0 > 0 else np.nan
        all_labels.append(clusters)
        rows.append((stability, explained, ari))
    stabilities, fractions, aris = np.array(rows).T
    table = {"n_clusters": np.array(tried), "stability": stabilities, "explained": fractions}
    top = int(stabilities.argmax())
    stable = np.flatnonzero(stabilities >= stabilities[top] - SUBSET_SLACK)
    row = int(max(i for i in stable if i == top or all_in_use(all_labels[i], tried[i])))
    if stabilities[row] == 0:  # no item has a membership
        return NumberOfClusters(1, "none", "no two items are similar", None, table, all_labels)
    reason = "the largest number of clusters that is stable when 30 % of the items are left out"
    reason += f" (stability {stabilities[row]:.2f})"
    if aris[row] >= MIN_SUBSET_ARI:
        return NumberOfClusters(tried[row], "clear", reason, row, table, all_labels)
    reason += f"; {EVIDENCE['weak']}"
    return NumberOfClusters(tried[row], "weak", reason, row, table, all_labels)


def all_in_use(clusters: Array, r: int) -> bool:
    """Return whether every cluster has several items.

    A fit with an additional, nearly empty cluster can be as stable.
    """
    sizes = np.bincount(clusters[clusters >= 0], minlength=r)
    return bool(sizes.min() >= max(2.0, MIN_CLUSTER * len(clusters) / r))


def check_candidates(candidates: Iterable[Any], n: int) -> list[int]:
    """Return the candidates in ascending order, at most n; ValueError if they are not valid."""
    if isinstance(candidates, str) or not (candidates := [*candidates]):
        raise ValueError(f"candidates must be numbers, as a list or range; got {candidates!r}.")
    numbers = sorted({whole_number("candidates", r, 1) for r in candidates})
    if numbers[0] > n:
        raise ValueError(f"candidates begin with {numbers[0]}, but there are {n} items only.")
    return [r for r in numbers if r <= n]


def spread(candidates: list[int]) -> list[int]:
    """Return at most N_CANDIDATES candidates, at equal ratios from the first to the last.

    Examples
    --------
    >>> spread(list(range(2, 41)))
    [2, 3, 4, 5, 6, 7, 9, 11, 14, 17, 21, 26, 32, 40]
    """
    if len(candidates) <= N_CANDIDATES:
        return candidates
    wanted = np.geomspace(candidates[0], candidates[-1], N_CANDIDATES)
    return sorted({min(candidates, key=lambda r: abs(r - w)) for w in wanted})
