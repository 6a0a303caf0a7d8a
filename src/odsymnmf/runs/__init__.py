"""A run as a folder: written, read.

| file | what it holds |
|---|---|
| `labels.csv` | name, cluster and strength of every item |
| `membership.csv` | H as a table; `membership.npz` if it is large or sparse |
| `clusters.txt` | with sparse memberships, the items of every cluster, one cluster per line |
| `topics.csv` | for texts, the top words of every cluster and their weights |
| `matrix.npz` | the picture of the sorted similarities, if there are few enough clusters to see |
| `model.odsym` | the fitted model, for `odsymnmf.load` and `odsymnmf predict` |
| `report.html` | the page |
| `run.json` | the input, all parameters, the fit: what is needed to run it again |
"""

from odsymnmf.runs.folder import check_folder, is_run, new_run
from odsymnmf.runs.reading import read_history, read_membership, read_picture, read_record
from odsymnmf.runs.writing import write_page, write_result, write_table, write_topics

__all__ = [
    "check_folder",
    "is_run",
    "new_run",
    "read_history",
    "read_membership",
    "read_picture",
    "read_record",
    "write_page",
    "write_result",
    "write_table",
    "write_topics",
]
