"""The document sets: where they are, how they are read, and one fit of one of them."""

import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.run import Sweep
from odsymnmf.factorization import factorize
from odsymnmf.memberships import labels
from odsymnmf.metrics import label_accuracy
from odsymnmf.paper.algorithm_6 import greedy_init
from odsymnmf.reproduce.readings import ENGINE
from odsymnmf.similarity import cosine


class MissingDataError(ValueError):
    """The document sets are not at hand."""


def available(data: Path | None, names: list[str]) -> dict[str, str]:
    """Return the sets that are at hand, each with a digest of its files."""
    if data is None:
        raise MissingDataError(
            "table-documents needs the document sets: name their directory with --data DIR or "
            "ODSYMNMF_DATA. It has documents/tr11.npz (documents x words, scipy.sparse.save_npz) "
            "and documents/tr11_labels.npy, and so on."
        )
    found = {}
    for name in names:
        files = [data / "documents" / f"{name}{end}" for end in (".npz", "_labels.npy")]
        if all(file.is_file() for file in files):
            content = b"".join(file.read_bytes() for file in files)
            found[name] = hashlib.sha256(content).hexdigest()
    if not found:
        raise MissingDataError(
            f"there is none of the document sets {', '.join(names)} in {data / 'documents'}; "
            "each is NAME.npz and NAME_labels.npy."
        )
    return found


def read(data: str, name: str) -> tuple[sparse.csr_array, Array]:
    """Return the word counts (documents x words) and the class of each document."""
    file = Path(data) / "documents" / f"{name}.npz"
    try:
        X = sparse.csr_array(sparse.load_npz(file)).astype(np.float64)
        classes = np.load(file.with_name(f"{name}_labels.npy"))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise ValueError(f"{file} or its labels cannot be read: {error}") from error
    if X.shape[0] != len(classes):
        raise ValueError(f"{file} has {X.shape[0]} documents, but {len(classes)} labels.")
    return X, classes


def weighted(X: sparse.csr_array, words: str) -> sparse.csr_array:
    """Return the counts of all words, of those not in every document, or times their rarity."""
    n = X.shape[0]
    documents = np.bincount(X.indices, minlength=X.shape[1])
    if words == "not in every document":
        return X[:, documents < n]
    if words == "idf":
        return X * np.log(n / np.maximum(documents, 1))
    return X


def formed(X: sparse.csr_array) -> Array:
    """Return X X^T in full: l1 asks for all of it in every sweep."""
    A = np.empty((X.shape[0], X.shape[0]))
    for start in range(0, len(A), 1024):
        A[start : start + 1024] = (X[start : start + 1024] @ X.T).toarray()
    return A


def read_labels(H: Array) -> dict[str, Array]:
    """Return the labels: largest entry of H, or of H with its columns scaled.

    A row of zeros has none; "zeros first" puts it in the first cluster, as MATLAB's max does.
    """
    unit, share = np.linalg.norm(H, axis=0), H.sum(axis=0)
    scaled = {
        "H": H,
        "unit columns": H / np.where(unit > 0, unit, 1),
        "columns of sum 1": H / np.where(share > 0, share, 1),
    }
    found = {name: labels(S) for name, S in scaled.items()}
    return {**found, "H, zeros first": H.argmax(axis=1)}


def document_fit(
    name: str,
    digest: str,
    method: str,
    seed: int,
    checkpoints: list[int],
    order: str,
    words: str,
    upper: float | None,
    start: str,
    *,
    data: str,
) -> dict[str, Any]:
    """Return how well a method finds the classes of one set, after each number of sweeps."""
    X, classes = read(data, name)
    if order == "shuffled":
        places = np.random.default_rng(seed).permutation(len(classes))
        X, classes = X[places], classes[places]
    r = len(np.unique(classes[classes >= 0]))
    everywhere = int(np.sum(np.bincount(X.indices, minlength=X.shape[1]) == len(classes)))
    begun = time.process_time()
    similarity: Any = cosine(weighted(X, words))
    options = dict(ENGINE[method])
    if method != "symNMF":
        options["upper"] = upper
    if method == "OD-l1" or start == "the paper's":
        similarity = formed(similarity.X)
    after: dict[str, Any] = {}

    def record(H: Array, sweeps: int) -> None:
        scores = {n: label_accuracy(found, classes) for n, found in read_labels(H).items()}
        after[str(sweeps)] = {"accuracy": scores, "seconds": time.process_time() - begun}

    def look(state: Sweep) -> None:
        if state.n_iter in checkpoints:
            record(state.H, state.n_iter)

    if start == "the paper's":
        bound = np.inf if upper is None else upper
        H = greedy_init(similarity, r, 1 if method == "OD-l1" else 2, upper=bound)
    else:
        H = factorize(similarity, r, init="greedy", max_iter=0, **options).H
    record(H, 0)
    result = factorize(similarity, r, init=H, max_iter=checkpoints[-1], callback=look, **options)
    for sweeps in checkpoints:
        if str(sweeps) not in after:  # it had converged by then
            record(result.H, sweeps)
    return {
        "n_iter": result.n_iter,
        "unassigned": int(np.sum(labels(result.H) < 0)),
        "words in every document": everywhere,
        "after": after,
    }
