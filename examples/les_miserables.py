"""Write the graph of Les Misérables as an edge list: python examples/les_miserables.py FILE.csv"""

import csv
import sys

from scipy import sparse

from odsymnmf import datasets


def main(path: str) -> None:
    data = datasets.les_miserables()
    names, pairs = data.names, sparse.triu(data.matrix).tocoo()
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["source", "target", "weight"])
        for i, j, chapters in zip(pairs.row, pairs.col, pairs.data, strict=True):
            table.writerow([names[i], names[j], int(chapters)])
    print(f"wrote {path}: {len(names)} characters, {pairs.nnz} pairs seen together")


if __name__ == "__main__":
    main(sys.argv[1])
