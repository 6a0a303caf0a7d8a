"""An item in several clusters is a pie."""

from odsymnmf.members import Members

# A smaller part, in per cent, is not drawn.
SMALLEST = 8


def slices(members: Members, item: int) -> list[tuple[int, int, float, float]]:
    """Return (cluster, per cent, from, to) of the parts worth drawing, the item's own first.

    From and to go from 0 to 1. An item of no cluster has no parts.
    """
    entries = members.entries(item)
    parts = [
        (int(members.H.indices[e]), int(members.percent[e]))
        for place, e in enumerate(entries.tolist())
        if place == 0 or members.percent[e] >= SMALLEST
    ]
    whole = sum(percent for _, percent in parts)
    if not whole:  # nothing ties the item to others, though it has a cluster
        return [(l, percent, 0.0, 1.0) for l, percent in parts[:1]]
    found, start = [], 0
    for l, percent in parts:
        found.append((l, percent, start / whole, (start + percent) / whole))
        start += percent
    return found
