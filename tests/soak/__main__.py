"""``python -m tests.soak [names] [--rounds N] [--seconds S] [--seed S]``: print the table.

Without options every line is run in full, which takes hours; ``--seconds 60`` gives each line a
minute. With ``--log FILE --seed S`` the hours can be spent in pieces: each goes on where the file
says that the last one ended, and tries anew what failed; ``--table`` prints what there is. A
failure names the line, the seed and the case that bring it back:
``python -m tests.soak NAME --seed SEED --case K``.
"""

import argparse
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from . import ledger
from .all_lines import LINES
from .lines import Line, Outcome, run

# Seconds between two entries in the log.
PIECE = 60.0


def arguments() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("names", nargs="*", help="lines that begin so (default: all)")
    parser.add_argument("--list", action="store_true", help="show the names and end")
    parser.add_argument("--rounds", type=int, help="default: the full figure of each line")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most, for each")
    parser.add_argument("--total", type=float, default=float("inf"), help="at most, for all")
    parser.add_argument("--seed", type=int, help="default: a new one every time")
    parser.add_argument("--log", type=Path, help="go on from this file, and write to it")
    parser.add_argument("--table", action="store_true", help="run nothing: print the log")
    parser.add_argument("--case", type=int, help="only this case of the seed, with a traceback")
    return parser.parse_args()


def main() -> int:
    """Run the lines and print them; return 1 if a promise was broken."""
    options = arguments()
    begin = tuple(options.names) or ""
    wanted = {name: line for name, line in LINES.items() if name.startswith(begin)}
    if options.list or not wanted:
        print("\n".join(f"{name:28}{line.title}" for name, line in LINES.items()))
        return 0 if options.list else 2
    warnings.simplefilter("error")
    seed = options.seed
    if seed is None:
        if options.log:
            raise SystemExit("--log needs the --seed that its cases belong to.")
        seed = int(np.random.SeedSequence().entropy % 10**9)
    if options.case is not None:
        for line in wanted.values():
            with line.within():
                print(line.once(seed, options.case) or "held")
        return 0
    print(f"Seed {seed}.\n\n| test | rounds | full figure | outcome | seconds |")
    print("|---|---|---|---|---|", flush=True)
    done = ledger.read(options.log, seed) if options.log else {}
    if options.table:
        seen = [name for name in wanted if name in done]
        broken = [show(name, wanted[name], done[name], seed) for name in seen]
        return int(any(broken))
    broken, end = False, time.monotonic() + options.total
    for name, line in wanted.items():
        before, rounds = done.get(name, Outcome.none()), options.rounds or line.rounds
        seconds = min(options.seconds, end - time.monotonic())
        if (before.rounds >= rounds and not before.failures) or seconds <= 0:
            continue
        outcome = in_pieces(name, line, seed, rounds, seconds, before, options.log)
        broken |= show(name, line, outcome, seed)
    return int(broken)


def in_pieces(
    name: str,
    line: Line,
    seed: int,
    rounds: int,
    seconds: float,
    before: Outcome,
    log: Path | None,
) -> Outcome:
    """Run a line, and write down now and then how far it is."""
    end = time.monotonic() + seconds
    while True:
        piece = min(PIECE, end - time.monotonic()) if log else seconds
        before = run(line, seed, rounds, piece, before)
        if log:
            ledger.update(log, seed, {name: before})
        if not log or before.ended(rounds) or time.monotonic() >= end:
            return before


def show(name: str, line: Line, outcome: Outcome, seed: int) -> bool:
    """Print a line of the table, and what failed; say whether the promise was broken."""
    words = [f"{word} {count:,}" for word, count in sorted(outcome.words.items())]
    if outcome.failures:
        words.append(f"**failed {len(outcome.failures)}**")
    counts = f"{outcome.rounds:,} | {line.rounds:,} | {', '.join(words)}"
    print(f"| {line.title} | {counts} | {outcome.seconds:.0f} |", flush=True)
    for k, error in outcome.failures:
        reason = "".join(traceback.format_exception_only(error)).strip()
        again = f"python -m tests.soak {name} --seed {seed} --case {k}"
        print(f"{again}: {reason}", file=sys.stderr, flush=True)
    return outcome.broken(line)


if __name__ == "__main__":
    sys.exit(main())
