"""The losses that know sparse memberships: a new one is a line here."""

from odsymnmf.engine.losses import Scales
from odsymnmf.engine.many.l1 import SparseL1
from odsymnmf.engine.many.sweep import SparseL2

SparseFit = SparseL1 | SparseL2
KINDS: dict[str, type[SparseL1] | type[SparseL2]] = {"l2": SparseL2, "l1": SparseL1}


def kind_for(scales: Scales) -> type[SparseL1] | type[SparseL2]:
    """Return the one that a fit with these scales has lowered: sparse memberships know no mix."""
    return SparseL1 if scales.l1 > 0 else SparseL2
