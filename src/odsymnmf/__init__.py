"""Off-diagonal symmetric nonnegative matrix factorization.

Find H >= 0 (n x r) such that A_ij ~ (H H^T)_ij for every pair i != j of n items with similarities
A. The diagonal of A is ignored. The rows of H are soft, overlapping memberships.

Public names are loaded when first used: ``import odsymnmf`` loads neither NumPy nor SciPy.
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

# The module of each public class and function. A new public name needs one line here or in
# _MODULES, and one above for type checkers. No module may have the name of a function: importing
# it would replace the function.
_MODULE_OF = {
    "Factorization": "fit",
    "ODSymNMF": "estimators",
    "SymNMF": "estimators",
    "factorize": "factorization",
    "load": "persistence",
    "objective": "factorization",
}
_MODULES = {"choose", "datasets", "distributed", "graphs", "inputs", "io"}
_MODULES |= {"memberships", "metrics", "plots", "report", "scanpy", "similarity"}

__all__ = sorted({*_MODULE_OF, *_MODULES})


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version(__name__)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    elif name in _MODULE_OF:
        value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
