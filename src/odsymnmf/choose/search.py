"""The search for the number of clusters."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.blas import one_thread
from odsymnmf.choose import candidates as numbers
from odsymnmf.choose import graphs, held_out, stability
from odsymnmf.choose.fits import Fits, Options
from odsymnmf.choose.progress import counted
from odsymnmf.choose.result import COLUMNS, NumberOfClusters
from odsymnmf.engine.how import LossName
from odsymnmf.factorization import objective as objective_of
from odsymnmf.memberships import labels
from odsymnmf.problem import as_similarity
from odsymnmf.result import Factorization

# Where the Bethe-Hessian sees so many times more groups, there are groups inside groups.
MANY_SCALES = 1.5
# Clusters that are stable to within this of the most stable are as good.
SLACK = 0.02
# Labels that agree less with those of a part (adjusted Rand index) are hardly the same.
FAINT = 0.5
# A cluster of a smaller share of the mean size is a crumb.
CRUMB = 0.05
# The largest candidate for input that is no graph.
MOST = 40
# The held-out error has turned after so many candidates in a row that are clearly worse.
TURNED = 3
MEASURES = ("auto", "all", "description_length", "stability", "held_out_error")


def n_clusters(
    A: Any,
    candidates: Iterable[int] | None = None,
    *,
    measure: str = "auto",
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
    """Recommend a number of clusters.

    For a graph, this is the number with the shortest description length of its links (see
    `description_length`), among candidates around the number of negative eigenvalues of the
    Bethe-Hessian. Where that number is more than 1.5 times as large, as in nearest-neighbour graphs
    of points, there are groups within groups, and stability decides instead, as it does for all
    other input: the largest number of clusters that are (to within 0.02) as stable as those of any
    other number when 30 % of the items are left out.

    Near the detection limit, every measure recommends too few clusters; ``reason`` says so where a
    single cluster describes a graph as well as any other number.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities, not normalised; `odsymnmf.similarity.cosine(X)` for documents.
    candidates : iterable of int, optional
        The numbers to choose from. If there are more than 15, ten at equal ratios are tried first,
        then those around the best. Default: for a graph, numbers around what its spectrum suggests;
        for other input, 2 to 40 at equal ratios.
    measure : {"auto", "all", "description_length", "stability", "held_out_error"}
        The criterion. "stability" is the mean `agreement` of the clusters with those of four fits
        to 70 % of the items. "held_out_error" is the loss on held-out pairs (three times a tenth of
        them); the smallest number within one standard error of the best is chosen. It suits input
        that is low rank plus independent noise, which kernels and documents are not. "auto"
        measures what it needs; "all" decides as "auto" does, and fills in the rest of the table,
        which takes several times as long.
    loss, l1_ratio, weights, zero_weight, normalize, upper
        As for `odsymnmf.ODSymNMF`.
    n_jobs : int, optional
        Number of threads that run the fits; the result does not depend on it.
    random_state : int, Generator, RandomState or None
        Random seed: which items or pairs are left out.
    verbose : int
        1 shows a progress bar (needs tqdm), 2 prints a line now and then.

    Returns
    -------
    NumberOfClusters

    Examples
    --------
    >>> import odsymnmf as od
    >>> A, groups = od.datasets.planted_partition([30] * 4, 0.4, 0.02, random_state=0)
    >>> found = od.choose.n_clusters(A)
    >>> found.n_clusters
    4
    >>> found.measure
    'description_length'
    """
    if measure not in MEASURES:
        known = ", ".join(repr(name) for name in MEASURES)
        raise ValueError(f"measure={measure!r} is not known; use one of {known}.")
    similarity = as_similarity(A, weights, zero_weight)
    given = None if candidates is None else numbers.given(candidates, similarity.n)
    fits = Fits(similarity, Options(loss, l1_ratio, normalize, upper), 1)
    with counted("choosing the number of clusters", verbose) as count:
        search = Search(fits, given, n_jobs, random_state, count)
        graph = fits.settings(1).kind == "graph"
        either = measure in ("auto", "all")
        if measure == "held_out_error":
            search.by_held_out_error()
        elif measure == "stability" or (either and not graph):
            search.by_stability(max(2, min(MOST, similarity.n // 5)))
        else:
            search.by_description_length(alone=not either)
        if measure == "all":
            search.complete()
        return search.answer()


class Search:
    """Candidates that were fitted so far, and what was measured."""

    def __init__(
        self,
        fits: Fits,
        given: list[int] | None,
        n_jobs: int | None,
        random_state: Any,
        count: Callable[[str], None],
    ):
        self.fits, self.given, self.n_jobs = fits, given, n_jobs
        self.random_state, self.count = random_state, count
        self.found: dict[int, Factorization] = {}
        self.measured: dict[str, dict[int, float]] = {name: {} for name in COLUMNS}
        self.parts: list[Any] = []
        self.labels_of_parts: dict[int, list[Array]] = {}
        self.links: Any = None
        self.bethe: int | None = None
        self.best, self.measure, self.reason = 0, "", ""

    def by_description_length(self, alone: bool) -> None:
        """Let the shortest description decide; unless alone, stability if groups have groups."""
        self.bethe = graphs.bethe_hessian(self.fits.raw)
        self.links = graphs.links(self.fits.raw)
        lengths = self.measured["description_length"]
        centre = max(self.bethe, 2)
        if self.given is not None:
            self._describe(numbers.spread(self.given))
            best = min(lengths, key=lambda r: lengths[r])
            self._describe(numbers.about(self.given, lengths, best))
        else:
            self._describe_around(centre)
        best = min(lengths, key=lambda r: lengths[r])
        if not alone and centre > MANY_SCALES * best:
            self._groups_in_groups(centre, best)
            return
        reason = "the shortest description of the links of the graph"
        self._decide(best, "description_length", reason + self._doubt(lengths[best]))

    def by_stability(self, most: int, why: str = "") -> None:
        """Let the largest number decide whose clusters are as stable as any."""
        tried = numbers.around(2, 2, most) if self.given is None else numbers.spread(self.given)
        tried = [r for r in tried if r <= most] or [most]
        self._leave_out_items(tried)
        values = [self.measured["stability"][r] for r in tried]
        top = tried[int(np.argmax(values))]
        stable = [r for r, v in zip(tried, values, strict=True) if v >= max(values) - SLACK]
        best = max(r for r in stable if r == top or _all_in_use(labels(self.found[r].H), r))
        reason = "the largest number of clusters that is stable when 30 % of the items are left out"
        value = self.measured["stability"][best]
        faint = (
            ""
            if self._same_labels(best) >= FAINT
            else "; no number is very stable, so use it with caution"
        )
        self._decide(best, "stability", f"{why}{reason} (agreement {value:.2f}{faint})")

    def by_held_out_error(self) -> None:
        """Let the smallest number decide whose error is within one standard error of the least."""
        most = max(2, min(MOST, self.fits.raw.n // 5))
        tried = numbers.around(2, 2, most) if self.given is None else numbers.spread(self.given)
        self._hold_out_pairs(tried)
        means, spreads = self.measured["held_out_error"], self.measured["standard_error"]
        self._fit(list(means))
        best = min(means, key=lambda r: means[r])
        least = min(r for r in means if means[r] <= means[best] + spreads[best])
        reason = (
            "the fewest clusters within one standard error of the smallest error on held-out pairs"
        )
        if best == max(means):
            reason += "; the error was still decreasing at the last candidate"
        self._decide(least, "held_out_error", reason)

    def complete(self) -> None:
        """Measure what the decision did not ask for."""
        tried = sorted(self.found)
        self._leave_out_items([r for r in tried if r not in self.measured["stability"]])
        self._hold_out_pairs(tried)
        jobs = [partial(stability.from_another_start, self.fits, r, self.found[r].H) for r in tried]
        agreed = self._parallel(jobs, [f"{r} clusters from another start" for r in tried])
        self.measured["starts"] = dict(zip(tried, agreed, strict=True))

    def _leave_out_items(self, tried: list[int]) -> None:
        """Compare the clusters of each candidate with those of parts of the items."""
        if not tried:
            return
        self._fit(tried)
        self.parts = stability.parts(self.fits, max(tried), self.random_state)
        for part in self.parts:
            part.fits.prepare()
        pairs = [(r, part) for r in tried for part in self.parts]
        compared = self._parallel(
            [partial(part.compared, r, self.found[r].H) for r, part in pairs],
            [f"{r} clusters without a part" for r, _ in pairs],
        )
        for place, r in enumerate(tried):
            mine = compared[place * len(self.parts) :][: len(self.parts)]
            self.measured["stability"][r] = float(np.mean([alike for alike, _ in mine]))
            self.labels_of_parts[r] = [found for _, found in mine]

    def _same_labels(self, r: int) -> float:
        """Return the mean adjusted Rand index of the labels of parts with those of all items."""
        from sklearn.metrics import adjusted_rand_score

        whole = labels(self.found[r].H)
        pairs = zip(self.parts, self.labels_of_parts[r], strict=True)
        return float(np.mean([adjusted_rand_score(whole[p.items], found) for p, found in pairs]))

    def _hold_out_pairs(self, tried: list[int]) -> None:
        """Predict held-out pairs, with ever more clusters until the error has clearly turned."""
        self._up_to(max(tried))
        splits = held_out.splits(self.fits, self.random_state)
        means, spreads = self.measured["held_out_error"], self.measured["standard_error"]
        worse = 0
        for r in tried:
            jobs = [partial(split.error, r) for split in splits]
            errors = self._parallel(jobs, [f"{r} clusters, pairs held out"] * len(splits))
            means[r] = float(np.mean(errors))
            spreads[r] = float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
            best = min(means, key=lambda r: means[r])
            worse = worse + 1 if means[r] > means[best] + 2 * spreads[best] else 0
            if worse == TURNED:
                break

    def _describe_around(self, centre: int) -> None:
        """Try the numbers around the centre, and further out while the best is the last."""
        n, lengths = self.fits.raw.n, self.measured["description_length"]
        top = max(2, n // 3)
        low, high = max(centre // 2, 2), min(max(2 * centre, 4), top)
        while True:
            self._describe([r for r in numbers.around(centre, low, high) if r not in lengths])
            best = min(lengths, key=lambda r: lengths[r])
            if best == max(lengths) and high < top:
                high = min(int(1.5 * high), top)
            elif best == min(lengths) and low > 2:
                low = max(low // 2, 2)
            else:
                return

    def _describe(self, tried: list[int]) -> None:
        self._fit(tried)
        for r in tried:
            length = graphs.of_links(self.links, labels(self.found[r].H))
            self.measured["description_length"][r] = length

    def _groups_in_groups(self, centre: int, best: int) -> None:
        why = (
            f"the spectrum of the graph shows {centre} groups, but {best} clusters describe its "
            "links best: there are groups within groups, and more than one number makes sense; "
        )
        self.by_stability(best, why)

    def _doubt(self, length: float) -> str:
        if length < graphs.of_links(self.links, np.zeros(self.fits.raw.n)):
            return ""
        return (
            "; the evidence for it is weak, because the graph is small or its groups are not well "
            "separated"
        )

    def _fit(self, tried: list[int]) -> None:
        """Fit the candidates that were not."""
        tried = [r for r in tried if r not in self.found]
        if not tried:
            return
        self._up_to(max(tried))
        self.fits.prepare()
        jobs = [partial(self.fits.fit, r) for r in tried]
        found = self._parallel(jobs, [f"{r} clusters" for r in tried])
        nothing, o = np.zeros((self.fits.raw.n, 1)), self.fits.options
        alone = objective_of(self.fits.A, nothing, o.loss, l1_ratio=o.l1_ratio)
        for r, (fit, seconds) in zip(tried, found, strict=True):
            self.found[r] = fit
            self.measured["explained"][r] = 1 - fit.objective / alone if alone > 0 else np.nan
            self.measured["seconds"][r] = seconds

    def _up_to(self, most: int) -> None:
        if most > self.fits.most:
            self.fits = replace(self.fits, most=most)

    def _parallel(self, jobs: Sequence[Callable[[], Any]], names: list[str]) -> list[Any]:
        from joblib import Parallel, delayed

        def run(job: Callable[[], Any], name: str) -> Any:
            self.count(name)
            return job()

        alone = self.n_jobs in (None, 1)
        with nullcontext() if alone else one_thread():
            return list(
                Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                    delayed(run)(job, name) for job, name in zip(jobs, names, strict=True)
                )
            )

    def _decide(self, best: int, measure: str, reason: str) -> None:
        self.best, self.measure, self.reason = best, measure, reason

    def answer(self) -> NumberOfClusters:
        """Return what was decided, and all that was measured."""
        rows = sorted(self.found)
        table = {
            name: np.array([values.get(r, np.nan) for r in rows])
            for name, values in self.measured.items()
        }
        table["n_clusters"] = np.array(rows)
        return NumberOfClusters(self.best, self.reason, self.measure, table, self.found, self.bethe)


def _all_in_use(found: Array, r: int) -> bool:
    """Say whether no cluster is but a crumb: a cluster more that holds next to nobody is stable."""
    sizes = np.bincount(found[found >= 0], minlength=r)
    return bool(sizes.min() >= max(2.0, CRUMB * len(found) / r))
