"""The clusters as a table: sizes, words, strongest members."""

from collections.abc import Sequence

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.drawing import MOST_CLUSTERS, Members
from odsymnmf.drawing.names import clean, shortened
from odsymnmf.report._html import chip, css, escape, listed

Topics = Sequence[Sequence[tuple[str, float]]]

MEMBERS, WORDS, LONGEST_WORD = 8, 10, 40
# So many of the largest, and of the strongest, are shown where all are too many.
LISTED = 25


def clusters(
    members: Members, sets: Sequence[Array], names: list[str], topics: Topics | None
) -> str:
    """Return one row per cluster; with very many clusters, the largest and the strongest."""
    everyone = np.arange(members.r)
    if members.r <= MOST_CLUSTERS:
        return _table(members, sets, names, topics, everyone, nobody=True)
    largest = np.lexsort((everyone, -members.sizes))[:LISTED]
    strongest = np.lexsort((everyone, -members.explained))[:LISTED]
    return (
        f"<h3>The {LISTED} largest of {members.r:,}</h3>"
        f"{_table(members, sets, names, topics, largest, nobody=True)}"
        f'<h3 class="later">The {LISTED} strongest</h3>'
        '<p class="note">Those that explain most of the similarities: '
        "the sum of H<sub>il</sub> H<sub>jl</sub> over all pairs i ≠ j.</p>"
        f"{_table(members, sets, names, topics, strongest, nobody=False)}"
    )


def words_of(topic: Sequence[tuple[str, float]]) -> list[str]:
    """Return the top words of a cluster, fit to be shown."""
    return [shortened(clean(str(word)), LONGEST_WORD) for word, _ in topic[:WORDS]]


def _table(
    members: Members,
    sets: Sequence[Array],
    names: list[str],
    topics: Topics | None,
    which: Array,
    *,
    nobody: bool,
) -> str:
    loose = int(np.sum(members.label < 0))
    largest = max(1, int(members.sizes[which].max()), loose if nobody else 0)
    rows = []
    for l in which.tolist():
        size = int(members.sizes[l])
        rows.append(
            f'<tr><th scope="row"><button type="button" class="pick" data-cluster="{l}">{chip(l)}'
            f"</button></th>{_size(size)}"
            f'<td class="wide">{_bar(l, size / largest)}</td>'
            f'<td class="num set">{len(sets[l]):,}</td>{_words(topics, l)}'
            f'<td class="who">{_who(sets[l], names)}</td></tr>'
        )
    if nobody and loose:
        blank = '<td class="words-cell"></td>' if topics is not None else ""
        rows.append(
            '<tr><th scope="row"><button type="button" class="pick" data-cluster="-1">'
            '<span class="chip cx">unassigned</span></button></th>'
            f'{_size(loose)}<td class="wide">{_bar(-1, loose / largest)}</td>'
            f'<td class="set"></td>{blank}'
            '<td class="who muted">without any membership</td></tr>'
        )
    heading = '<th scope="col">Top words</th>' if topics is not None else ""
    return (
        '<table class="clusters"><thead><tr><th scope="col">Cluster</th>'
        '<th scope="col" class="num">Items</th><td class="wide"></td>'
        f'<th scope="col" class="num set">In the set</th>{heading}'
        '<th scope="col">Strongest members</th></tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _size(k: int) -> str:
    # Where the headings are hidden, the number says of what.
    return f'<td class="num">{k:,}<span class="unit"> {"item" if k == 1 else "items"}</span></td>'


def _who(items: Array, names: list[str]) -> str:
    if not len(items):
        return '<span class="muted">nobody</span>'
    shown = listed(names[i] for i in items[:MEMBERS])
    rest = len(items) - MEMBERS
    return shown + (f' <span class="muted">and {rest:,} more</span>' if rest > 0 else "")


def _words(topics: Topics | None, l: int) -> str:
    if topics is None:
        return ""
    return f'<td class="words-cell">{listed(words_of(topics[l]))}</td>'


def _bar(l: int, share: float) -> str:
    width = max(0.6, 100 * share) if share else 0
    return (
        f'<svg class="bar {css(l)}" viewBox="0 0 100 8" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect width="{width:.1f}" height="8"/></svg>'
    )


def checked_topics(topics: Topics | None, r: int) -> Topics | None:
    """Return the top words of every cluster, once there is a list for each."""
    if topics is not None and len(topics) != r:
        raise ValueError(f"there are top words for {len(topics)} of {r} clusters; give all lists.")
    return topics


def chooser(members: Members) -> str:
    """Return the way to choose a cluster: from a list, or by number where there are very many."""
    if members.r > MOST_CLUSTERS:
        most = members.r - 1
        return (
            f'<label>Cluster <input type="number" id="cluster" min="-1" max="{most}" step="1" '
            f'inputmode="numeric" placeholder="0 to {escape(most)}"></label>'
        )
    options = [f'<option value="{l}">cluster {l}</option>' for l in range(members.r)]
    if (members.label < 0).any():
        options.append('<option value="-1">unassigned</option>')
    return (
        '<label>Show <select id="cluster"><option value="">all clusters</option>'
        f"{''.join(options)}</select></label>"
    )
