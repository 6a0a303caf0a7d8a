"""What pandas reads, beside what Python reads; and round trips."""

import csv
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from io_files import joined, saved
from scipy import sparse
from scipy.io import mmwrite

from odsymnmf import io
from odsymnmf.io import _arrow, _sheet, _signs
from odsymnmf.kernels import appearance

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30
)
WORDS |= st.text("ab", min_size=1, max_size=40)
# What the regular, fast way must leave to others: quotes, comments, delimiters.
PLAIN = WORDS.filter(lambda word: not set(word) & set('",;') and word[0] not in "#%")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TAILS = st.from_regex(r"(\.[0-9]{0,9})?", fullmatch=True, alphabet="0123456789.")
PARTS = st.builds("{}{}".format, st.integers(-(10**9), 10**9), TAILS)


def rows_of(text):
    return _sheet.sheet(Path("a.csv"), text.encode())


def test_names_are_numbered_by_lines():
    codes = np.array([[0, 1, 0, 2], [3, 2, 1, 1]], dtype=np.int32)
    rank, order = np.full(4, -1, dtype=np.int32), np.empty(4, dtype=np.int32)
    appearance.by_lines(codes, rank, order)
    assert codes.tolist() == [[0, 2, 0, 3], [1, 3, 2, 2]]
    assert (rank.tolist(), order.tolist()) == ([0, 2, 3, 1], [0, 3, 1, 2])


@pytest.fixture(scope="module", params=["pandas", "pyarrow"])
def reader(request):
    """Let pandas, or pyarrow in small blocks, read every file that it can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_arrow, "LARGE", 0 if request.param == "pyarrow" else 2**60)
        patch.setattr(_arrow, "BLOCK", 64)
        yield


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1), st.sampled_from([",", " ", "\t", ";"]))
def test_names_are_numbered_by_appearance(reader, rows, mark):
    found, names, _ = rows_of("".join(f"{a}{mark}{b}\n" for a, b in rows)).codes(0, [0, 1], [])
    expected = list(dict.fromkeys(name for row in rows for name in row))
    assert names == expected
    pairs = list(zip(*(part.tolist() for part in found), strict=True))
    assert pairs == [(expected.index(a), expected.index(b)) for a, b in rows]


def test_many_names():
    rng = np.random.default_rng(0)
    words = [f"{'long' * (k % 7)}{k}" for k in rng.integers(200_000, size=400_000)]
    (found,), names, _ = rows_of("\n".join(words)).codes(0, [0], [])
    expected = {word: k for k, word in enumerate(dict.fromkeys(words))}
    assert names == list(expected)
    assert found.tolist() == [expected[word] for word in words]


@given(st.lists(st.one_of(NUMBERS.map(repr), PARTS, st.integers().map(str)), min_size=1))
def test_numbers_are_those_of_python(texts):
    found, _ = rows_of("".join(f"x,{text}\n" for text in texts)).tidied().numbers(0, [1], 0)
    np.testing.assert_array_equal(found.ravel(), [float(text) for text in texts])


@given(st.lists(st.integers(0, 10**18 - 1), min_size=2).filter(lambda ids: len(ids) % 2 == 0))
def test_ids_are_sorted(ids):
    rows = rows_of(joined(zip(ids[::2], ids[1::2], strict=True)).decode())
    (i, j), _ = rows.integers(0, [0, 1], [])
    assert (i.tolist(), j.tolist()) == (ids[::2], ids[1::2])


@given(
    st.lists(WORDS | st.text(' "#,;%b', min_size=1), unique=True, min_size=2, max_size=6),
    st.data(),
)
def test_any_names_in_quotes(tmp_path_factory, names, data):
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    weights = data.draw(st.lists(NUMBERS, min_size=len(chosen), max_size=len(chosen)))
    text = StringIO()
    rows = [(*pair, repr(w)) for pair, w in zip(chosen, weights, strict=True)]
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("source", "target", "weight"), *rows])
    path = tmp_path_factory.mktemp("quotes") / "a.csv"
    path.write_bytes(text.getvalue().encode())
    items = io.read(path)
    assert items.names == list(dict.fromkeys(name for pair in chosen for name in pair))
    for (a, b), weight in zip(chosen, weights, strict=True):
        i, j = items.names.index(a), items.names.index(b)
        assert items.matrix[i, j] == items.matrix[j, i] == weight


def test_lines_end_within_quotes(reader):
    """Also where pyarrow ends a block: of these lines, it would make nine rows without a word."""
    pairs = [("a" * (k % 13 + 1), f"{k}\nb,c") for k in range(8)]
    text = StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(pairs)
    (i, j), names, _ = rows_of(text.getvalue()).codes(0, [0, 1], [])
    found = [(names[a], names[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    assert found == [tuple(name.replace("\n", " ") for name in pair) for pair in pairs]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(['"', ',"', '",', '","', ",", "\n", "a", "b" * 50]), max_size=15))
def test_quotes_around_fields(pieces):
    """Bytes are looked at by 64, and by blocks of some such."""
    text = "".join(pieces).encode() + b"\n"
    pieces = text.split(b'"')
    first, *outside = pieces[::2]
    expected = len(pieces) % 2 == 1 and (not outside or first[-1:] in b",\n")
    expected &= all(piece and piece[:1] in b",\n" for piece in outside)
    expected &= all(piece[-1:] in b",\n" for piece in outside[:-1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_signs, "BLOCK", 128)
        found = _signs.quotes(text, b",")
    assert found.around == expected
    if expected:
        assert found.over_lines == any(b"\n" in piece for piece in pieces[1::2])


def items_or_error(path, options):
    try:
        items = io.read(path, **options)
    except io.InputError as error:
        return str(error)
    matrix = items.matrix.toarray() if sparse.issparse(items.matrix) else items.matrix
    return items.names, items.format, items.notes, items.features, repr(matrix.tolist())


FIRST = st.sampled_from(['"a","b"\n', "a,b\n", '"a" "b"\n', "a b 1\n", ",a,b\n", "1,2,.5\n", ""])
CELLS = ["a", "b", "é", "0", "1", "07", "+1", "-1", ".5", "1e3", "nan", "NA", "True", "inf", "1_0"]
CELLS += ["x y", "9" * 19, "0.1234567890123456789", '"a"', '"a,b"', '" a "', "0.5"]
MARKS = ['"', '""', "\n", "\n\n", " ", "\t", ",", "#", "\n# ", "\n%"]
LINES = ["a,b\n", "b,1\n", "1,2\n", "a,b,1\n", "a b\n", "1 2 3\n"]
PIECES = st.sampled_from([*CELLS, *MARKS, *LINES])


@settings(max_examples=400)
@given(
    FIRST, st.lists(PIECES, max_size=12), st.sampled_from([None, "edges", "table"]), st.booleans()
)
def test_pandas_reads_what_python_reads(tmp_path_factory, first, pieces, format, features):
    """The fast way either agrees with the slow one or leaves the file to it."""
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_text(first + "".join(pieces), newline="")
    options = {"format": format, "features": features, "symmetrize": "max"}
    fast = items_or_error(path, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_arrow, "LARGE", 0)
        assert fast == items_or_error(path, options)
        patch.setattr(_arrow, "BLOCK", 24)
        assert fast == items_or_error(path, options)

    def doubt(self):
        if self.lines is None:
            raise _sheet.DoubtError
        return self.body

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sheet.Sheet, "_regular", property(doubt))
        assert fast == items_or_error(path, options)


SQUARE = st.integers(1, 6).flatmap(
    lambda n: arrays(np.float64, (n, n), elements=st.floats(-1e300, 1e300))
)


@given(SQUARE)
@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "mat", "mtx"])
def test_round_trip(tmp_path_factory, ending, square):
    square = np.triu(square, 1)
    square += square.T
    rows = [[repr(x) for x in row] for row in square.tolist()]
    names = [f"item {k}" for k in range(len(square))]
    data = {
        "npy": lambda: saved(lambda f: np.save(f, square)),
        "npz": lambda: saved(lambda f: sparse.save_npz(f, sparse.csr_array(square))),
        "csv": lambda: joined(
            [("", *names), *((n, *row) for n, row in zip(names, rows, strict=True))]
        ),
        "mat": lambda: joined([[len(rows)] * 2, *rows], " "),
        "mtx": lambda: saved(lambda f: mmwrite(f, sparse.coo_array(square), precision=17)),
    }[ending]()
    path = tmp_path_factory.mktemp("trip") / f"a.{ending}"
    path.write_bytes(data)
    items = io.read(path)
    matrix = items.matrix.toarray() if sparse.issparse(items.matrix) else items.matrix
    np.testing.assert_array_equal(matrix, square)
    assert items.names == (names if ending == "csv" else [str(k) for k in range(len(rows))])
