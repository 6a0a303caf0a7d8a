"""Every start, with and without column restarts: objective, accuracy or NMI, and time.

Three families: the paper's cliques with pairs flipped, graphs with known groups and documents with
known classes, in random order.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.datasets import cliques, flip
from odsymnmf.factorization import factorize
from odsymnmf.memberships import labels
from odsymnmf.metrics import membership_accuracy, scores
from odsymnmf.reproduce.cells import Request, Settings, compute
from odsymnmf.reproduce.document_sets import formed, read
from odsymnmf.reproduce.writing import canvas, save, table, write_csv, write_page
from odsymnmf.similarity import cosine

FITS = [
    *(("l1", start) for start in ("greedy", "spectral", "nndsvd", "random", "zero", "l2")),
    *(("l2", start) for start in ("greedy", "spectral", "nndsvd", "random", "zero")),
]
ROUNDS = [0, 10]
NOISE = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
SIZES = {
    "5 balanced": [10] * 5,
    "5 unbalanced": [12, 11, 10, 9, 8],
    "10 balanced": [10] * 10,
    "10 unbalanced": list(range(14, 4, -1)),
}
REAL = {
    "graphs": [
        *("dolphins", "polbooks", "football", "polblogs_lcc", "email_eu_core", "cora"),
        *("pbmc68k_reduced", "fb100_Reed98", "fb100_Amherst41"),
        *("lfr1000_mu0.1", "lfr1000_mu0.3", "lfr1000_mu0.5", "lfr10000"),
    ],
    "documents": [
        *("tr11", "tr23", "tr41", "tr45", "hitech", "k1b", "la1", "la2"),
        *("reviews", "classic", "ohscal"),
    ],
}
# A change of the score that counts, in points.
CLEAR = 0.5
# Sweeps of real data: l1 creeps on for hundreds, and changes little.
SWEEPS = {"graphs": 50, "documents": 20}
ABOUT = """Each cell: without → with restarts (10 rounds at most). H is bounded by 1. Cliques: the
accuracy of H in per cent (the paper's formula), mean over {trials} matrices. Graphs (at most
{graphs} sweeps) and documents (cosines of raw counts, at most {documents} sweeps): NMI with the
known groups, in per cent, items in random order. Seconds are processor seconds of one core."""

SUMMARY = f"""## What restarts change

Over all data and starts of a family: how often the score rose or fell by more than {CLEAR} points,
the median of its change, and the median time with restarts relative to that without."""


def clique_fit(
    sizes: list[int], noise: float, loss: str, start: str, rounds: int, seed: int
) -> dict[str, float]:
    """Return the outcome of one fit of noisy cliques."""
    A, truth = cliques(sizes)
    return outcome(
        flip(A, noise, seed),
        len(sizes),
        lambda H: membership_accuracy(H, truth),
        loss=loss,
        init=start,
        restarts=rounds,
        random_state=seed,
    )


def real_fit(
    family: str, name: str, digest: str, loss: str, start: str, rounds: int, seed: int, *, data: str
) -> dict[str, float]:
    """Return the outcome of one fit of a graph or of documents."""
    if family == "documents":
        X, groups = read(data, name)
        # l1 asks for all of the similarities in every sweep.
        A: Any = formed(cosine(X).X)
    else:
        file = Path(data) / family / f"{name}.npz"
        A = sparse.csr_array(sparse.load_npz(file)).astype(np.float64)
        groups = np.load(file.with_name(f"{name}_labels.npy"))
    order = np.random.default_rng(seed).permutation(len(groups))
    groups = groups[order]
    return outcome(
        A[order][:, order],
        len(np.unique(groups[groups >= 0])),
        lambda H: scores(labels(H), groups)["nmi"],
        loss=loss,
        init=start,
        restarts=rounds,
        max_iter=SWEEPS[family],
        random_state=seed,
    )


def outcome(A: Any, r: int, score: Any, **options: Any) -> dict[str, float]:
    """Fit, and return the objective, the score in per cent, and processor seconds."""
    compiled("sparse" if sparse.issparse(A) else "full", options["loss"], options["init"])
    begun = time.process_time()
    found = factorize(A, r, upper=1.0, **options)
    spent = time.process_time() - begun
    return {"objective": found.objective, "score": 100 * score(found.H), "seconds": spent}


@cache
def compiled(kind: str, loss: Any, start: str) -> None:
    """Fit four items, once: what a fit needs is compiled or loaded then."""
    A = np.ones((4, 4)) if kind == "full" else sparse.csr_array(np.ones((4, 4)))
    factorize(A, 2, loss=loss, init=start, restarts=1, random_state=0)


def synthetic(request: Request) -> Iterator[Settings]:
    """Yield a row for each setting of noisy cliques: the mean over the trials."""
    rows = [
        (name, noise, loss, start, rounds)
        for name in SIZES
        for noise in NOISE
        for loss, start in FITS
        for rounds in ROUNDS
    ]
    settings = [
        {
            "sizes": SIZES[name],
            "noise": noise,
            "loss": loss,
            "start": start,
            "rounds": rounds,
            "seed": request.seed + trial,
        }
        for name, noise, loss, start, rounds in rows
        for trial in range(request.trials)
    ]
    found = compute(request, "starts: cliques", clique_fit, settings)
    for number, (name, noise, loss, start, rounds) in enumerate(rows):
        trials = found[number * request.trials : (number + 1) * request.trials]
        means = {key: float(np.mean([t[key] for t in trials])) for key in trials[0]}
        yield row(name, f"{noise:g}", loss, start, rounds, means)


def real(request: Request, family: str) -> Iterator[Settings]:
    """Yield a row for each setting of the graphs or the document sets that are at hand."""
    if request.data is None:
        return
    folder = request.data / family
    digests = {
        name: hashlib.sha256((folder / f"{name}.npz").read_bytes()).hexdigest()
        for name in REAL[family]
        if (folder / f"{name}.npz").is_file() and (folder / f"{name}_labels.npy").is_file()
    }
    settings: list[Settings] = [
        {
            "family": family,
            "name": name,
            "digest": digest,
            "loss": loss,
            "start": start,
            "rounds": rounds,
            "seed": request.seed,
        }
        for name, digest in digests.items()
        for loss, start in FITS
        for rounds in ROUNDS
    ]
    context = {"data": str(request.data)}
    found = compute(request, f"starts: {family}", real_fit, settings, context=context)
    for s, result in zip(settings, found, strict=True):
        yield row(family, s["name"], s["loss"], s["start"], s["rounds"], result)


def row(
    family: str, data: str, loss: str, start: str, rounds: int, measured: dict[str, float]
) -> Settings:
    """Return one line of the CSV."""
    settings = {"family": family, "data": data, "loss": loss, "start": start, "restarts": rounds}
    return {**settings, **measured}


def summary(rows: Sequence[Settings]) -> str:
    """Return a Markdown table of what restarts change: a line per family and loss."""
    alone = {(w["family"], w["data"], w["loss"], w["start"]): w for w in rows if not w["restarts"]}
    lines = []
    for family in dict.fromkeys(w["family"] for w in rows):
        for loss in dict.fromkeys(loss for loss, _ in FITS):
            pairs = [
                (alone[family, w["data"], loss, w["start"]], w)
                for w in rows
                if (w["family"], w["loss"]) == (family, loss) and w["restarts"]
            ]
            change = np.array([after["score"] - before["score"] for before, after in pairs])
            times = [after["seconds"] / before["seconds"] for before, after in pairs]
            cells = [len(pairs), np.sum(change > CLEAR), np.sum(change < -CLEAR)]
            middle = [f"{np.median(change):+.1f}", f"{np.median(times):.1f}"]
            lines.append([family, loss, *map(str, cells), *middle])
    header = ["family", "loss", "cases", "score up", "down", "median change", "median time ratio"]
    return table(header, lines)


def tables(rows: Sequence[Settings]) -> Iterator[str]:
    """Yield Markdown tables: a line per start, a cell without → with restarts."""
    found = {(w["family"], w["data"], w["loss"], w["start"], w["restarts"]): w for w in rows}
    for family in dict.fromkeys(w["family"] for w in rows):
        columns = list(dict.fromkeys(w["data"] for w in rows if w["family"] == family))
        for what, form in (("score", "{:.0f}"), ("objective", "{:.5g}"), ("seconds", "{:.2g}")):
            title = f"{family} clusters" if family in SIZES else family
            yield f"## {title}: {what}"
            lines = [
                [
                    f"{loss}, {start}",
                    *(
                        " → ".join(
                            form.format(found[family, column, loss, start, rounds][what])
                            for rounds in ROUNDS
                        )
                        for column in columns
                    ),
                ]
                for loss, start in FITS
            ]
            yield table(["loss, start", *columns], lines)


def figure(request: Request, rows: Sequence[Settings]) -> None:
    """Draw the accuracy of l1 by noise, a panel per family, with and without restarts."""
    picture = canvas(12, 3.2)
    panels = picture.subplots(1, len(SIZES), sharey=True)
    for panel, name in zip(panels, SIZES, strict=True):
        for number, start in enumerate(start for loss, start in FITS if loss == "l1"):
            for rounds, line in zip(ROUNDS, (":", "-"), strict=True):
                wanted = (name, "l1", start, rounds)
                chosen = [
                    w for w in rows if (w["family"], w["loss"], w["start"], w["restarts"]) == wanted
                ]
                panel.plot(
                    [float(w["data"]) for w in chosen],
                    [w["score"] for w in chosen],
                    line,
                    color=f"C{number}",
                    label=start if rounds else None,
                )
        panel.set_title(f"{name} clusters", fontsize=10)
        panel.set_xlabel("share of pairs flipped")
    panels[0].set_ylabel("accuracy of H, l1, per cent")
    panels[0].legend(fontsize=8, title="solid: restarts", title_fontsize=8)
    save(picture, request, "starts")


def main(request: Request) -> None:
    """Write starts.csv, starts.md and starts.png."""
    rows = [*synthetic(request), *real(request, "graphs"), *real(request, "documents")]
    about = ABOUT.format(trials=request.trials, **SWEEPS)
    if len(dict.fromkeys(w["family"] for w in rows)) < len(SIZES) + len(REAL):
        about += " Graphs and documents that are not here were not at hand (`--data`)."
    write_csv(request.out / "starts.csv", rows)
    parts = [about, SUMMARY, summary(rows), *tables(rows)]
    write_page(request, "starts", "All starts, with and without restarts", parts)
    figure(request, rows)
