"""How texts are best turned into words to count: NMI with known groups, for the defaults of
``odsymnmf cluster --text``.

The texts ship with Python packages: the docstrings of a package, grouped by its subpackages. With a
data directory, the counts of document sets too (their words are stems, some of them left out).

    python -m benchmarks.texts [DATA]
"""

import ast
import importlib.util
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.timing import table
from odsymnmf import ODSymNMF

PACKAGES = ("sklearn", "scipy", "networkx", "pandas", "matplotlib", "statsmodels", "sympy")
DOCUMENTS = ("classic", "hitech", "k1b", "la1", "reviews", "tr11", "tr23", "tr41", "tr45")
# Letters that a docstring must have, texts that a group must have, texts of a group that are used.
SHORTEST, LEAST, MOST = 300, 20, 40
# Texts that are used of a document set.
SAMPLE = 800

PLAIN: dict[str, Any] = {}
STOP = {"stop_words": "english"}
ROOT = {"sublinear_tf": True}
WORDS: dict[str, dict[str, Any]] = {
    "tf-idf": PLAIN,
    "stop words": STOP,
    "stop words, sublinear tf": STOP | ROOT,
    "sublinear tf, max_df 0.5, min_df 2": ROOT | {"max_df": 0.5, "min_df": 2},
    "sublinear tf, max_df 0.2, min_df 2": ROOT | {"max_df": 0.2, "min_df": 2},
    "stop words, sublinear tf, max_df 0.5, min_df 2": STOP | ROOT | {"max_df": 0.5, "min_df": 2},
    "stop words, sublinear tf, max_df 0.2, min_df 2": STOP | ROOT | {"max_df": 0.2, "min_df": 2},
    "stop words, sublinear tf, max_df 0.5, min_df 3": STOP | ROOT | {"max_df": 0.5, "min_df": 3},
    "the same, pairs of words too": (
        STOP | ROOT | {"max_df": 0.5, "min_df": 3, "ngram_range": (1, 2)}
    ),
}
FITS: dict[str, dict[str, Any]] = {
    "as it is": {"normalize": None},
    "degree": {"normalize": "degree"},
}


def docstrings(package: str) -> tuple[list[str], list[str]]:
    """Return the docstrings of a package, and the subpackage of each."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return [], []
    folder = Path(next(iter(found.submodule_search_locations)))
    texts: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if len(parts) < 2 or "tests" in parts or any(p.startswith("_") for p in parts[:-1]):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.get_docstring(node) or ""
                if len(text) >= SHORTEST:
                    texts.setdefault(parts[0], []).append(text)
    rng = np.random.default_rng(0)
    names, chosen = [], []
    for group, members in sorted(texts.items()):
        members = sorted(set(members))
        if len(members) >= LEAST:
            picks = rng.permutation(len(members))[:MOST]
            chosen += [members[i] for i in picks]
            names += [group] * len(picks)
    return chosen, names


def sets(data: Path | None) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, texts or counts, and groups."""
    for package in PACKAGES:
        texts, groups = docstrings(package)
        if len(set(groups)) > 2:
            yield f"{package} docstrings", texts, groups
    for name in DOCUMENTS if data else ():
        counts = sparse.load_npz(data / "documents" / f"{name}.npz").tocsr()
        groups = np.load(data / "documents" / f"{name}_labels.npy")
        picks = np.random.default_rng(0).permutation(len(groups))[:SAMPLE]
        yield name, counts[picks], groups[picks]


def features(texts: Any, options: dict[str, Any]) -> Any:
    """Return tf-idf weights; of counts, as far as the options apply to them."""
    if not sparse.issparse(texts):
        return TfidfVectorizer(**options).fit_transform(texts)
    share = np.bincount(texts.indices, minlength=texts.shape[1])
    kept = share >= options.get("min_df", 1)
    kept &= share <= options.get("max_df", 1.0) * texts.shape[0]
    return TfidfTransformer(sublinear_tf=options.get("sublinear_tf", False)).fit_transform(
        texts[:, kept].astype(np.float64)
    )


def agreement(X: Any, groups: Any, options: dict[str, Any]) -> float:
    """Return the NMI of the labels; texts without cluster are a cluster of their own."""
    r = len(set(np.asarray(groups).tolist()))
    settings: dict[str, Any] = {"affinity": "cosine", "init": "spectral", "max_iter": 30}
    model = ODSymNMF(r, **settings, random_state=0, **options).fit(X)
    return float(normalized_mutual_info_score(groups, model.labels_))


def rows(data: Path | None) -> Iterator[list[str]]:
    found: dict[tuple[str, str], list[float]] = {}
    for name, texts, groups in sets(data):
        sizes = Counter(np.asarray(groups).tolist())
        count = texts.shape[0] if sparse.issparse(texts) else len(texts)
        line = f"{name} ({count} texts, {len(sizes)} groups)"
        seen: dict[bytes, dict[str, float]] = {}
        for words, options in WORDS.items():
            X = features(texts, options)
            key = X.data.tobytes()[:4096] + str(X.shape).encode()
            if key not in seen:  # of counts, some options are the same
                seen[key] = {fit: agreement(X, groups, how) for fit, how in FITS.items()}
            for fit, nmi in seen[key].items():
                found.setdefault((words, fit), []).append(nmi)
            yield [line, words, *(f"{nmi:.3f}" for nmi in seen[key].values())]
    for words in WORDS:
        yield ["mean", words, *(f"{np.mean(found[words, fit]):.3f}" for fit in FITS)]


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    warnings.simplefilter("ignore")
    table("NMI of clusters of texts with their known groups", ["set", "words", *FITS], rows(data))


if __name__ == "__main__":
    main()
