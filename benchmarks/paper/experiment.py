"""What all tables and figures share: cached computations and the files that are written."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Memory, Parallel, delayed
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import odsymnmf
from benchmarks.timing import markdown

COLORS = {"OD-l1": "C3", "OD-l2": "C0", "symNMF": "C2", "ours l1": "C1"}


@dataclass(frozen=True)
class Request:
    """The options of the command."""

    out: Path
    trials: int = 10
    seed: int = 0
    data: Path | None = None
    n_jobs: int = 1

    def command(self, name: str) -> str:
        """Return the command that writes a result, without the names of local directories."""
        data = " --data DIR" if self.data and name in ("all", "table-documents") else ""
        options = f"--trials {self.trials} --seed {self.seed}"
        return f"python -m benchmarks.paper {name} --out DIR{data} {options}"


def compute(
    request: Request,
    function: Callable[..., list[dict[str, Any]]],
    jobs: Sequence[tuple[dict[str, Any], dict[str, Any]]],
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Return the rows of every call, after the labels of the call; jobs are (labels, arguments).

    Results are cached in the output directory, by package version and arguments.
    """
    folder = request.out / "cache" / f"odsymnmf-{odsymnmf.__version__}"
    cached = Memory(folder, verbose=0).cache(function)
    tasks = (delayed(_call)(cached, arguments) for _, arguments in jobs)
    results = Parallel(n_jobs=n_jobs or request.n_jobs, return_as="generator")(tasks)
    progress = tqdm(results, desc=function.__name__, total=len(jobs))
    return pd.DataFrame(
        {**labels, **row} for (labels, _), rows in zip(jobs, progress, strict=True) for row in rows
    )


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call with one BLAS thread, so that the result does not depend on the number of processes."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no convergence")  # the number of sweeps is a setting
        return function(**arguments)


def mean_and_std(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    groups = frame.groupby(by, sort=False)["accuracy"]
    return pd.DataFrame({"mean": groups.mean(), "std": groups.std(ddof=0)}).round(4).reset_index()


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return "\n".join(markdown(header, rows))


def write(
    request: Request,
    result: Callable[[Request], None],
    rows: pd.DataFrame,
    parts: Sequence[str],
    image: Figure,
) -> None:
    """Write NAME.csv, NAME.png and NAME.md: the docstring of the result, the parts, the image."""
    name = result.__name__.replace("_", "-")
    title, _, text = inspect.getdoc(result).partition("\n\n")
    title = title.removesuffix(".")
    command = f"```\n{request.command(name)}\n```"
    page = [f"# {title}", command, text, *parts, f"![{title}]({name}.png)"]
    (request.out / f"{name}.md").write_text("\n\n".join(page) + "\n")
    rows.to_csv(request.out / f"{name}.csv", index=False)
    image.savefig(request.out / f"{name}.png", dpi=120, metadata={"Software": None})


def panels(width: float, height: float, count: int, **options: Any) -> tuple[Figure, Any]:
    """Return an empty figure and its axes, side by side."""
    image = Figure(figsize=(width, height), layout="constrained")
    return image, image.subplots(1, count, **options)
