"""Runs to show on a page, small enough to fit in a test."""

import numpy as np

import odsymnmf as od
from odsymnmf.report import page

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "\"quoted\" & 'single'",
    "<!--<script>",
    "שלום עולם",
    "\u202egnp.exe",
    "🦊🐻 family 👩‍👩‍👧",
    "x" * 5000,
    "",
    "   ",
    "tab\there\nline\x00nul\x1b[31m",
    "lone \ud800 surrogate",
    "</title></svg><b>bold</b>",
    "${title} $policy %s {0}",
    "\u2028line separator",
]


def two_cliques(n=6):
    """Two groups that share item 0."""
    H = np.zeros((n, 2))
    H[: n // 2, 0] = np.linspace(1, 0.6, n // 2)
    H[n // 2 :, 1] = np.linspace(0.9, 0.5, n - n // 2)
    H[0, 1] = 0.55
    return H @ H.T, H


def make(A, H, names=None, history=(9.0, 4.0, 1.0), title="A run", facts=None, **more):
    return page(A, H, history, names=names, title=title, facts=facts or {}, **more)


def les_miserables():
    A, names = od.datasets.les_miserables()
    f = od.factorize(A, 6, tol=0.05)
    return A, f.H, f.history, names


def hostile_page():
    A, H = two_cliques(len(HOSTILE))
    bad = HOSTILE[1]
    return make(A, H, HOSTILE, title=bad, facts={bad: bad, "path": HOSTILE[8]})
