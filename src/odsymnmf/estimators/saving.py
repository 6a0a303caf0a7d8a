"""A fitted model as one file, and back: numbers and JSON, no pickle, nothing believed unchecked."""

from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf import storage
from odsymnmf.estimators.affinity import Affinities
from odsymnmf.estimators.keeping import Kept
from odsymnmf.problem import put_together, taken_apart
from odsymnmf.problem.weights import check_background
from odsymnmf.result import MODEL, Factorization

# Fitted attributes that are plain values, with their types, and that are arrays.
PLAIN = {"objective_": float, "n_iter_": int, "status_": str, "converged_": bool}
PLAIN_TYPES = (str, int, float, bool, type(None))
ARRAYS = ("membership_", "labels_", "history_", "restarts_")


@dataclass(frozen=True)
class Features:
    """The names of features; of words also their inverse document frequencies."""

    names: list[str]
    idf: Any = None


def save(
    model: Any,
    path: str | Path,
    *,
    similarities: bool = False,
    names: list[str] | None = None,
    features: Features | None = None,
) -> None:
    """Write a fitted model into one file; ``features`` says what its features are."""
    header: dict[str, Any] = {
        "class": _kind(model),
        "version": odsymnmf.__version__,
        "fitted": {name: getattr(model, name) for name in PLAIN},
        "mix": model.mix_,
        "scales": list(model._scales),
        "settings": model.settings_,
        "n_clusters": int(model.n_clusters_),
        "features": int(model.n_features_in_),
        "names": None if names is None else _texts(names, len(model.labels_), "names"),
    }
    arrays = {name: getattr(model, name) for name in ARRAYS}
    header["parameters"], given = _parameters(model)
    header["affinity"], more = model._affinities.taken_apart()
    arrays |= given | {f"affinity_{name}": array for name, array in more.items()}
    if hasattr(model, "feature_names_in_"):
        header["feature_names"] = [str(name) for name in model.feature_names_in_]
    if features is not None:
        header["terms"] = _texts(features.names, model.n_features_in_, "names of features")
        if features.idf is not None:
            arrays["idf"] = np.asarray(features.idf)
    if similarities:
        header["similarity"], more = taken_apart(model.similarity_)
        arrays |= {f"similarity_{name}": array for name, array in more.items()}
    storage.write(path, MODEL, header, arrays)


def _kind(model: Any) -> str:
    name = type(model).__name__
    if type(model) is not _classes().get(name):
        raise TypeError(
            f"only an ODSymNMF or a SymNMF can be saved, not a {name}, which could not be made "
            "again from a file; keep its membership_, or pickle it."
        )
    return name


def _classes() -> dict[str, type]:
    return {"ODSymNMF": odsymnmf.ODSymNMF, "SymNMF": odsymnmf.SymNMF}


def _parameters(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters that JSON can hold, and those that are arrays."""
    plain, arrays = model.get_params(deep=False), {}
    if callable(plain["affinity"]):
        raise ValueError(
            "affinity is a callable, which cannot be saved without code that a file must not "
            'hold; compute the similarities first, and fit them with affinity="precomputed".'
        )
    if not isinstance(plain["init"], str):
        arrays["init"] = _start(plain.pop("init"))
    if not isinstance(plain["random_state"], int | np.integer | None):
        plain["random_state"] = None  # a generator has moved on since: it would seed another fit
    for name, value in plain.items():
        if isinstance(value, range | tuple):
            plain[name] = list(value)
        elif isinstance(value, Path):
            plain[name] = str(value)
    return plain, arrays


def _start(init: Any) -> Any:
    """Return a given start as an array."""
    if sparse.issparse(init):
        return sparse.csr_array(init)
    try:
        array = np.asarray(init)
    except ValueError:  # lists of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            'init is a list of sets, which cannot be saved; model.set_params(init="auto") lets '
            "go of it, and changes nothing else."
        )
    return array


def load(path: str | Path) -> Any:
    """Read a fitted model, or a `Factorization`, that was saved.

    Nothing is unpickled and no code is run, whatever the file holds.

    Parameters
    ----------
    path : path
        What ``save`` has written.

    Returns
    -------
    ODSymNMF, SymNMF or Factorization
        A model predicts as the one that was saved, to the bit. It has ``similarity_`` only if
        that was saved with it, and ``item_names_`` if names were given.

    Raises
    ------
    StorageError
        If the file is damaged, cut short, or not one of ours.
    OSError
        If there is no such file, or it may not be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import odsymnmf as od
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> model = od.ODSymNMF(2).fit(A)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.odsym")
    ...     model.save(path)
    ...     again = od.load(path)
    >>> again.predict([[1, 1, 1, 0, 0, 0]]) == model.labels_[:1]
    array([ True])
    """
    return load_with_features(path)[0]


def load_with_features(path: str | Path) -> tuple[Any, Features | None]:
    """Return what was saved, and what its features are, if that was saved."""
    header, arrays = storage.read(path, MODEL)
    try:
        if header["class"] == "Factorization":
            return Factorization.from_stored(header, arrays), None
        return _model(header, arrays), _features(header, arrays)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{error}" if type(error) is ValueError else "its parts do not fit together"
        raise storage.StorageError(
            f"{path} is damaged: {reason}; use another copy, or make it again."
        ) from error


def _model(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    kind = _classes()[header["class"]]
    model: Any = kind(**_checked_parameters(kind, header["parameters"], arrays))
    fitted = {name: header["fitted"][name] for name in PLAIN}
    if any(type(fitted[name]) is not wanted for name, wanted in PLAIN.items()):
        raise ValueError("its results are of the wrong types")
    found = Factorization.from_stored(
        {**{name.rstrip("_"): value for name, value in fitted.items()}, **header},
        {"H" if name == "membership_" else name.rstrip("_"): arrays[name] for name in ARRAYS},
    )
    n = found.H.shape[0]
    for name, value in {**fitted, **{name: arrays[name] for name in ARRAYS}}.items():
        setattr(model, name, value)
    if model.labels_.shape != (n,) or model.labels_.dtype.kind != "i":
        raise ValueError("its labels are none")
    model.mix_, model._scales = found.mix, found.scales
    model.settings_, model.n_clusters_ = _settings(header["settings"]), found.H.shape[1]
    model.item_names_ = None
    model.n_features_in_ = _whole(header["features"])
    affinity = {name[9:]: a for name, a in arrays.items() if name.startswith("affinity_")}
    model._affinities = Affinities.put_together(model, header["affinity"], affinity, n)
    if "feature_names" in header:
        names = _texts(header["feature_names"], model.n_features_in_, "feature names")
        model.feature_names_in_ = np.array(names, dtype=object)
    if header["names"] is not None:
        model.item_names_ = _texts(header["names"], n, "names")
    if "similarity" in header:
        parts = {name[11:]: a for name, a in arrays.items() if name.startswith("similarity_")}
        A = put_together(header["similarity"], parts)
        if A.n != n:
            raise ValueError("its similarities are of other items")
        model._kept = Kept(A, model._diagonal == "fit")
    return model


def _settings(value: Any) -> dict[str, Any]:
    """Return the settings, which are plain values by name."""
    if type(value) is not dict or any(type(v) not in PLAIN_TYPES for v in value.values()):
        raise ValueError("its settings are none")
    upper = value["upper"]
    if upper is not None and not (type(upper) is float and upper > 0):
        raise ValueError("its upper bound is none")
    return dict(value)


def _checked_parameters(kind: type, plain: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters, all known and of plain types."""
    given = {**plain, **({"init": arrays["init"]} if "init" in arrays else {})}
    if set(given) != set(signature(kind).parameters):
        raise ValueError("its parameters are not those of this version")
    for name, value in plain.items():
        values = value if name == "n_clusters" and type(value) is list else [value]
        if any(type(v) not in PLAIN_TYPES for v in values):
            raise ValueError(f"its parameter {name[:50]} is of the wrong type")
    check_background(given["zero_weight"])  # new items are weighed by it
    return given


def _features(header: dict[str, Any], arrays: dict[str, Any]) -> Features | None:
    if "terms" not in header:
        return None
    terms = _texts(header["terms"], _whole(header["features"]), "names of features")
    idf = arrays.get("idf")
    if idf is None:
        return Features(terms)
    sound = not sparse.issparse(idf) and idf.shape == (len(terms),) and idf.dtype == np.float64
    if not sound or not np.isfinite(idf).all() or len(set(terms)) < len(terms):
        raise ValueError("its words do not fit their frequencies")
    return Features(terms, idf)


def _whole(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError("a number in it is none")
    return value


def _texts(value: Any, count: int, what: str) -> list[str]:
    texts = list(value)
    if len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"the {what} must be {count} texts")
    return [str(text) for text in texts]
