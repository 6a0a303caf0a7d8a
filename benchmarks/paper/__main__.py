"""Write tables and figures of the paper next to the published numbers: NAME.csv, .md and .png."""

import argparse
import os
from pathlib import Path

from benchmarks.paper.complexity import table_complexity
from benchmarks.paper.documents import document_sets, table_documents
from benchmarks.paper.experiment import Request
from benchmarks.paper.figures import figure_adversarial_noise, figure_init, figure_random_noise
from benchmarks.paper.noise import table_noise

RESULTS = {
    "table-complexity": table_complexity,
    "table-noise": table_noise,
    "figure-random-noise": figure_random_noise,
    "figure-adversarial-noise": figure_adversarial_noise,
    "table-documents": table_documents,
    "figure-init": figure_init,
}
ABOUT = """# Tables and figures of the paper

Published numbers of "Off-diagonal Symmetric Nonnegative Matrix Factorization" (Moutier, Vandaele,
Gillis) next to the numbers computed here. One command writes all of them:

```
{command}
```
"""


def write_all(request: Request) -> None:
    """Write every result, and RESULTS.md with all of them; without document sets, all but one."""
    pages = [ABOUT.format(command=request.command("all"))]
    for name, write in RESULTS.items():
        if name == "table-documents" and not document_sets(request.data):
            pages.append(f"## {name}\n\nLeft out: it needs the document sets (`--data`).\n")
            continue
        write(request)
        lines = (request.out / f"{name}.md").read_text().split("\n")
        pages.append("\n".join(f"#{line}" if line.startswith("#") else line for line in lines))
    (request.out / "RESULTS.md").write_text("\n".join(pages))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    names = [*RESULTS, "all"]
    parser.add_argument("names", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    parser.add_argument("--trials", type=int, default=10, help="random matrices per setting")
    parser.add_argument("--seed", type=int, default=0)
    folder = os.environ.get("ODSYMNMF_DATA")
    parser.add_argument("--data", type=Path, default=folder, help="directory with documents/")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args(arguments)
    if "table-documents" in options.names and not document_sets(options.data):
        parser.error(
            "table-documents needs --data DIR with documents/tr11.npz (documents x words, "
            "scipy.sparse.save_npz) and documents/tr11_labels.npy, and so on"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    request = Request(options.out, options.trials, options.seed, options.data, options.jobs)
    for name in options.names:
        RESULTS.get(name, write_all)(request)


if __name__ == "__main__":
    main()
