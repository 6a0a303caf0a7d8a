"""What a fit found: memberships, how good they are, and how it ended."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf import storage
from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales
from odsymnmf.engine.magnitude import Magnitude
from odsymnmf.engine.run import Run, Status

SQUARED = Scales(0.0, 1.0)
# The kind of file that results are saved in.
MODEL = "model"


@dataclass(frozen=True)
class Factorization:
    """What `factorize` found.

    Attributes
    ----------
    H : ndarray or scipy.sparse.csr_array of shape (n, r)
        Memberships: H[i, l] says how strongly item i belongs to cluster l.
    objective : float
        The value of the loss at H; NaN where Ctrl-C came before it was known, and computing it
        would have taken long. `odsymnmf.objective` then tells.
    history : ndarray of shape (1 + n_iter + len(restarts),)
        The objective at the start, after every sweep and after every accepted restart of a
        column; it never rises. With sparse memberships and l2, that is the objective plus the
        price of the memberships, which the last value exceeds ``objective`` by.
    n_iter : int
        Number of complete sweeps.
    status : {"converged", "max_iter", "stopped", "interrupted"}
        Why it ended: the tolerance was reached, ``max_iter`` was, the callback said stop, or
        Ctrl-C was pressed.
    restarts : ndarray of int
        Which entries of ``history`` follow an accepted restart.
    mix : dict or None
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
    restarts: Array
    mix: dict[str, float] | None = None
    scales: Scales = SQUARED
    names: list[Any] | None = None

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status == "converged"

    @property
    def memberships(self) -> Literal["sparse", "full"]:
        """How H is stored: by its non-zeros, or in full."""
        return "sparse" if sparse.issparse(self.H) else "full"

    def save(self, path: str | Path) -> None:
        """Write it into one file, which `odsymnmf.load` reads; complete or not there.

        Parameters
        ----------
        path : path
            A regular file there is replaced.

        Examples
        --------
        >>> import os, tempfile
        >>> import odsymnmf as od
        >>> f = od.factorize([[0, 1], [1, 0]], 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "f.odsym")
        ...     f.save(path)
        ...     od.load(path)
        Factorization(n=2, r=1, objective=0, n_iter=1, converged)
        """
        header = {
            "class": "Factorization",
            "version": odsymnmf.__version__,
            "objective": self.objective,
            "n_iter": self.n_iter,
            "status": self.status,
            "mix": self.mix,
            "scales": list(self.scales),
        }
        arrays = {"H": self.H, "history": self.history, "restarts": self.restarts}
        storage.write(path, MODEL, header, arrays)

    @classmethod
    def from_stored(cls, header: dict[str, Any], arrays: dict[str, Any]) -> "Factorization":
        """Return what `save` has written; ValueError or the like if that makes no sense."""
        H, history, restarts = arrays["H"], arrays["history"], arrays["restarts"]
        values = H.data if sparse.issparse(H) else H
        if (
            H.ndim != 2
            or values.dtype.kind != "f"
            or not (np.isfinite(values) & (values >= 0)).all()
        ):
            raise ValueError("its memberships are no finite numbers >= 0")
        if history.ndim != 1 or history.dtype != np.float64 or not len(history):
            raise ValueError("its history is none")
        if restarts.ndim != 1 or restarts.dtype.kind not in "iu":
            raise ValueError("its restarts are none")
        mix, scales = header["mix"], [float(scale) for scale in header["scales"]]
        if mix is not None:
            mix = {str(name): float(value) for name, value in mix.items()}
        if not (all(scale >= 0 for scale in scales) and any(scales)):
            raise ValueError("its scales are none")
        if header["status"] not in get_args(Status) or header["n_iter"] < 0:
            raise ValueError("its status is none")
        return cls(
            H,
            float(header["objective"]),
            history,
            int(header["n_iter"]),
            header["status"],
            restarts.astype(np.intp),
            mix,
            Scales(*scales),
        )

    def __repr__(self) -> str:
        n, r = self.H.shape
        return (
            f"Factorization(n={n}, r={r}, objective={self.objective:.6g}, "
            f"n_iter={self.n_iter}, {self.status})"
        )


def of_run(run: Run, H: Array, magnitude: Magnitude) -> Factorization:
    """Return what a run to H has come to, in the size of the similarities that were given."""
    history = magnitude.value(run.loss, run.history)
    return Factorization(
        magnitude.up(H),
        float(history[-1]),
        history,
        run.state.n_iter,
        run.status,
        np.array(run.state.restarts, dtype=np.intp),
        run.mix,
        magnitude.scales(run.loss),
    )
