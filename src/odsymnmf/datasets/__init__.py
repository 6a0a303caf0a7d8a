"""Data to try things on: the synthetic families of the paper, planted graphs, an example.

Every random function takes ``random_state``: None (NumPy's global state), an int, a
``numpy.random.RandomState`` or a ``numpy.random.Generator``. The same int gives the same bits on
every call, whatever was drawn before; a generator that is passed in is advanced.
"""

from odsymnmf.datasets._cliques import adversarial, cliques
from odsymnmf.datasets._examples import les_miserables
from odsymnmf.datasets._noise import flip
from odsymnmf.datasets._planted import planted_partition

__all__ = ["adversarial", "cliques", "flip", "les_miserables", "planted_partition"]
