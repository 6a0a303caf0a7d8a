"""Large lists are read by compiled code, in threads: the same items as any other way."""

import csv
import os
import subprocess
import sys
from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_fuzz import mutant
from scipy import sparse

from odsymnmf import io, kernels
from odsymnmf.io import _both_ways, _scan

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n\x1f"), max_size=30)
NAMES |= st.text("ab", min_size=1, max_size=3) | st.text("ä", min_size=7, max_size=9)
LONG = st.text("ab", min_size=990, max_size=1010)
DIGITS = st.from_regex(r"-?[0-9]{0,20}(\.[0-9]{0,25})?(e[+-]?[0-9]{0,3})?", fullmatch=True)
WEIGHTS = st.floats().map(repr) | st.floats(0, 1).map(repr) | st.decimals().map(str)
WEIGHTS |= DIGITS.filter(str.isascii) | st.integers(-(2**66), 2**66).map(str)


@pytest.fixture(scope="module", params=[1, 3])
def every_file(request):
    """Take every file for a large one, and cut it for one thread or three."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scan, "LARGE", 0)
        patch.setattr(_scan, "PIECE", 1)
        patch.setattr(_scan, "THREADS", request.param)
        patch.setattr(os, "cpu_count", lambda: 8)
        patch.setattr(_both_ways, "LONG", 1)
        yield


def outcome(path, **options):
    """Return all that a reader returns, or says."""
    try:
        items = io.read(path, **options)
    except io.InputError as error:
        return str(error)
    matrix = items.matrix
    if not isinstance(matrix, np.ndarray):
        matrix = (matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist())
    return repr((items.names, items.format, items.notes, matrix))


def without_threads(path, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scan, "LARGE", 2**60)
        patch.setattr(_both_ways, "LONG", 2**60)
        return outcome(path, **options)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("scan") / "graph.csv"


@given(
    st.lists(st.tuples(NAMES | LONG, NAMES, st.floats(0, 9).map(repr) | WEIGHTS), min_size=1),
    st.sampled_from([2, 3]),
    st.sampled_from([",", " ", "\t"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@settings(max_examples=50)
def test_lists_of_names(every_file, path, rows, width, mark, quoting):
    text = StringIO()
    writer = csv.writer(text, delimiter=mark, quoting=quoting, lineterminator="\n")
    writer.writerows(row[:width] for row in rows)
    path.write_text(text.getvalue())
    assert outcome(path) == without_threads(path)


@given(st.lists(st.tuples(*[st.integers(0, 12)] * 2, st.integers(1, 9)), min_size=1))
def test_lists_of_ids(every_file, path, rows):
    path.write_text("from,to,weight\n" + "".join(f"{a},{b},{w}\n" for a, b, w in rows))
    assert outcome(path, symmetrize="sum") == without_threads(path, symmetrize="sum")


@pytest.mark.parametrize("seed", range(100))
def test_damaged_lists(every_file, tmp_path, seed):
    name, data, options = mutant("edges", 5, seed)
    (tmp_path / name).write_bytes(data)
    assert outcome(tmp_path / name, **options) == without_threads(tmp_path / name, **options)


UNQUOTED = ['a"b,c', '"a"b,c', '"a,b', '"a""b",c']
PLAIN = ["ann,bob", "bob,cid", "cid,ann"] * 9


@pytest.mark.parametrize(
    "line",
    [
        "#a,b",
        "%a,b",
        "",
        " ",
        "a",
        "a,",
        ",a",
        "a,b,c",
        "a ,b",
        "a,\tb",
        *UNQUOTED,
        "a" * 1001 + ",b",
    ],
)
def test_what_is_not_plain_is_left_to_others(line):
    def read(*lines):
        body = "".join(f"{line}\n" for line in lines).encode()
        return _scan.edges(body, 0, b",", weighted=False, ids=False)

    assert read(*PLAIN)[1] == ["ann", "bob", "cid"]
    assert read(*PLAIN, line) is read(line, *PLAIN) is read(*PLAIN, line, *PLAIN) is None


@pytest.mark.parametrize("line", [b"01,2\n", b"1,-2\n", b"1,2.0\n", b"1,1234567890\n", b"a,2\n"])
def test_what_is_no_plain_id_is_left_to_others(line):
    assert _scan.edges(b"1,0\n10,123456789\n", 0, b",", weighted=False, ids=True)[0].tolist() == [
        [1, 10],
        [0, 123456789],
    ]
    assert _scan.edges(b"1,2\n" + line, 0, b",", weighted=False, ids=True) is None


@given(WEIGHTS)
@settings(max_examples=300)
def test_weights_to_the_last_bit(text):
    data = np.frombuffer(text.encode() + b"\n", dtype=np.uint8)
    value, end = kernels.edge_list.read_weight(data, 0)
    if end == len(text):
        assert repr(float(value)) == repr(float(text))


@pytest.mark.parametrize("power", [0, 5, 17, 22])
def test_common_weights_are_read(power):
    for value in np.random.default_rng(power).random(200) / 2.0**power:
        text = f"{value:.{min(22, 17 + power // 4)}f}" if power else repr(float(value))
        data = np.frombuffer(text.encode() + b"\n", dtype=np.uint8)
        assert kernels.edge_list.read_weight(data, 0) == (float(text), len(text))


@given(st.data())
def test_both_directions(every_file, data):
    n = data.draw(st.integers(2, 12))
    items = st.integers(0, n - 1)
    links = data.draw(st.lists(st.tuples(items, items), min_size=1))
    i, j = np.array(links, dtype=np.int32).T
    weights = data.draw(st.none() | st.just(np.arange(1.0, len(i) + 1)))
    found = _both_ways.undirected(i, j, weights, n)
    pairs = {tuple(sorted(link)) for link in links}
    if len(pairs) < len(links) or any(a == b for a, b in links):
        assert found is None
        return
    given = sparse.coo_array((np.ones(len(i)) if weights is None else weights, (i, j)), (n, n))
    found.check_format()
    np.testing.assert_array_equal(found.toarray(), (given + given.T).toarray())
    assert found.has_sorted_indices


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_other_weights_are_left_to_others(every_file, weight):
    i, j = np.array([[0, 1], [1, 2]], dtype=np.int32)
    assert _both_ways.undirected(i, j, np.array([1.0, 2.0]), 3).nnz == 4
    assert _both_ways.undirected(i, j, np.array([1.0, weight]), 3) is None


MODES = """
from odsymnmf.io import _both_ways, _scan
_both_ways.LONG = 0
_scan.PIECE = 1
rows = [(f"{'x' * (k % 20)}{k % 900}", f"y{k}", (k + 1) / 7) for k in range(3000)]
body = "".join(f'"{a}",{b},{w}\\n' for a, b, w in rows).encode()
(i, j), names, weights = _scan.edges(body, 0, b",", weighted=True, ids=False)
assert [(names[a], names[b]) for a, b in zip(i, j)] == [row[:2] for row in rows]
assert weights.tolist() == [row[2] for row in rows]
assert _both_ways.undirected(i, j, weights, len(names)).nnz == 6000
ids = _scan.edges(b"1,2,.5\\n3,40,1e2\\n", 0, b",", weighted=True, ids=True)
assert ids[0].tolist() == [[1, 3], [2, 40]] and ids[2].tolist() == [0.5, 100.0]
"""


@pytest.mark.parametrize(
    "mode", ["NUMBA_DISABLE_JIT", pytest.param("NUMBA_BOUNDSCHECK", marks=pytest.mark.slow)]
)
def test_without_compilation_and_with_every_index_checked(tmp_path, mode):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MODES],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), mode: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
