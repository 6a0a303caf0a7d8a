"""Install a wheel into a clean environment, and use it there: python .ci/smoke.py dist/*.whl"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LIBRARY = """
import odsymnmf as od

A, H = od.datasets.cliques([4, 3])
found = od.factorize(A, 2, loss="l1")
assert found.objective == 0, found
assert od.ODSymNMF(2).fit(A).labels_.tolist() == [0] * 4 + [1] * 3
print("odsymnmf", od.__version__, "from", od.__file__)
"""


def main(wheel: str) -> None:
    path = Path(wheel).resolve()
    with tempfile.TemporaryDirectory() as home:
        venv.create(Path(home, "env"), with_pip=True)
        bin = Path(home, "env", "Scripts" if sys.platform == "win32" else "bin")

        def run(*command: object) -> str:
            # From an empty folder, so that nothing but the wheel can be imported.
            print("+", *(str(part).replace(home, "~") for part in command), flush=True)
            done = subprocess.run(
                [str(part) for part in command], cwd=home, check=True, stdout=subprocess.PIPE
            )
            return done.stdout.decode()

        quiet = ["--quiet", "--disable-pip-version-check"]
        run(bin / "python", "-m", "pip", "install", *quiet, path)
        Path(home, "library.py").write_text(LIBRARY, encoding="utf-8")
        shown = run(bin / "python", "library.py")
        assert home in shown, f"another odsymnmf was imported: {shown}"
        run(bin / "python", "-m", "pip", "install", *quiet, f"odsymnmf[cli] @ {path.as_uri()}")
        run(bin / "odsymnmf", "info")
        Path(home, "graph.csv").write_text("a,b\nb,c\na,c\nc,d\nd,e\ne,f\nd,f\n", encoding="utf-8")
        print(run(bin / "odsymnmf", "cluster", "graph.csv", "-r", 2, "-o", "run"))
        assert Path(home, "run", "report.html").exists()
    print(f"{path.name} works in a clean environment")


if __name__ == "__main__":
    main(sys.argv[1])
