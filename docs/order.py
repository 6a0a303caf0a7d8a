"""The order of the recipes and of the gallery's pictures; others follow by their names."""

ORDER = (
    "network.py",
    "single_cells.py",
    "texts.py",
    "dataframe.py",
    "matrix.py",
    "memberships.py",
    "graph.py",
    "convergence.py",
    "report.py",
    "paper.py",
)


def position(name: str) -> tuple[int, str]:
    return ORDER.index(name) if name in ORDER else len(ORDER), name
