"""What a fit found: memberships, how good they are, and how it ended."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from odsymnmf.init.arrays import as_sets
from odsymnmf.persistence import checked_names, write_arrays
from odsymnmf.solvers.losses import loss_class
from odsymnmf.solvers.objective import Scales
from odsymnmf.solvers.rescale import scaled
from odsymnmf.solvers.run import Run, Status, Sweep
from odsymnmf.utils import Array, as_csr, bound

SQUARED = Scales(0.0, 1.0)


@dataclass(frozen=True)
class Factorization:
    """What `factorize` found.

    Attributes
    ----------
    H : ndarray or scipy.sparse.csr_array of shape (n, r)
        Memberships: H[i, l] says how strongly item i belongs to cluster l.
    objective : float
        The value of the loss at H.
    history : ndarray of shape (1 + n_iter + len(restart_steps),)
        The objective at the start, after every sweep and after every accepted restart of a
        column; it never rises. With sparse memberships and l2, that is the objective plus the
        price of the memberships, which the last value exceeds ``objective`` by.
    n_iter : int
        Number of complete sweeps.
    status : {"converged", "max_iter", "stopped", "interrupted"}
        Why it ended: the tolerance was reached, ``max_iter`` was, the callback said stop, or
        Ctrl-C was pressed.
    restart_steps : ndarray of int
        Which entries of ``history`` follow an accepted restart.
    loss_terms : dict or None
        For the losses "mixed" and "robust": ``l1_ratio``, the share of l1, and ``l1`` and ``l2``,
        both losses relative to what they are without memberships.
    scales : Scales
        (l1, l2): the loss is l1 times the absolute plus l2 times the squared errors.
    names : list or None
        What the items are called, if A is a graph, a DataFrame or AnnData.
    """

    H: Any
    objective: float
    history: Array
    n_iter: int
    status: Status
    restart_steps: Array
    loss_terms: dict[str, float] | None = None
    scales: Scales = SQUARED
    names: list[Any] | None = None

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status == "converged"

    def save(self, path: str | Path) -> None:
        """Save it to one .npz file, which `odsymnmf.load` reads.

        Parameters
        ----------
        path : path
            An existing file is replaced.

        Examples
        --------
        >>> import os, tempfile
        >>> import odsymnmf as od
        >>> f = od.factorize([[0, 1], [1, 0]], 1)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "f.npz")
        ...     f.save(path)
        ...     od.load(path)
        Factorization(n=2, r=1, objective=0, n_iter=1, converged)
        """
        header = {
            "objective": self.objective,
            "n_iter": self.n_iter,
            "status": self.status,
            "loss_terms": self.loss_terms,
            "scales": self.scales,
            "names": checked_names(self.names),
        }
        arrays = {"H": self.H, "history": self.history, "restart_steps": self.restart_steps}
        write_arrays(path, "Factorization", header, arrays)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: dict[str, Any]) -> "Factorization":
        names = ("objective", "n_iter", "status", "loss_terms", "names")
        plain = {name: header[name] for name in names}
        return cls(scales=Scales(*header["scales"]), **plain, **arrays)

    def __repr__(self) -> str:
        n, r = self.H.shape
        return (
            f"Factorization(n={n}, r={r}, objective={self.objective:.6g}, "
            f"n_iter={self.n_iter}, {self.status})"
        )


def of_run(run: Run) -> Factorization:
    """Return the result of a run."""
    return Factorization(
        run.H,
        float(run.history[-1]),
        run.history,
        run.state.n_iter,
        run.status,
        np.array(run.state.restarts, dtype=np.intp),
        run.loss_terms,
        run.solver.scales,
    )


def fit_scaled(
    fit: Callable[[Any, Any], Factorization], A: Any, r: int, options: Any, e: int
) -> Factorization:
    """Return what ``fit(A, options)`` finds for A 2^-e, scaled to A."""
    degree = loss_class(options.loss, options.diagonal, options.l1_ratio).degree
    init, callback = options.init, options.callback
    if not isinstance(init, str) and as_sets(init, A.n, r) is None:
        init = np.ldexp(as_csr(init, "init").toarray() if issparse(init) else init, -e // 2)

    def value(objective: Any) -> Any:
        with np.errstate(over="ignore"):  # infinite where no number is so large
            return np.ldexp(objective, e * degree)

    def scaled_callback(sweep: Sweep) -> Any:
        H = np.ldexp(sweep.H, e // 2)
        return callback(replace(sweep, objective=float(value(sweep.objective)), H=H))

    options = replace(
        options,
        init=init,
        upper=float(np.ldexp(bound(options.upper), -e // 2)),
        callback=scaled_callback if callback else None,
    )
    f = fit(scaled(A, e), options)
    l1, l2 = f.scales if degree else np.ldexp(f.scales, (-e, -2 * e)).tolist()
    return replace(
        f,
        H=np.ldexp(f.H, e // 2),
        objective=float(value(f.objective)),
        history=value(f.history),
        scales=Scales(l1, l2),
    )
