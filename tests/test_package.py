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


def test_no_module_has_the_name_of_a_public_function_or_class():
    # Importing such a module would bind it in the place of the function.
    room = Path(odsymnmf.__file__).parent
    modules = {path.stem for path in room.glob("*.py")} | {path.name for path in room.iterdir()}
    homes = {name for name, home in odsymnmf._PUBLIC.items() if home is not None}
    assert not modules & homes


def test_a_task_that_mentions_the_module_can_be_sent_to_another_process(tmp_path):
    script = tmp_path / "task.py"
    script.write_text(
        "from joblib import Parallel, delayed\n"
        "import odsymnmf as od\n"
        "def f(k): return od.__version__\n"
        "if __name__ == '__main__':\n"
        "    found = Parallel(n_jobs=2)(delayed(f)(k) for k in range(2))\n"
        "    print(len(found))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2"]


def test_similarity_and_io_are_public_on_a_fresh_import():
    code = "import odsymnmf as od; print(callable(od.similarity.cosine), callable(od.io.read))"
    assert run(code).split() == ["True", "True"]


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
