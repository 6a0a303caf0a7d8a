import ast
import subprocess
import sys
from pathlib import Path

import pytest

import odsymnmf

HEAVY = {"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "networkx"}
PAPER = Path(odsymnmf.__file__).parent / "paper"


def run(code: str) -> str:
    """Run code in a process that has imported nothing yet."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    )
    return done.stdout


def test_import_loads_nothing_heavy():
    loaded = run("import sys, odsymnmf; print(*{m.partition('.')[0] for m in sys.modules})")
    assert "odsymnmf" in loaded.split()
    assert HEAVY.isdisjoint(loaded.split())


def test_looking_around_loads_nothing_heavy():
    out = run("import sys, odsymnmf; print(*dir(odsymnmf)); print(*sys.modules)")
    names, loaded = out.splitlines()
    assert {*odsymnmf.__all__, "__version__"} <= set(names.split())
    assert HEAVY.isdisjoint(loaded.split())


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert odsymnmf.__version__ == version("odsymnmf")
    assert odsymnmf.__version__[0].isdigit()


def test_unknown_name():
    with pytest.raises(AttributeError, match="has no attribute 'factorise'"):
        _ = odsymnmf.factorise


@pytest.mark.parametrize("name", odsymnmf.__all__)
def test_public_names_are_documented(name):
    public = getattr(odsymnmf, name)
    assert public is getattr(odsymnmf, name)
    assert public.__doc__
    assert len(public.__doc__) > 30


@pytest.mark.parametrize("room", ["datasets", "metrics", "plots"])
def test_public_functions_have_an_example(room):
    module = getattr(odsymnmf, room)
    assert module.__all__
    for name in module.__all__:
        assert ">>>" in getattr(module, name).__doc__, name


def test_a_function_wins_over_the_module_of_the_same_name():
    # Importing the module first would otherwise bind the module to the name.
    out = run(
        "import odsymnmf.factorize, odsymnmf\n"
        "from odsymnmf.factorize import factorize\n"
        "print(odsymnmf.factorize is factorize, callable(odsymnmf.factorize))"
    )
    assert out.split() == ["True", "True"]


def imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports are absolute"
            names.add(node.module)
    return {n if n.startswith("odsymnmf.paper") else n.partition(".")[0] for n in names}


def test_the_executable_paper_needs_numpy_only():
    # import-linter can only forbid packages by name; here everything else is forbidden.
    sources = sorted(PAPER.glob("**/*.py"))
    assert sources
    for path in sources:
        foreign = {
            name
            for name in imported_packages(path)
            if name not in sys.stdlib_module_names
            and name != "numpy"
            and not name.startswith("odsymnmf.paper")
        }
        assert not foreign, f"{path.name} imports {foreign}"
