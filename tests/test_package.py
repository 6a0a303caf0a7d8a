"""Imports, public names and their documentation."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import odsymnmf

HEAVY = {"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "networkx"}
PAPER = Path(odsymnmf.__file__).parent / "paper"


def run(code: str) -> str:
    """Run code in a new process."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_and_dir_load_nothing_heavy_and_modules_are_attributes():
    names, loaded, callables = run(
        "import sys, odsymnmf as od; print(*dir(od)); print(*sys.modules);"
        "print(callable(od.similarity.cosine), callable(od.io.read))"
    ).splitlines()
    assert {*odsymnmf.__all__, "__version__"} <= {*names.split()}
    assert HEAVY.isdisjoint(loaded.split())
    assert callables == "True True"


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert odsymnmf.__version__ == version("odsymnmf")


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'factorise'"):
        _ = odsymnmf.factorise


@pytest.mark.parametrize("name", odsymnmf.__all__)
def test_public_names_are_documented(name):
    assert len(getattr(odsymnmf, name).__doc__) > 30


@pytest.mark.parametrize("module", ["datasets", "metrics", "plots", "memberships"])
def test_public_functions_have_an_example(module):
    public = getattr(odsymnmf, module)
    assert public.__all__
    assert [name for name in public.__all__ if ">>>" not in getattr(public, name).__doc__] == []


def packages():
    yield odsymnmf
    for found in pkgutil.walk_packages(odsymnmf.__path__, "odsymnmf."):
        if found.ispkg:
            yield importlib.import_module(found.name)


def test_no_module_has_the_name_of_a_function_or_class():
    """Importing the module would replace the function."""
    shared = [
        f"{package.__name__}.{module.name}"
        for package in packages()
        for module in pkgutil.iter_modules(package.__path__)
        if not isinstance(getattr(package, module.name, package), ModuleType)
    ]
    assert shared == []


def test_functions_that_use_the_module_can_be_sent_to_another_process(tmp_path):
    script = tmp_path / "task.py"
    script.write_text(
        "from joblib import Parallel, delayed\n"
        "import odsymnmf as od\n"
        "def f(k): return od.__version__\n"
        "if __name__ == '__main__':\n"
        "    print(len(Parallel(n_jobs=2)(delayed(f)(k) for k in range(2))))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2"]


def test_the_executable_paper_imports_numpy_only():
    """import-linter can only forbid packages by name."""
    imported = set()
    for path in sorted(PAPER.glob("**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module)
    foreign = {name for name in imported if not name.startswith("odsymnmf.paper")}
    assert {name.partition(".")[0] for name in foreign} - sys.stdlib_module_names == {"numpy"}
