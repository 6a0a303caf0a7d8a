"""The parser that makes no Python objects, beside Python itself; and round trips."""

import csv
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from io_files import joined, saved
from scipy import sparse
from scipy.io import mmwrite

from odsymnmf import io
from odsymnmf.io import _fields, _lines
from odsymnmf.io._numbers import decimals, digits

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30
)
WORDS |= st.text("ab", min_size=1, max_size=40)
# What the regular, fast way must leave to others: quotes, comments, delimiters.
PLAIN = WORDS.filter(lambda word: not set(word) & set('",;') and word[0] not in "#%")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TAILS = st.from_regex(r"(\.[0-9]{0,9})?", fullmatch=True, alphabet="0123456789.")
PARTS = st.builds("{}{}".format, st.integers(-(10**9), 10**9), TAILS)


def fields(text):
    return _lines.fields(Path("a.csv"), text.encode())


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1), st.sampled_from([",", " ", "\t", ";"]))
def test_names_are_numbered_by_appearance(rows, mark):
    found, names = fields("".join(f"{a}{mark}{b}\n" for a, b in rows)).codes(slice(0, 2))
    expected = list(dict.fromkeys(name for row in rows for name in row))
    assert names == expected
    assert found.tolist() == [[expected.index(a), expected.index(b)] for a, b in rows]


def test_many_names(monkeypatch):
    """More than fit into a block or into the first table."""
    monkeypatch.setattr(_fields, "BLOCK", 1000)
    rng = np.random.default_rng(0)
    words = [f"{'long' * (k % 7)}{k}" for k in rng.integers(200_000, size=400_000)]
    found, names = fields("\n".join(words)).codes(slice(0, 1))
    expected = {word: k for k, word in enumerate(dict.fromkeys(words))}
    assert names == list(expected)
    assert found.ravel().tolist() == [expected[word] for word in words]


def test_names_whose_hashes_collide(monkeypatch):
    monkeypatch.setattr(
        _fields.Fields, "_keys", lambda self, starts, ends: np.zeros(len(starts), np.uint64)
    )
    for words in (["a" * 9, "b" * 9, "a" * 9], ["a", "bb", "a"]):
        found, names = fields("\n".join(words)).codes(slice(0, 1))
        assert (found.ravel().tolist(), names) == ([0, 1, 0], words[:2])


@given(st.lists(st.one_of(NUMBERS.map(repr), PARTS, st.integers().map(str)), min_size=1))
def test_numbers_are_those_of_python(texts):
    found = fields("".join(f"x,{text}\n" for text in texts)).numbers(slice(1, 2))
    np.testing.assert_array_equal(found.ravel(), [float(text) for text in texts])


def as_words(texts):
    padded = [int.from_bytes(text[:8].ljust(8, b"?"), "little") for text in texts]
    return np.array(padded, dtype=np.uint64), np.array([len(text) for text in texts])


@given(st.lists(st.integers(0, 10**8 - 1), min_size=1))
def test_digits(numbers):
    found = digits(*as_words([str(number).encode() for number in numbers]))
    assert found.tolist() == numbers


SHORT = st.from_regex(r"[0-9]{1,5}(\.[0-9]{0,2})?|[0-9]{0,2}\.[0-9]{1,5}", fullmatch=True)


@given(st.lists(SHORT.filter(str.isascii), min_size=1))
def test_decimals(texts):
    found = decimals(*as_words([text.encode() for text in texts]))
    np.testing.assert_array_equal(found, [float(text) for text in texts])


@pytest.mark.parametrize("text", [b".", b"1.2.3", b"..", b"-1", b"1e5", b"1 2", b"/.5", b"1.-5"])
def test_what_is_no_decimal(text):
    assert decimals(*as_words([b"0.5", text])) is None


@pytest.mark.parametrize("length", range(1, 9))
def test_what_is_no_digit(length):
    for byte in set(range(256)) - set(b"0123456789"):
        for k in range(length):
            text = b"7" * k + bytes([byte]) + b"7" * (length - k - 1)
            assert digits(*as_words([b"12", text])) is None


@given(st.lists(st.integers(0, 10**18 - 1), min_size=2).filter(lambda ids: len(ids) % 2 == 0))
def test_ids_are_sorted(ids):
    found = fields(joined(zip(ids[::2], ids[1::2], strict=True)).decode()).integers(slice(0, 2))
    assert found.ravel().tolist() == ids


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


def texts_or_error(text):
    try:
        found = fields(text)
    except io.InputError as error:
        return str(error)
    return [found.row(k) for k in range(found.shape[0])]


@given(st.sampled_from(['"a","b"\n', "a,b\n", '"a" "b"\n']), st.text('ab", #\n'))
def test_quotes_in_place_or_by_csv(first, text):
    """Quotes around whole fields are stepped over; the csv module must see the same fields."""
    with pytest.MonkeyPatch.context() as patch:
        in_place = texts_or_error(first + text)
        patch.setattr(_lines, "_quotes_are_around", lambda body, ends: False)
        assert in_place == texts_or_error(first + text)


def test_more_ends_than_other_bytes(monkeypatch):
    monkeypatch.setattr(_lines, "BLOCK", 5)
    found = fields("a,,,,,,,b\n" + ",,,,,,,\n" * 9 + "c,,,,,,,d\n")
    assert found.shape == (11, 8)
    assert found.row(0) == ["a", *[""] * 6, "b"]
    assert found.row(5) == [""] * 8
    assert found.row(10) == ["c", *[""] * 6, "d"]


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
