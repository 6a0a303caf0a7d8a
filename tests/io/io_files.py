"""One small graph, written in every format and in every way that its readers must understand."""

import gzip
import io
import re
from pathlib import Path

import networkx
import numpy as np
import pandas
from scipy import sparse
from scipy.io import mmwrite

NAMES = ["ann", "bob", "cid", "dora", "eve"]
EDGES = [("ann", "bob", 2.0), ("ann", "cid", 0.5), ("bob", "dora", -1.0), ("dora", "eve", 3.25)]
A = np.zeros((5, 5))
for one, other, weight in EDGES:
    i, j = NAMES.index(one), NAMES.index(other)
    A[i, j] = A[j, i] = weight


def joined(rows, mark=",", end="\n"):
    return "".join(mark.join(map(str, row)) + end for row in rows).encode()


def saved(save):
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def graph(kind=networkx.Graph):
    G = kind()
    G.add_nodes_from(NAMES)
    G.add_weighted_edges_from(EDGES)
    return G


def packed(data):
    # Without the time: the workers of a test run must agree on their tests.
    return gzip.compress(data, mtime=0)


def parquet(**columns):
    return saved(lambda f: pandas.DataFrame(columns).to_parquet(f, index=False))


def columns(edges):
    source, target, weight = (list(part) for part in zip(*edges, strict=True))
    return {"source": source, "target": target, "weight": weight}


def gexf(kind=networkx.Graph):
    # Without the date of today.
    text = "\n".join(networkx.generate_gexf(graph(kind)))
    return re.sub('lastmodifieddate="[^"]*"', "", text)


HEADER = ("source", "target", "weight")
BOTH_WAYS = [*EDGES, *((b, a, w) for a, b, w in EDGES)]
NAMED = [("", *NAMES), *((name, *row) for name, row in zip(NAMES, A.tolist(), strict=True))]
CLUTO_ROWS = [[x for j in np.flatnonzero(row) for x in (j + 1, row[j])] for row in A]
MTX = "%%MatrixMarket matrix {}\n% a comment\n"

PAJEK = b"% a comment\n*Network x\n*Vertices 5\n" + b"".join(
    f'{k + 1} "{name}" 0.1 0.2 ic Red\n'.encode() for k, name in enumerate(NAMES)
)
PAJEK += b"*Arcs\n1 2 2\n2 1 2\n\n*Edges\n1 3 0.5 c Blue\n2 4 -1\n5 4 3.25\n"

# Name of the file -> its bytes. Names in the file:
WITH_NAMES = {
    "plain.csv": joined(EDGES),
    "header.csv": joined([HEADER, *EDGES]),
    "windows.csv": b"\xef\xbb\xbf" + joined([HEADER, *EDGES], end="\r\n"),
    "mac.csv": joined(EDGES, end="\r"),
    "semicolons.csv": joined(EDGES, ";"),
    "tabs.tsv": joined(EDGES, "\t"),
    "blanks.txt": joined(EDGES, " "),
    "wide.txt": joined([HEADER, *EDGES], "   ", end=" \n"),
    "loose.csv": joined(EDGES, " , "),
    "both_ways.csv": joined(BOTH_WAYS),
    "comments.csv": b"# a\n\n% b\n" + joined(EDGES[:2]) + b"\n# c, d\n" + joined(EDGES[2:]),
    "no_newline.edges": joined(EDGES).rstrip(),
    "quoted.csv": joined((f'"{a}"', f'"{b}"', w) for a, b, w in EDGES),
    "quoted.txt": joined(((f'"{a}"', f'"{b}"', w) for a, b, w in EDGES), " "),
    "packed.csv.gz": packed(joined(EDGES)),
    "table.csv": joined(NAMED),
    "table.tsv": joined([("name", *NAMES), *NAMED[1:]], "\t"),
    "table_of_r.txt": joined([NAMES, *NAMED[1:]], " "),
    "only_header.csv": joined([NAMES, *A.tolist()]),
    "only_rows.csv": joined(NAMED[1:]),
    "packed_table.csv.gz": packed(joined(NAMED)),
    "graph.graphml": "\n".join(networkx.generate_graphml(graph())).encode(),
    "graph.gml": "\n".join(networkx.generate_gml(graph())).encode(),
    "several.gml": "\n".join(networkx.generate_gml(graph(networkx.MultiGraph))).encode(),
    "data.edgelist": "\n".join(networkx.generate_edgelist(graph())).encode(),
    "data.txt": b"# x\n" + "\n".join(networkx.generate_edgelist(graph())).encode(),
    "more_data.txt": joined(((a, b, {"weight": w, "a": [1, "}"]}) for a, b, w in EDGES), " "),
    "graph.gexf": gexf().encode(),
    "several.gexf": gexf(networkx.MultiGraph).encode(),
    "graph.net": b"".join(
        line.encode() + b"\n" for line in networkx.generate_pajek(networkx.MultiGraph(graph()))
    ),
    "by_hand.net": PAJEK,
    "graph.parquet": parquet(**columns(EDGES)),
    "categories.parquet": parquet(
        **{k: pandas.Categorical(v) if k != "weight" else v for k, v in columns(EDGES).items()}
    ),
    "both_ways.parquet": parquet(**columns(BOTH_WAYS), date=["x"] * 8),
    "packed.gml.gz": packed("\n".join(networkx.generate_gml(graph())).encode()),
}
# No names in the file:
WITHOUT_NAMES = {
    "ids.txt": joined(((NAMES.index(a), NAMES.index(b), w) for a, b, w in EDGES), " "),
    "ids_header.csv": joined([HEADER, *((NAMES.index(a), NAMES.index(b), w) for a, b, w in EDGES)]),
    "table.csv": joined(A.tolist()),
    "table.txt": joined(A.tolist(), "  "),
    "symmetric.mtx": saved(lambda f: mmwrite(f, sparse.coo_array(A), symmetry="symmetric")),
    "general.mtx": saved(lambda f: mmwrite(f, sparse.coo_array(A), symmetry="general")),
    "array.mtx": saved(lambda f: mmwrite(f, A, symmetry="general")),
    "half_array.mtx": saved(lambda f: mmwrite(f, A, symmetry="symmetric")),
    "packed.mtx.gz": packed(saved(lambda f: mmwrite(f, sparse.coo_array(A)))),
    "array.npy": saved(lambda f: np.save(f, A)),
    "fortran.npy": saved(lambda f: np.save(f, np.asfortranarray(A))),
    **{
        f"{kind}.npz": saved(
            lambda f, kind=kind: sparse.save_npz(f, sparse.coo_array(A).asformat(kind))
        )
        for kind in ("csr", "csc", "coo", "bsr", "dia")
    },
    "old.npz": saved(lambda f: sparse.save_npz(f, sparse.csr_matrix(A), compressed=False)),
    "sparse.mat": joined([(5, 5, 8), *CLUTO_ROWS], " "),
    "full.mat": joined([(5, 5), *A.tolist()], " "),
}
# Without weights: an adjacency list has none.
ADJACENCY = {
    "plain.adjlist": "\n".join(networkx.generate_adjlist(graph())).encode(),
    "both_ways.adjlist": b"# x\nann bob cid\nbob ann dora\ncid ann\ndora bob eve\n\neve dora",
    "commas.adjlist": b'ann, bob,cid\nbob,dora\n"dora",eve\n',
    "packed.adjlist.gz": packed(b"ann\nann\tbob\tcid\nbob\tdora\ndora\teve\n"),
}
FORMAT_OF_ENDING = {
    ".edgelist": "edges",
    ".adjlist": "adjlist",
    ".gexf": "gexf",
    ".net": "pajek",
    ".parquet": "parquet",
    ".edges": "edges",
    ".mtx": "mtx",
    ".npy": "npy",
    ".npz": "npz",
    ".graphml": "graphml",
    ".gml": "gml",
    ".mat": "cluto",
}


def format_of(name):
    """Return the format that the reader should recognise."""
    ending = Path(name.removesuffix(".gz")).suffix
    text = "table" if "table" in name or name.startswith("only") else "edges"
    return FORMAT_OF_ENDING.get(ending, text)


def values(items):
    matrix = items.matrix
    return (matrix.toarray() if sparse.issparse(matrix) else matrix).tolist()
