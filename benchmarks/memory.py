"""Peak memory: of a fit beyond its input, and of a process that clusters many documents."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from scipy import sparse

from benchmarks import problems
from benchmarks.timing import in_new_process, table

# Linux keeps the peak of a process in VmHWM; writing 5 to clear_refs sets it back to what is used.
PEAK = """
import re, sys, warnings
import sklearn.exceptions  # a warning would import it during the fit
import numpy as np
from scipy import sparse
import odsymnmf as od
from odsymnmf.similarity import cosine
warnings.simplefilter("ignore")
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
def forget():
    open("/proc/self/clear_refs", "w").write("5")
"""

FIT = (
    PEAK
    + """
path, r, loss, init = sys.argv[1:]
small = sparse.csr_array(np.ones((4, 4)))
od.factorize(small, 2, loss=loss, init=init, max_iter=2, random_state=0)
A = sparse.csr_array(sparse.load_npz(path))
forget()
before = peak()
od.factorize(A, int(r), loss=loss, init=init, max_iter=5, random_state=0)
allowed = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + 3 * 8 * A.shape[0] * int(r)
print(f"{(peak() - before) / allowed:.2f}")
"""
)

DOCUMENTS = (
    PEAK
    + """
path, r = sys.argv[1:]
X = sparse.load_npz(path)
od.factorize(cosine(X), int(r), init="spectral", max_iter=10, random_state=0)
print(f"{peak() / 1e9:.2f} GB")
"""
)


def fits() -> Iterator[tuple[str, str, str]]:
    A, _ = problems.shuffled(*problems.planted(50_000, 10**6, 50))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "A.npz"
        sparse.save_npz(path, A)
        for loss, init in [("l2", "random"), ("l2", "greedy"), ("l1", "greedy")]:
            measured = in_new_process(FIT, str(path), "50", loss, init)
            title = f"{loss}, {init} start, n = 50,000, {A.nnz:,} stored, r = 50"
            yield title, "<= 1.3 x (CSR arrays + 3 n r values)", measured


def documents(data: Path | None) -> Iterator[tuple[str, str, str]]:
    for name, r in [("wordnet_gloss", 45), ("ohscal", 10)]:
        path = data / "documents" / f"{name}.npz" if data else None
        there = path is not None and path.exists()
        measured = in_new_process(DOCUMENTS, str(path), str(r)) if there else "needs --data"
        yield f"l2 Gram, {name}, r = {r}, whole process", "< 1.5 GB", measured


def main(data: Path | None) -> None:
    def rows() -> Iterator[tuple[str, str, str]]:
        yield from fits()
        yield from documents(data)

    table("Peak memory", ["case", "goal", "measured"], rows())
