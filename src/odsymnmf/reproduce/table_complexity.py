"""The table of complexities, measured: log-log slopes of time and memory in n, K and r."""

from typing import Any

from odsymnmf.reproduce.cells import Request, compute
from odsymnmf.reproduce.growth import AXES, DEGREE, OURS, PAPER, growth, slope
from odsymnmf.reproduce.writing import canvas, save, table, write_csv, write_page

NAME = "table-complexity"
# Sizes that double; the smallest is left out of the slopes, because fixed costs weigh most there.
STEPS = 4
# Of the transcriptions fewer, because they take longer.
REPEATS = {**dict.fromkeys(PAPER, 2), **dict.fromkeys(OURS, 5)}

ABOUT = """
The exponent b in time ~ n^b (and so on) of one sweep over H, or of one start, fitted over the
larger {fitted} of {steps} sizes that double, and in brackets the order that the paper gives (for
ours, the order that the library claims). "n, full A": all entries of A are stored; "n, sparse A":
{degree} per item; "K": n fixed, more entries stored; "r": n and K fixed (A full, but for ours with
sparse A). Time is processor time, the least of {few} rounds over all sizes ({many} for ours).
Memory is A as it was given and the most that was allocated through Python during the call.

How to read it:

- The transcriptions are plain NumPy and take A in full. So their memory and the products in
  them go by n², whatever K is; the paper's orders for sparse A ask for code that keeps A
  sparse.
- An entry of H costs the transcriptions some ten microseconds before any arithmetic. Where that
  outweighs the arithmetic at these sizes (most of all in symNMF, and in every second power of
  r), the exponent is nearer to that of the number of entries, n r.
- Ours lie below the orders where a part that does not grow weighs at these sizes: rows that are
  visited whatever they hold, products that BLAS does better the larger they are.
- The paper gives the orders of Algorithms 5 and 6 in its text, and none for symNMF; the one
  here is that of Algorithm 2, whose bookkeeping it shares.
"""


def main(request: Request) -> None:
    """Write table-complexity.csv, .md and .png."""
    algorithms = {**PAPER, **OURS}
    jobs = [
        (name, axis)
        for name, algorithm in algorithms.items()
        for axis in AXES
        if not (algorithm.sparse and axis == AXES[0])
    ]
    cells = [
        {"name": n, "axis": a, "steps": STEPS, "repeats": REPEATS[n], "seed": request.seed}
        for n, a in jobs
    ]
    # One at a time: time is what is measured.
    results = dict(zip(jobs, compute(request, NAME, growth, cells, n_jobs=1), strict=True))
    rows = [
        {"algorithm": name, "axis": axis, "x": x, "seconds": round(seconds, 6), "bytes": size}
        for (name, axis), found in results.items()
        for x, seconds, size in zip(found["x"], found["seconds"], found["bytes"], strict=True)
    ]
    write_csv(request.out / f"{NAME}.csv", rows)
    few, many = REPEATS[next(iter(PAPER))], REPEATS[next(iter(OURS))]
    pieces = [ABOUT.format(steps=STEPS, fitted=STEPS - 1, degree=DEGREE, few=few, many=many)]
    for title, names in (("The paper's algorithms, transcribed", PAPER), ("Ours", OURS)):
        pieces += [f"## {title}", summary(results, names)]
    write_page(request, NAME, "Complexity, measured", pieces)
    draw(request, results)


def summary(results: dict[tuple[str, str], Any], algorithms: dict[str, Any]) -> str:
    """Return a line per algorithm: the slopes of time, then of memory, and the orders."""
    lines = []
    for name, algorithm in algorithms.items():
        line = [name]
        for what, orders in (("seconds", algorithm.time), ("bytes", algorithm.memory)):
            for axis, order in zip(AXES, orders, strict=True):
                found = results.get((name, axis))
                line.append(
                    f"{slope(found['x'][1:], found[what][1:]):.2f} ({order})" if found else ""
                )
        lines.append(line)
    header = [f"{what}: {axis}" for what in ("time", "memory") for axis in AXES]
    return table(["", *header], lines)


def draw(request: Request, results: dict[tuple[str, str], Any]) -> None:
    """Draw time over size, a panel per axis."""
    picture = canvas(13, 4)
    panels = picture.subplots(1, len(AXES))
    for panel, axis in zip(panels, AXES, strict=True):
        for number, name in enumerate({**PAPER, **OURS}):
            found = results.get((name, axis))
            if found:
                style = "--" if name in PAPER else "-"
                colour = f"C{number % len(PAPER)}"
                panel.loglog(found["x"], found["seconds"], style, color=colour, label=name)
        panel.set_xlabel(axis)
        panel.minorticks_off()
    panels[0].set_ylabel("processor seconds")
    handles, names = panels[1].get_legend_handles_labels()
    full = dict(zip(*panels[0].get_legend_handles_labels()[::-1], strict=True))
    full.update(zip(names, handles, strict=True))
    picture.legend(list(full.values()), list(full), loc="outside right upper", fontsize=7)
    save(picture, request, NAME)
