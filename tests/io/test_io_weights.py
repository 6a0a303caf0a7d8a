"""Weights of pairs from a file: by name, zeros kept, contradictions refused."""

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from odsymnmf import io

NAMES = ["ann", "bob", "cid", "dan"]
WANTED = {(0, 1): 0.0, (1, 3): 3.0}


def entries(W):
    coo = W.tocoo()
    pairs = zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), strict=True)
    return {(i, j): w for i, j, w in pairs}


def both_ways(wanted):
    return wanted | {(j, i): w for (i, j), w in wanted.items()}


@pytest.mark.parametrize(
    "text",
    [
        "ann,bob,0\nbob,dan,3\n",
        "source\ttarget\tweight\nbob\tann\t0\ndan\tbob\t3\n",
        "ann bob 0\nbob ann 0\nbob dan 3\ndan bob 3\n",
        "ann bob 0\nbob dan 3\nbob dan 3\ncid cid 7\n",
        "ann bob {'weight': 0}\nbob dan {'weight': 3.0}\n",
        "name,ann,bob,dan\nann,1,0,\nbob,0,1,3\ndan,,3,1\n",
        "*Vertices 3\n1 ann\n2 bob\n3 dan\n*Edges\n1 2 0\n2 3 3\n",
    ],
)
def test_lists_and_tables(tmp_path, text):
    path = tmp_path / "weights.txt"
    path.write_text(text)
    W = io.read_weights(path, NAMES)
    assert W.shape == (4, 4)
    assert entries(W) == both_ways(WANTED)


@pytest.mark.parametrize("one_way", [True, False])
def test_matrices_are_in_the_order_of_the_items(tmp_path, one_way):
    pairs = WANTED if one_way else both_ways(WANTED)
    i, j = np.array(list(pairs)).T
    W = sparse.coo_array((list(pairs.values()), (i, j)), shape=(4, 4))
    sparse.save_npz(tmp_path / "weights.npz", sparse.csr_array(W))
    scipy_io.mmwrite(tmp_path / "weights.mtx", W, symmetry="general")
    for name in ("weights.npz", "weights.mtx"):
        assert entries(io.read_weights(tmp_path / name, NAMES)) == both_ways(WANTED)


def test_a_full_matrix_gives_every_pair_but_nan(tmp_path):
    full = np.ones((4, 4))
    full[0, 2] = full[2, 0] = np.nan
    np.save(tmp_path / "weights.npy", full)
    W = io.read_weights(tmp_path / "weights.npy", NAMES)
    assert W.nnz == 10
    assert (0, 2) not in entries(W)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ann,bob,0\nbob,eve,1\n", ["'eve'", "no such item", "correct the name"]),
        ("eve,bob,0\nbob,fay,1\n", ["'eve' (2 such names)"]),
        ("ann,bob,0\nbob,dan,-3\n", ["'bob' and 'dan' is -3", ">= 0"]),
        ("ann,bob,0\nbob,dan,nan\n", ["'bob' and 'dan' is nan"]),
        ("ann,bob,inf\n", ["is inf"]),
        ("ann,bob,0\nbob,dan,3\nbob,ann,2\n", ["'ann' and 'bob' is 0 and 2", "one weight"]),
        ("ann,bob\nbob,dan\n", ["no column of weights"]),
        ("name,ann,bob\nann,1,0\nbob,5,1\n", ["'ann' and 'bob' is 0 and 5"]),
    ],
)
def test_what_is_refused(tmp_path, text, words):
    path = tmp_path / "weights.csv"
    path.write_text(text)
    with pytest.raises(io.InputError) as error:
        io.read_weights(path, NAMES)
    for word in ["weights.csv", *words]:
        assert word in str(error.value)


@pytest.mark.parametrize(("shape", "message"), [((3, 3), "no such item"), ((4, 3), "square")])
def test_a_matrix_of_another_size(tmp_path, shape, message):
    np.save(tmp_path / "weights.npy", np.ones(shape))
    with pytest.raises(io.InputError, match=message):
        io.read_weights(tmp_path / "weights.npy", NAMES)


def test_items_of_the_same_name(tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("ann,bob,0\n")
    with pytest.raises(io.InputError, match="some items have the same name"):
        io.read_weights(path, ["ann", "bob", "ann"])
