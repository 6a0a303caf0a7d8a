"""One small graph as files of every format, with variants."""

import bz2
import gzip
import io
import lzma
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
for source, target, weight in EDGES:
    i, j = NAMES.index(source), NAMES.index(target)
    A[i, j] = A[j, i] = weight


def delimited(rows, delimiter=",", end="\n"):
    """Return rows as delimited text."""
    return "".join(delimiter.join(map(str, row)) + end for row in rows).encode()


def saved_bytes(save):
    """Return what a function writes to a file."""
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def graph(kind=networkx.Graph):
    G = kind()
    G.add_nodes_from(NAMES)
    G.add_weighted_edges_from(EDGES)
    return G


def graph_text(write, kind=networkx.Graph):
    return "\n".join(write(graph(kind))).encode()


def parquet(**columns):
    return saved_bytes(lambda f: pandas.DataFrame(columns).to_parquet(f, index=False))


def columns(edges, kind=list):
    """Return edges as the columns of a table."""
    source, target, weight = (list(part) for part in zip(*edges, strict=True))
    return {"source": kind(source), "target": kind(target), "weight": weight}


HEADER = ("source", "target", "weight")
BOTH_DIRECTIONS = [*EDGES, *((b, a, w) for a, b, w in EDGES)]
NAMED_TABLE = [("", *NAMES), *((name, *row) for name, row in zip(NAMES, A.tolist(), strict=True))]
PAJEK = "% a comment\n*Network x\n*Vertices 5\n" + "".join(
    f'{k} "{name}" 0.1 0.2 ic Red\n' for k, name in enumerate(NAMES, 1)
)
# With the namespace that Gephi writes.
GEXF = re.sub(
    rb'xmlns="[^"]*"',
    b'xmlns="http://www.gexf.net/1.3"',
    graph_text(networkx.generate_gexf),
    count=1,
)

# Name of the file -> its bytes. Files that contain the names of the items:
WITH_NAMES = {
    "plain.csv": delimited(EDGES),
    "header.csv": delimited([HEADER, *EDGES]),
    "windows.csv": b"\xef\xbb\xbf" + delimited([HEADER, *EDGES], end="\r\n"),
    "mac.csv": delimited(EDGES, end="\r"),
    "semicolons.csv": delimited(EDGES, ";"),
    "tabs.tsv": delimited(EDGES, "\t"),
    "blanks.txt": delimited(EDGES, " "),
    "both_ways.csv": delimited(BOTH_DIRECTIONS),
    "comments.csv": b"# a\n\n% b\n" + delimited(EDGES[:2]) + b"\n # c, d\n" + delimited(EDGES[2:]),
    "quoted.csv": delimited((f'"{a}"', f'"{b}"', w) for a, b, w in EDGES),
    "packed.csv.gz": gzip.compress(delimited(EDGES), mtime=0),
    "packed.csv.bz2": bz2.compress(delimited(EDGES)),
    "packed.csv.xz": lzma.compress(delimited(EDGES)),
    "table.csv": delimited(NAMED_TABLE),
    "table.tsv": delimited([("name", *NAMES), *NAMED_TABLE[1:]], "\t"),
    "table_of_r.txt": delimited([NAMES, *NAMED_TABLE[1:]], " "),
    "only_header.csv": delimited([NAMES, *A.tolist()]),
    "graph.graphml": graph_text(networkx.generate_graphml),
    "graph.gml": graph_text(networkx.generate_gml),
    "several.gml": graph_text(networkx.generate_gml, networkx.MultiGraph),
    "windows.gml": b"\xef\xbb\xbf" + graph_text(networkx.generate_gml).replace(b"\n", b"\r\n"),
    "data.edgelist": graph_text(networkx.generate_edgelist),
    "data.txt": b"# x\n" + graph_text(networkx.generate_edgelist),
    "data.csv": delimited((a, b, {"weight": w, "a": [1, "}"]}) for a, b, w in EDGES),
    "gephi.gexf": GEXF,
    "graph.net": graph_text(networkx.generate_pajek, networkx.MultiGraph),
    "empty_arcs.net": f"{PAJEK}*Arcs\n*Edges\n1 2 2\n1 3 .5\n2 4 -1\n4 5 3.25\n".encode(),
    "both.net": f"{PAJEK}*Arcs\n1 2 2\n2 1 2\n\n*Edges\n1 3 .5 c Blue\n2 4 -1\n5 4 3.25\n".encode(),
    "graph.parquet": parquet(**columns(EDGES)),
    "categories.parquet": parquet(**columns(EDGES, pandas.Categorical)),
    "both_ways.parquet": parquet(**columns(BOTH_DIRECTIONS), date=["x"] * 8),
}
# Column indices of every row in decreasing order.
UNSORTED = sparse.csr_array(A)
UNSORTED.data, UNSORTED.indices = (
    np.concatenate([part[::-1] for part in np.split(array, UNSORTED.indptr[1:-1])])
    for array in (UNSORTED.data, UNSORTED.indices)
)
# Files without names:
WITHOUT_NAMES = {
    "ids.txt": delimited(((NAMES.index(a), NAMES.index(b), w) for a, b, w in EDGES), " "),
    "table.csv": delimited(A.tolist()),
    "symmetric.mtx": saved_bytes(lambda f: mmwrite(f, sparse.coo_array(A), symmetry="symmetric")),
    "general.mtx": b"\xef\xbb\xbf"
    + saved_bytes(lambda f: mmwrite(f, sparse.coo_array(A), symmetry="general")),
    "array.mtx": saved_bytes(lambda f: mmwrite(f, A, symmetry="symmetric")),
    "packed.mtx.gz": gzip.compress(saved_bytes(lambda f: mmwrite(f, sparse.coo_array(A))), mtime=0),
    "array.npy": saved_bytes(lambda f: np.save(f, A)),
    **{
        f"{kind}.npz": saved_bytes(
            lambda f, kind=kind: sparse.save_npz(f, sparse.coo_array(A).asformat(kind))
        )
        for kind in ("csr", "csc", "coo", "bsr", "dia")
    },
    "unsorted.npz": saved_bytes(lambda f: sparse.save_npz(f, UNSORTED)),
    "old.npz": saved_bytes(lambda f: sparse.save_npz(f, sparse.csr_matrix(A), compressed=False)),
}
# Adjacency lists have no weights.
ADJACENCY = {
    "plain.adjlist": graph_text(networkx.generate_adjlist),
    "both_ways.adjlist": b"# x\nann bob cid\nbob ann dora\ncid ann\ndora bob eve\n\neve dora",
    "commas.adjlist": b"ann, bob,cid\nbob,dora\ndora,eve,\n",
    "packed.adjlist.gz": gzip.compress(b"ann\nann\tbob\tcid\nbob\tdora\ndora\teve\n", mtime=0),
}
FORMAT_OF_ENDING = {"net": "pajek", "edgelist": "edges", "csv": "", "tsv": "", "txt": ""}


def format_of(name):
    """Return the format that `io.read` should recognize."""
    ending = Path(re.sub(r"\.(gz|bz2|xz)$", "", name)).suffix[1:]
    text = "table" if "table" in name or name.startswith("only") else "edges"
    return FORMAT_OF_ENDING.get(ending, ending) or text


def values(data):
    """Return the matrix of a Dataset as nested lists."""
    matrix = data.matrix
    return (matrix.toarray() if sparse.issparse(matrix) else matrix).tolist()
