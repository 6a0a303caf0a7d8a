"""The same graph, written in every format, reads to the same matrix and names."""

import numpy as np
import pytest
from io_files import ADJACENCY, NAMES, WITH_NAMES, WITHOUT_NAMES, A, format_of
from scipy import sparse

from odsymnmf import io

NUMBERS = ["0", "1", "2", "3", "4"]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(
    ("name", "data", "names"),
    [(name, data, NAMES) for name, data in WITH_NAMES.items()]
    + [(name, data, NUMBERS) for name, data in WITHOUT_NAMES.items()],
)
def test_every_format(tmp_path, name, data, names, forced):
    path = tmp_path / name
    path.write_bytes(data)
    items = io.read(path, format=format_of(name) if forced else None)
    assert items.format == format_of(name)
    assert items.names == names
    assert isinstance(items.matrix, np.ndarray | sparse.csr_array)
    np.testing.assert_array_equal(dense(items.matrix), A)


@pytest.mark.parametrize("name", ADJACENCY)
def test_adjacency_lists(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(ADJACENCY[name])
    items = io.read(path)
    assert (items.format, sorted(items.names)) == ("adjlist", NAMES)
    assert items.notes == ["no weights found: every edge has weight 1"]
    order = [items.names.index(node) for node in NAMES]
    np.testing.assert_array_equal(dense(items.matrix)[np.ix_(order, order)], A != 0)
    assert io.read(path, format="adjlist").names == items.names


def test_pajek_lines_may_be_blank_in_any_way(tmp_path):
    path = tmp_path / "a.net"
    path.write_text("*Vertices 2\n\u2003\n*Edges\n\u00a0\n1 2\n", encoding="utf-8")
    assert io.read(path).matrix.toarray().tolist() == [[0, 1], [1, 0]]
