"""The process of `benchmarks.against` that fits settings with the odsymnmf on its path.

Reads a setting per line (JSON) from standard input and writes a line of JSON for each. Problems are
made with NumPy and SciPy, and only public names are used, so that any two versions can be compared.
"""

import hashlib
import inspect
import json
import sys
import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

import odsymnmf as od

# n, clusters, neighbors or words per item; large problems are for the time of a sweep.
SIZES = {
    "dense": (400, 6, 0),
    "sparse": (3000, 10, 24),
    "documents": (1000, 8, 40),
    "features": (800, 6, 30),
    "points": (600, 5, 4),
    "communities": (2000, 200, 16),
    "large dense": (2500, 12, 0),
    "large sparse": (50_000, 50, 20),
    "large documents": (6000, 20, 60),
}
# Fits that take less CPU time are repeated within a measurement.
SHORT = 0.1


def graph(n: int, r: int, degree: int, rng: np.random.Generator) -> Any:
    """Return a graph with values from 0.5 to 1.5; item i is in cluster i mod r."""
    i = rng.integers(n, size=n * degree // 2)
    inside = (i + r * rng.integers(n // r, size=len(i))) % n
    j = np.where(rng.random(len(i)) < 0.8, inside, rng.integers(n, size=len(i)))
    i, j = i[i != j], j[i != j]
    A = sparse.csr_array((0.5 + rng.random(len(i)), (i, j)), shape=(n, n))
    return sparse.csr_array(A.maximum(A.T))


def counts(n: int, r: int, words: int, rng: np.random.Generator) -> Any:
    """Return word counts; document i has words of topic i mod r and others."""
    i = np.repeat(np.arange(n), words)
    topic = (i % r) + r * np.minimum(rng.geometric(0.02, size=len(i)), 200)
    j = np.where(rng.random(len(i)) < 0.6, topic, rng.integers(201 * r, size=len(i)))
    return sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, 201 * r))


@lru_cache
def data(name: str, dtype: str) -> Any:
    """Return similarities, or for documents, features and points one row per item."""
    n, r, degree = SIZES[name]
    rng = np.random.default_rng(0)
    kind = name.removeprefix("large ")
    if kind == "dense":
        H = rng.random((n, r)) * (rng.random((n, r)) < 0.3)
        noise = rng.exponential(0.1, size=(n, n))
        A: Any = H @ H.T + (noise + noise.T) / 2
    elif kind == "documents":
        A = counts(n, r, degree, rng)
    elif kind == "features":
        A = rng.random((n, degree)) * (rng.random((n, degree)) < 0.3)
    elif kind == "points":
        A = 3 * rng.standard_normal((r, degree))[np.arange(n) % r]
        A += rng.standard_normal((n, degree))
    else:
        A = graph(n, r, degree, rng)
    return A.astype(dtype)


def similarity(name: str, dtype: str, weights: str | None) -> tuple[Any, dict[str, Any]]:
    """Return the similarities, and the options with the weights of pairs."""
    A = data(name, dtype)
    n, rng = A.shape[0], np.random.default_rng(1)
    square = A.shape[1] == n
    pairs = graph(n, 1, 8, rng).astype(dtype)
    if weights == "unknown" and square:
        A = A + pairs * np.nan if sparse.issparse(A) else np.where(pairs.toarray(), np.nan, A)
    if "documents" in name:
        A = od.similarity.cosine(A)
    elif name == "features":
        A = od.similarity.gram(A)
    if weights == "zero_weight":
        return A, {"zero_weight": 0.2}
    if weights == "matrix" and name == "dense":
        full = rng.random((n, n)) + 0.2
        return A, {"weights": (full + full.T).astype(dtype)}
    if weights == "matrix" or (weights == "unknown" and not square):
        pairs.data *= weights == "matrix"
        return A, {"weights": pairs}
    return A, {}


def initial(init: str, n: int, r: int, dtype: str) -> Any:
    """Return the initial memberships, or ``init`` itself if it is the name of an initialization."""
    rng = np.random.default_rng(2)
    labels = np.where(rng.random(n) < 0.8, np.arange(n) % r, rng.integers(r, size=n))
    one_hot = sparse.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, r))
    if init == "array":
        return (rng.random((n, r)) / np.sqrt(r)).astype(dtype)
    if init == "csr":
        return one_hot.astype(dtype)
    if init == "sets":
        return [column.indices for column in one_hot.T.tocsr()]
    return labels if init == "labels" else init


def fit_function(setting: dict[str, Any]) -> tuple[Any, Any]:
    """Return a function that fits, and one that extracts the results from the fit."""
    options = dict(setting["options"])
    name, dtype, r = setting["data"], setting["dtype"], setting["r"]
    estimator = setting["estimator"]
    A, weights = similarity(name, dtype, setting["weights"])
    call = getattr(od, estimator) if estimator else od.factorize
    if "sparse_membership" in options and "memberships" in inspect.signature(call).parameters:
        # The name in older checkouts.
        options["memberships"] = "sparse" if options.pop("sparse_membership") else "full"
    if "init" in options:
        options["init"] = initial(options["init"], SIZES[name][0], r, dtype)
    if not estimator:
        A = od.similarity.as_similarity(A, **weights)
        return lambda: call(A, r, **options), lambda f: (f.H, f.objective, f.n_iter, [])
    if "zero_weight" in weights:
        options |= weights
        weights = {}
    rows = data(name, dtype)
    X = rows if "affinity" in options else A

    def results(m: Any) -> tuple[Any, float, int, list[int]]:
        return m.membership_, m.objective_, m.n_iter_, [*m.labels_, *m.predict(rows[:50])]

    return lambda: call(r, **options).fit(X, **weights), results


def digest(H: Any) -> str:
    """Return a hash of the entries of H that does not depend on the type of the indices."""
    parts = [np.array(H.shape)]
    if sparse.issparse(H):
        H = sparse.csr_array(H)
        H.sort_indices()
        parts += [H.indptr.astype(np.int64), H.indices.astype(np.int64), H.data]
    else:
        parts.append(np.ascontiguousarray(H))
    joined = b"".join(p.tobytes() for p in parts)
    return f"{H.dtype} {hashlib.sha256(joined).hexdigest()}"


def main() -> None:
    warnings.simplefilter("ignore")
    fits: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for line in sys.stdin:
        answer: dict[str, Any] = {}
        try:
            if line not in fits:
                fits[line] = fit_function(json.loads(line))
            fit, results = fits[line]
            count = counts.get(line, 1)
            begin = time.process_time()
            for _ in range(count):
                fitted = fit()
            answer["seconds"] = (time.process_time() - begin) / count
            # The first fit compiles; later short ones are repeated.
            counts[line] = max(1, int(SHORT / answer["seconds"])) if line in counts else 1
            H, objective, n_iter, labels = results(fitted)
            answer |= {"H": digest(H), "objective": float(objective), "n_iter": int(n_iter)}
            answer["labels"] = [int(label) for label in labels]
        except Exception as error:
            answer["error"] = " ".join(f"{type(error).__name__}: {error}".split())
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
