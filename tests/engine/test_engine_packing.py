"""Rows as they travel: the compiled packing beside what NumPy makes of them, to the bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from odsymnmf.distributed.packing import Unpacking, packed, put, room_for, together


def oracle(rows):
    """The mask and the values, by NumPy."""
    numbers = rows.view(f"u{rows.dtype.itemsize}").ravel()
    there = numbers != 0
    return np.packbits(there, bitorder="little"), np.append(numbers[there], numbers.dtype.type(0))


def assert_same_bits(one, other):
    assert_array_equal(one.view(np.uint8), other.view(np.uint8))


def some_rows(seed, n, r, filled, dtype=np.float64):
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((n, r)) * (rng.random((n, r)) < filled)).astype(dtype)
    rows[rng.random((n, r)) < 0.05] = np.nan
    rows[rng.random((n, r)) < 0.05] = -0.0
    return rows


@given(
    st.integers(0, 99),
    st.integers(0, 9),
    st.integers(1, 20),
    st.floats(0, 1),
    st.sampled_from([np.float32, np.float64]),
)
def test_rows_are_packed_as_by_numpy_and_come_back_to_the_bit(seed, n, r, filled, dtype):
    rows = some_rows(seed, n, r, filled, dtype)
    found = packed(rows)
    for one, other in zip(found, oracle(rows), strict=True):
        assert one.dtype == other.dtype
        assert_array_equal(one, other)
    again = np.full_like(rows, 7.0)
    Unpacking(found).into(again)
    assert_same_bits(again, rows)


@given(st.integers(0, 99), st.lists(st.integers(0, 5), max_size=5))
def test_pieces_travel_together(seed, sizes):
    pieces = [some_rows(seed + k, n, 7, 0.4) for k, n in enumerate(sizes)]
    rooms = [room_for(piece.size, piece.dtype) for piece in pieces]
    room = room_for(sum(piece.size for piece in pieces), np.float64, len(pieces))
    parts = [packed(piece, some) for piece, some in zip(pieces, rooms, strict=True)]
    unpacking = Unpacking(together(parts, room))
    for piece in pieces:
        again = np.full_like(piece, 7.0)
        unpacking.into(again)
        assert_same_bits(again, piece)


@pytest.mark.parametrize("where", [slice(2, 5), np.array([1, 4, 0])])
def test_packed_rows_are_put_where_they_belong(where):
    rows, whole = some_rows(0, 3, 4, 0.5), np.ones((6, 4))
    want = whole.copy()
    want[where] = rows
    put(packed(rows), whole, where)
    assert_same_bits(whole, want)


def test_what_is_mostly_zero_travels_small():
    rows = np.zeros((100, 50))
    rows[:, ::10] = 1.5
    assert sum(part.nbytes for part in packed(rows)) == 100 * 50 // 8 + 8 * (100 * 5 + 1)
