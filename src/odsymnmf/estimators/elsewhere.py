"""An estimator whose similarities are on the workers of a cluster."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from odsymnmf import distributed
from odsymnmf.defaults import Normalization, Settings, decide, normalization
from odsymnmf.engine.losses import loss_class
from odsymnmf.estimators.affinity import Affinities
from odsymnmf.estimators.best_of import best_of
from odsymnmf.observers import Starts
from odsymnmf.options import whole_number
from odsymnmf.problem import Outline, inverse_root_degrees, inverse_roots

HERE = "fit it on one machine, with X.compute()"


def fit_elsewhere(model: Any, client: Any, X: Any, weights: Any) -> None:
    """Fit a model to a dask array, or to blocks of rows, on the workers of a client.

    As on one machine, but: "auto" starts are spectral, labels are read off H, and what was fitted
    stays where it is, so that there is no ``similarity_``.
    """
    _refuse(model, weights)
    model._kept = None
    r = whole_number("n_clusters", model.n_clusters, 1)
    affinity = None if model._precomputed else "cosine"
    A: Any = distributed.looked_at(client, X, affinity=affinity)
    settings = partial(
        decide,
        A,
        r,
        loss=loss_class(model.loss, model._diagonal, model.l1_ratio),
        normalize=model.normalize,
        upper=model.upper,
        init=model.init,
    )
    found, how = _normalized(A, r, settings)
    if isinstance(model.init, str) and model.init == "auto":
        found = replace(found, init="spectral")
    found = replace(found, settled=None)
    model.settings_ = found.as_dict()
    model._affinities = Affinities(model, None, how)
    model.n_features_in_ = A.n_features or A.n
    starts = Starts(model, X, model.n_init, model.max_iter)
    reconstruct = partial(model._fitted, raw=None, settings=found)
    scaled = A if how is None else A.scaled_by(how.roots)
    watch = partial(starts.watch, reconstruct=reconstruct)
    best, interrupted = best_of(model, scaled, r, found, watch)
    for name, value in reconstruct(best.H).items():
        setattr(model, name, value)
    model._keep(best, interrupted)
    model.item_names_ = getattr(X, "names", None)
    starts.end()


def _refuse(model: Any, weights: Any) -> None:
    """Refuse what needs the matrix in one place, with a remedy."""
    if not model._precomputed and model.affinity != "cosine":
        raise ValueError(
            f'affinity={model.affinity!r} is not offered on a cluster; use "precomputed" or '
            f'"cosine", or {HERE}.'
        )
    if model.n_init > 1:
        raise ValueError(
            f"n_init={model.n_init}, but a cluster makes one start; leave n_init out, or fit "
            'several models with other random_state and init="random".'
        )
    if weights is not None or model.zero_weight != 1.0:
        raise ValueError(
            "weights and zero_weight are not known on a cluster; leave them out (NaN marks an "
            f"unknown pair there, too), or {HERE}."
        )
    if isinstance(model.n_clusters, str) or not isinstance(model.n_clusters, int | np.integer):
        raise ValueError(
            f"n_clusters={model.n_clusters!r}: on a cluster it must be a number; choose it on a "
            f"sample of the items with odsymnmf.choose.n_clusters, or {HERE}."
        )


def _normalized(A: Any, r: int, settings: Any) -> tuple[Settings, Normalization | None]:
    """Return the settings, and how the similarities are to be scaled."""
    if A.n_features is None:
        seen = A.seen
        pairs = max(A.n * (A.n - 1), 1)
        binary = bool(seen.low >= 0 and seen.least == seen.high > 0)
        outline = Outline(seen.degrees, seen.low < 0, seen.filled / pairs, binary)
        found = settings(seen=outline)
        if found.normalize == "degree" and found.regular is None:
            return found, Normalization(inverse_roots(seen.sums), 0.0, absolute=False)
        return found, normalization(A, found, outline)
    signed = A.seen.low < 0
    outline = Outline(np.ones(A.n), signed, 1.0, False)
    found = settings(seen=outline)
    if found.normalize is None:
        return found, None
    if signed:
        raise ValueError(
            "X holds features below zero, and the degrees of their products would have to be "
            "counted pair by pair; use normalize=None."
        )
    with A.loaded_for(r):
        if found.regular is None:
            return found, Normalization(inverse_root_degrees(A), 0.0, absolute=False)
        degrees = A.product(np.ones(A.n, dtype=A.dtype)).astype(np.float64)
        degrees[degrees <= np.sqrt(np.finfo(A.dtype).eps) * A.diagonal] = 0.0
    return found, normalization(A, found, outline._replace(degrees=degrees))
