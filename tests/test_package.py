"""Imports, public names and their documentation."""

import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import pytest

import odsymnmf

HEAVY = {"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "networkx"}


def run(code: str) -> str:
    """Run code in a new process."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_names_version_and_lazy_imports():
    names, loaded, callables = run(
        "import sys, odsymnmf as od; print(*dir(od)); print(*sys.modules);"
        "print(callable(od.similarity.cosine), callable(od.io.read))"
    ).splitlines()
    assert {*odsymnmf.__all__, "__version__"} == {*names.split()}
    assert HEAVY.isdisjoint(loaded.split())
    assert callables == "True True"
    assert odsymnmf.__version__ == version("odsymnmf")
    with pytest.raises(AttributeError, match="has no attribute 'factorise'"):
        _ = odsymnmf.factorise


def test_factorize_does_not_import_scikit_learn():
    code = "import sys, odsymnmf as od; od.factorize([[0, 1], [1, 0]], 1)"
    assert run(f"{code}; print('sklearn' in sys.modules)").strip() == "False"


def packages():
    yield odsymnmf
    for module in pkgutil.walk_packages(odsymnmf.__path__, "odsymnmf."):
        if module.ispkg:
            yield importlib.import_module(module.name)


def test_no_module_has_the_name_of_a_function_or_class():
    """Importing the module would replace the function."""
    shared = [
        f"{package.__name__}.{module.name}"
        for package in packages()
        for module in pkgutil.iter_modules(package.__path__)
        if not isinstance(getattr(package, module.name, package), ModuleType)
    ]
    assert shared == []
