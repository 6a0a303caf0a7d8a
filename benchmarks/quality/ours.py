"""Settings of the library: how A is scaled, bounded and started, and how labels are read.

What the library offers under a name is called by it; what a search tried beyond that is written
out here, in plain NumPy.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

import odsymnmf as od
from odsymnmf import memberships, similarity
from odsymnmf.engine.starts import fitted

# Accuracy of the eigenvectors that a start is made of; 1e-2 costs NMI on graphs in many pieces.
TOLERANCE = 1e-3


class Setting(NamedTuple):
    """One way to fit and read.

    regular : t in s_i = 1 / sqrt(d_i + t mean(d)), A scaled to s_i A_ij s_j; None: A as it is
    bound : (a, b) in upper = 1 / sqrt(max(a, n / (b r))); None: no bound
    start : "spectral" (eigenvectors to TOLERANCE), or a name that ``factorize`` knows
    settle : how labels settle: "links", to where a block model puts them (not if A has negatives),
        "mean", to the cluster that is most similar on average, or None
    background : whether d_i d_j / sum(d), what any two items have in common, is taken off A_ij
        (formed in full here; as a product, it is one more column of X with a negative sign)
    """

    regular: float | None = 0.25
    bound: tuple[float, float] | None = (6, 5)
    start: str = "spectral"
    settle: str | None = "links"
    restarts: int = 0
    background: bool = False

    def __str__(self) -> str:
        scale = "as it is" if self.regular is None else f"degree, t = {self.regular}"
        bound = "" if self.bound is None else f", bound {self.bound}"
        more = ", background taken off" if self.background else ""
        more += {"links": ", settled", "mean": ", settled by mean", None: ""}[self.settle]
        more += f", {self.restarts} rounds of restarts" if self.restarts else ""
        return f"{scale}{bound}, {self.start}{more}"


TODAY = Setting(None, None, "greedy", settle=None)
GRAPH = Setting()
KERNEL = Setting(settle=None)
TEXT = Setting(1.0, settle="mean")
SIGNED = Setting(settle="mean")


def library(family: str) -> Any:
    """Return the default of the library as a method: similarities (or words) and r to labels."""
    affinity = "cosine" if family == "documents" else "precomputed"
    return lambda X, r: od.ODSymNMF(r, affinity=affinity).fit_predict(X)


def default(family: str) -> Setting:
    """Return what the search found, by kind of input: `library` is to do the same."""
    return {"documents": TEXT, "kernels": KERNEL, "signed": SIGNED}.get(family, GRAPH)


def degrees(A: similarity.Similarity, X: Any) -> Any:
    """Return sum_{j != i} |A_ij|; for documents A_ij >= 0."""
    if isinstance(A, similarity.Gram):
        return np.maximum(A.product(np.ones(A.n)), 0.0)
    magnitude = abs(X)
    own = magnitude.diagonal() if sparse.issparse(X) else np.diag(magnitude)
    return np.asarray(magnitude.sum(axis=1)).ravel() - own


def scaled(X: Any, family: str, t: float | None, background: bool = False) -> similarity.Similarity:
    """Return the similarities s_i A_ij s_j of a graph, a kernel, or documents by words."""
    A = similarity.gram(X) if family == "documents" else similarity.as_similarity(X)
    d = degrees(A, X)
    if background:
        full = (X @ X.T).toarray() if family == "documents" else np.array(A.product(np.eye(A.n)))
        A = similarity.as_similarity(full - np.outer(d, d) / d.sum())
    if t is None:
        return A
    s = d + t * d.mean()
    s = np.divide(1.0, np.sqrt(s), out=np.zeros_like(s), where=s > 0)
    return A.scaled_by(s)


def upper(n: int, r: int, bound: tuple[float, float] | None) -> float | None:
    return None if bound is None else 1 / np.sqrt(max(bound[0], n / (bound[1] * r)))


def spectral(A: similarity.Similarity, r: int) -> Any:
    """Return the spectral start from eigenvectors in double precision."""
    return rotated(A, eigenvectors(A, r))


def rotated(A: similarity.Similarity, V: Any) -> Any:
    pivots = linalg.qr(V.T, mode="r", pivoting=True)[1][: V.shape[1]]
    left, _, right = linalg.svd(V[pivots].T)
    H = V @ (left @ right)
    H[np.abs(H).max(axis=0) * 1e-6 >= H] = 0.0
    return fitted(A, H)


def eigenvectors(A: similarity.Similarity, r: int) -> Any:
    """Return those of the r largest eigenvalues of A with a zero diagonal, largest first."""
    if A.n <= max(2 * r + 1, 100):
        return linalg.eigh(A.product(np.eye(A.n)))[1][:, ::-1][:, :r]
    operator = sparse.linalg.LinearOperator((A.n, A.n), matvec=A.product, dtype=np.float64)
    v0 = np.random.default_rng(0).uniform(size=A.n)
    values, V = eigsh(operator, k=r, which="LA", v0=v0, tol=TOLERANCE)
    return V[:, np.argsort(-values)]


def fit(X: Any, r: int, family: str, setting: Setting, **options: Any) -> od.Factorization:
    A = scaled(X, family, setting.regular, setting.background)
    bound = upper(A.n, r, setting.bound)
    H: Any = setting.start
    if H == "spectral":
        H = np.minimum(spectral(A, r), np.inf if bound is None else bound)
    return od.factorize(
        A, r, init=H, upper=bound, restarts=setting.restarts, random_state=0, **options
    )


def settled(X: Any, labels: Any, r: int, family: str, rounds: int = 10) -> Any:
    """Move items to the group where a degree-corrected block model has them most likely.

    With k_il the similarity of item i to group l, W and v what groups share and have in all, and
    omega_lm = (W_lm + 1) / (v_l v_m / sum(v) + 1), item i goes to the group l with the largest
    sum_m k_im log(omega_lm) - d_i sum_m v_m omega_lm / sum(v); all at once, until none moves.
    An item in no group goes to one, unless nothing is similar to it.
    """

    def worth(K: Any, Z: Any, d: Any) -> Any:
        W, v = Z.T @ K, Z.T @ d
        omega = (W + 1) / (np.outer(v, v) / v.sum() + 1)
        return K @ np.log(omega).T - np.outer(d, omega @ v / v.sum())

    return _moved(X, labels, r, family, rounds, worth)


def settled_by_mean(X: Any, labels: Any, r: int, family: str, rounds: int = 10) -> Any:
    """Move items to the group whose other members are most similar on average, all at once."""

    def worth(K: Any, Z: Any, d: Any) -> Any:
        return K / np.maximum(Z.sum(axis=0) - Z, 1e-9)

    return _moved(X, labels, r, family, rounds, worth)


def _moved(X: Any, labels: Any, r: int, family: str, rounds: int, worth: Any) -> Any:
    """Move items to the group that is worth most, given K = A Z, groups Z and degrees."""
    A = scaled(X, family, None)
    d = degrees(A, X)
    items, labels = np.arange(A.n), labels.copy()
    for _ in range(rounds):
        Z = np.zeros((A.n, r))
        Z[items[labels >= 0], labels[labels >= 0]] = 1.0
        found = worth(A.product(Z), Z, d)
        found[items[labels >= 0], labels[labels >= 0]] += 1e-9 * d[labels >= 0]  # ties: stay
        moved = np.where(d > 0, found.argmax(axis=1), labels)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels


def cluster(X: Any, r: int, family: str, setting: Setting) -> Any:
    labels = memberships.labels(fit(X, r, family, setting).H)
    if setting.settle == "mean":
        return settled_by_mean(X, labels, r, family)
    settle = setting.settle == "links" and family != "signed"
    return settled(X, labels, r, family) if settle else labels


def named(family: str, setting: Setting) -> Any:
    """Return a method: similarities and r to labels."""
    return partial(cluster, family=family, setting=setting)
