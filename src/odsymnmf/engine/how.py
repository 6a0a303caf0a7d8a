"""How to fit: what the user has asked for, whoever makes the fit."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import odsymnmf
from odsymnmf.engine.checkpoint import Checkpoint, array_of, seed_of
from odsymnmf.engine.run import Callback
from odsymnmf.options import bound, number, whole_number
from odsymnmf.random_state import RandomState

LossName = Literal["l2", "l1", "mixed", "robust"]
Memberships = Literal["auto", "sparse", "full"]


@dataclass(kw_only=True)
class How:
    """How to fit; the parameters are those of `odsymnmf.factorize`."""

    loss: LossName = "l2"
    l1_ratio: float = 0.5
    init: Any = "auto"
    diagonal: Literal["ignore", "fit"] = "ignore"
    max_iter: int = 200
    tol: float = 1e-4
    upper: float | None = None
    restarts: int | None = None
    memberships: Memberships = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    callback: Callback | None = None
    checkpoint: str | Path | None = None
    checkpoint_every: float = 60.0

    def __post_init__(self) -> None:
        self.max_iter = whole_number("max_iter", self.max_iter, 0)
        self.tol = number("tol", self.tol, 0)

    def kept(
        self, data: Callable[[], str], r: int, init: Any, first: Any, *, restarts: int, rounds: bool
    ) -> Checkpoint | None:
        """Return where a run is written down, with all that decides how it goes.

        Parameters
        ----------
        data : callable
            Returns what tells these similarities from others.
        r : int
        init, first : str or array
            The start, and what it is: its name, or memberships.
        restarts : int
            Rounds of column restarts.
        rounds : bool
            Whether sweeps go in rounds.
        """
        if self.checkpoint is None:
            return None
        identity = {
            "version": odsymnmf.__version__,
            "memberships": "full",
            "data": data(),
            "init": init if isinstance(init, str) else "array",
            "start": array_of(first),
            "random_state": seed_of(self.random_state),
            "r": r,
            "loss": self.loss,
            "diagonal": self.diagonal,
            "l1_ratio": float(self.l1_ratio),
            "max_iter": self.max_iter,
            "tol": self.tol,
            "upper": bound(self.upper),
            "restarts": restarts,
            "rounds": rounds,
        }
        every = number("checkpoint_every", self.checkpoint_every, 0)
        return Checkpoint(self.checkpoint, every, identity)
