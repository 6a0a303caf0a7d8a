"""``python -m tests.soak [names] [--rounds N] [--seconds S] [--seed S]``: print the table.

Without options every line is run in full, which takes hours; ``--seconds 60`` gives each line a
minute. A failure names the line, the seed and the case that bring it back:
``python -m tests.soak NAME --seed SEED --case K``.
"""

import argparse
import sys
import traceback
import warnings

import numpy as np

from .all_lines import LINES
from .lines import run


def main() -> int:
    """Run the lines and print them; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all lines")
    parser.add_argument("--list", action="store_true", help="show the names and end")
    parser.add_argument("--rounds", type=int, help="default: the full figure of each line")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most, for each")
    parser.add_argument("--seed", type=int, help="default: a new one every time")
    parser.add_argument("--case", type=int, help="only this case of the seed, with a traceback")
    options = parser.parse_args()
    # A name stands for all lines that begin with it.
    wanted = {n: l for n, l in LINES.items() if not options.names or n.startswith(tuple(options.names))}
    if options.list or not wanted:
        print("\n".join(f"{name:28}{line.title}" for name, line in LINES.items()))
        return 0 if options.list else 2
    warnings.simplefilter("error")
    seed = options.seed
    if seed is None:
        seed = int(np.random.SeedSequence().entropy % 10**9)
    if options.case is not None:
        for line in wanted.values():
            print(line.once(seed, options.case) or "held")
        return 0
    print(f"Seed {seed}.\n\n| test | rounds | full figure | outcome | seconds |\n|---|---|---|---|---|")
    broken = False
    for name, line in wanted.items():
        outcome = run(line, seed, options.rounds or line.rounds, options.seconds)
        broken |= outcome.broken(line)
        words = ", ".join(f"{word} {count:,}" for word, count in sorted(outcome.words.items()))
        if outcome.failures:
            words += f", **FAILED {len(outcome.failures)}**"
        row = (line.title, f"{outcome.rounds:,}", f"{line.rounds:,}", words, f"{outcome.seconds:.0f}")
        print("|", " | ".join(row), "|", flush=True)
        for k, error in outcome.failures:
            again = f"python -m tests.soak {name} --seed {seed} --case {k}"
            print(f"{again}: {''.join(traceback.format_exception_only(error)).strip()}", file=sys.stderr)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
