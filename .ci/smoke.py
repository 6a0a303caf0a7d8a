"""Install a wheel into a clean environment and use it: ``python .ci/smoke.py dist/*.whl``."""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

LIBRARY = """
import odsymnmf as od

A, H = od.datasets.cliques([4, 3])
f = od.factorize(A, 2, loss="l1")
assert f.objective == 0, f
assert od.ODSymNMF(2).fit(A).labels_.tolist() == [0] * 4 + [1] * 3
print("odsymnmf", od.__version__, "from", od.__file__)
"""

Run = Callable[..., str]


def environment(home: Path) -> Run:
    """Make a new environment; return what runs a command of it in an otherwise empty folder."""
    venv.create(home / "env", with_pip=True)
    bin = home / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(command: str, *arguments: object) -> str:
        print("+", command, *(str(part).replace(str(home), "~") for part in arguments), flush=True)
        done = subprocess.run(
            [bin / command, *map(str, arguments)],
            cwd=home,
            env={**known, "MPLBACKEND": "Agg"},
            check=True,
            stdout=subprocess.PIPE,
        )
        return done.stdout.decode()

    return run


def install(run: Run, wheel: Path, extra: str = "") -> None:
    wanted = f"odsymnmf[{extra}] @ {wheel.as_uri()}" if extra else wheel
    run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted)


def library_and_command(home: Path, wheel: Path) -> None:
    run = environment(home)
    install(run, wheel)
    (home / "library.py").write_text(LIBRARY, encoding="utf-8")
    shown = run("python", "library.py")
    assert str(home) in shown, f"another odsymnmf was imported: {shown}"
    install(run, wheel, "cli")
    run("odsymnmf", "info")
    (home / "graph.csv").write_text("a,b\nb,c\na,c\nc,d\nd,e\ne,f\nd,f\n", encoding="utf-8")
    print(run("odsymnmf", "cluster", "graph.csv", "-r", 2, "-o", "run"))
    assert (home / "run" / "report.html").exists()


def main(path: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        library_and_command(Path(directory).resolve(), Path(path).resolve())
    print(f"{Path(path).name} works in a clean environment")


if __name__ == "__main__":
    main(sys.argv[1])
