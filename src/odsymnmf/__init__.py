"""Off-diagonal symmetric nonnegative matrix factorization.

Find H >= 0 (n x r) such that A_ij ~ (H H^T)_ij for every pair i != j of n items with similarities
A. The diagonal of A is never looked at. The rows of H are soft, overlapping memberships.

The public names are loaded when first used, so that ``import odsymnmf`` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odsymnmf import choose as choose
    from odsymnmf import datasets as datasets
    from odsymnmf import distributed as distributed
    from odsymnmf import graphs as graphs
    from odsymnmf import inputs as inputs
    from odsymnmf import io as io
    from odsymnmf import memberships as memberships
    from odsymnmf import metrics as metrics
    from odsymnmf import plots as plots
    from odsymnmf import report as report
    from odsymnmf import scanpy as scanpy
    from odsymnmf import similarity as similarity
    from odsymnmf.estimators import ODSymNMF as ODSymNMF
    from odsymnmf.estimators import SymNMF as SymNMF
    from odsymnmf.factorization import factorize as factorize
    from odsymnmf.factorization import objective as objective
    from odsymnmf.fit import Factorization as Factorization
    from odsymnmf.persistence import load as load

    __version__: str

# Public name -> the module it comes from; None: the name is a module itself. A new public name is
# one line here, and one above for type checkers and editors. No module has the name of a function,
# or importing it would bind the module in the function's place.
_PUBLIC: dict[str, str | None] = {
    "Factorization": "fit",
    "ODSymNMF": "estimators",
    "SymNMF": "estimators",
    "choose": None,
    "datasets": None,
    "distributed": None,
    "factorize": "factorization",
    "graphs": None,
    "inputs": None,
    "io": None,
    "load": "persistence",
    "memberships": None,
    "metrics": None,
    "objective": "factorization",
    "plots": None,
    "report": None,
    "scanpy": None,
    "similarity": None,
}

__all__ = list(_PUBLIC)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:  # imported from a source tree that was never installed
        return "0+unknown"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _PUBLIC:
        home = _PUBLIC[name]
        module = importlib.import_module(f"{__name__}.{home or name}")
        value = getattr(module, name) if home else module
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, "__version__"])
