"""A network: who belongs together, and who stands between the groups?

python examples/network.py FOLDER        (needs odsymnmf[graphs,plots])
"""

import sys
from pathlib import Path

import networkx as nx

import odsymnmf as od


def main(folder: str) -> list[str]:
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)

    # The data: who appears with whom in Les Misérables, and in how many chapters.
    G = nx.les_miserables_graph()
    model = od.ODSymNMF(6, normalize="degree", upper=0.4, n_init=10, random_state=0).fit(G)

    # The picture: people in several groups are pies.
    od.plots.plot_graph(G, model.membership_).figure.savefig(home / "network.png", dpi=120)

    # The decision: those who would have to be invited to more than one table.
    tables = model.overlapping_sets()
    for number, guests in enumerate(tables):
        print(f"table {number}: {', '.join(guests[:6])}{', ...' if len(guests) > 6 else ''}")
    several = sorted(name for name in G if sum(name in guests for guests in tables) > 1)
    print(f"at several tables: {', '.join(several)}")

    # Back into the graph, for Gephi or Cytoscape.
    od.graphs.annotate(G, model)
    nx.write_gml(G, home / "network.gml")
    return several


if __name__ == "__main__":
    main(sys.argv[1])
