"""The scikit-learn face: ODSymNMF and SymNMF, thin over `factorize`."""

from odsymnmf.estimators.odsymnmf import ODSymNMF
from odsymnmf.estimators.saving import load
from odsymnmf.estimators.symnmf import SymNMF

__all__ = ["ODSymNMF", "SymNMF", "load"]
