"""The losses that know sparse memberships: a new one is a line here, and its name in `choice`."""

from odsymnmf.engine.many.l1 import SparseL1
from odsymnmf.engine.many.sweep import SparseL2

SparseFit = SparseL1 | SparseL2
KINDS: dict[str, type[SparseL1] | type[SparseL2]] = {"l2": SparseL2, "l1": SparseL1}
