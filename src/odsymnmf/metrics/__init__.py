"""How close memberships, labels and covers come to a known truth.

A cover is a list of sets of items, such as ``overlapping_sets`` returns: an item may be in
several of them, or in none.
"""

from odsymnmf.metrics._covers import best_match_f1, omega_index, overlapping_nmi
from odsymnmf.metrics._labels import label_accuracy, membership_accuracy, scores

__all__ = [
    "best_match_f1",
    "label_accuracy",
    "membership_accuracy",
    "omega_index",
    "overlapping_nmi",
    "scores",
]
