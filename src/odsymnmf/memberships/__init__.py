"""How to read H: labels, overlapping sets, strengths, and the pairs behind a membership.

In A_ij ~ h_i . h_j the columns share one scale: two items with memberships s and t in the same
cluster are explained a similarity of s t. So memberships may be compared along rows and columns.

H may be a scipy sparse array: then nothing of n x r is made. It may also be a DataFrame whose index
holds the names of the items (`frame` makes one): labels are then a Series, strengths a DataFrame,
and sets hold names.
"""

from odsymnmf.memberships._frame import frame
from odsymnmf.memberships._labels import canonical_order, labels
from odsymnmf.memberships._reasons import supporting_pairs, top_features
from odsymnmf.memberships._sets import Rule as Rule
from odsymnmf.memberships._sets import overlapping_sets, strength
from odsymnmf.memberships._settled import assign_rest, settled_labels

__all__ = [
    "assign_rest",
    "canonical_order",
    "frame",
    "labels",
    "overlapping_sets",
    "settled_labels",
    "strength",
    "supporting_pairs",
    "top_features",
]
