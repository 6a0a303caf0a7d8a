"""The numbers that the paper prints, in per cent."""

# Table "10 % random noise": OD-l1, OD-l2, symNMF, from each start.
NOISE: dict[str, dict[str, tuple[int, int, int]]] = {
    "2 balanced": {"random": (55, 91, 91), "zero": (51, 29, 91), "greedy": (98, 91, 91)},
    "2 unbalanced": {"random": (60, 87, 88), "zero": (62, 29, 85), "greedy": (94, 87, 88)},
    "5 balanced": {"random": (64, 90, 90), "zero": (64, 88, 90), "greedy": (96, 90, 90)},
    "5 unbalanced": {"random": (66, 89, 89), "zero": (64, 55, 90), "greedy": (96, 90, 90)},
    "10 balanced": {"random": (76, 90, 90), "zero": (73, 68, 90), "greedy": (98, 90, 90)},
    "10 unbalanced": {"random": (78, 86, 88), "zero": (73, 68, 88), "greedy": (93, 89, 88)},
}

# Table of the document sets: symNMF, OD-l2, OD-l1.
DOCUMENTS: dict[str, tuple[float, float, float]] = {
    "classic": (63.67, 63.67, 66.33),
    "ohscal": (43.24, 43.16, 38.08),
    "hitech": (49.07, 49.24, 52.19),
    "reviews": (49.37, 49.55, 70.07),
    "sports": (51.46, 51.41, 48.81),
    "la1": (49.16, 48.81, 40.61),
    "la2": (48.94, 48.62, 39.45),
    "k1b": (57.18, 58.68, 66.45),
    "tr11": (59.66, 59.90, 51.21),
    "tr23": (35.29, 35.29, 36.76),
    "tr41": (46.70, 47.15, 47.04),
    "tr45": (42.90, 42.61, 43.04),
}
