"""All tables and figures of the paper, and RESULTS.md, which shows them together."""

from importlib import import_module
from sys import stderr

from odsymnmf.reproduce import PAPER
from odsymnmf.reproduce.cells import Request
from odsymnmf.reproduce.document_sets import MissingDataError
from odsymnmf.reproduce.writing import command

ABOUT = """# The paper's tables and figures

The numbers of "Off-diagonal Symmetric Nonnegative Matrix Factorization" (Moutier, Vandaele, Gillis)
and ours side by side. All of this was written by one command:

```
{command}
```
"""


def main(request: Request) -> None:
    """Write everything; without document sets, all but their table."""
    pages = [ABOUT.format(command=command(request, "all"))]
    for name in PAPER:
        try:
            import_module(f"odsymnmf.reproduce.{name.replace('-', '_')}").main(request)
        except MissingDataError as missing:
            print(f"all: left out: {missing}", file=stderr)
            pages.append(f"## {name}\n\nLeft out: the document sets were not at hand (`--data`).\n")
        else:
            pages.append(section((request.out / f"{name}.md").read_text()))
    (request.out / "RESULTS.md").write_text("\n".join(pages))


def section(page: str) -> str:
    """Return a page as a section: every heading one level down.

    Examples
    --------
    >>> section("# Title\\n\\n## Part\\n")
    '## Title\\n\\n### Part\\n'
    """
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in page.split("\n"))
