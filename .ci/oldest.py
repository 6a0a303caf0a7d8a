"""Print the oldest supported version of every package that users need, as constraints for pip.

python .ci/oldest.py > constraints.txt     the lower bounds of pyproject.toml, each as ==
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
# What only developers need may be as new as it likes.
TOOLS = {"dev", "docs", "integrations", "bench"}
BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[\w+\])?>=([0-9.]+)")
# What the oldest versions need without saying so: Matplotlib 3.8 calls what pyparsing deprecates.
BESIDES = ["pyparsing<3.3"]


def constraints() -> list[str]:
    """Return name==version for every lower bound of the package and of its extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra, packages in project["optional-dependencies"].items():
        wanted += [] if extra in TOOLS else packages
    bounds = [BOUND.match(package) for package in wanted]
    return sorted({f"{found[1]}=={found[2]}" for found in bounds if found}) + BESIDES


if __name__ == "__main__":
    print("\n".join(constraints()))
