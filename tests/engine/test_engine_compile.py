"""Kernels come to life whatever the cache holds and whenever Ctrl-C is pressed."""

import copy
import errno
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import inline_closurecall, ir

from odsymnmf.kernels.compile import part
from odsymnmf.kernels.inlining import _Copies, share_scopes

# Two kernels that are soon compiled: all are compiled in the same way.
CALLS = """
import warnings
import numpy as np
from odsymnmf import kernels

with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    median = kernels.weighted_median.select(np.arange(3.0), np.ones(3), 3, 2.0)
    kernels.checks.worst_asymmetry(*[np.zeros(2, dtype=int)] * 4, 0, 1)
print(median, len(heard), *{str(w.message) for w in heard})
"""


def python(code, cache, *arguments, **variables):
    """Run a script with its own cache; where numba can be told so, it may write nowhere else."""
    nowhere_else = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **nowhere_else, **variables}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def calls(cache, before=""):
    """Return how often kernels called in a new process warned, and what they said."""
    done = python(before + CALLS, cache)
    assert done.returncode == 0, done.stderr
    value, warned, *words = done.stdout.split(maxsplit=2)
    assert value == "1.0"
    return int(warned), "".join(words)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    assert calls(cache) == (0, "")
    assert len(list(cache.rglob("*.nbc"))) >= 2
    return cache


@pytest.mark.skipif(
    not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"),
    reason="this Numba cannot be kept from writing next to the kernels",
)
def test_nowhere_to_write(tmp_path):
    (tmp_path / "file").write_text("")
    warned, words = calls(tmp_path / "file" / "below")
    assert warned == 1
    assert "NUMBA_CACHE_DIR" in words


def test_a_full_disk(tmp_path):
    full = f"""
import builtins, io
opened = builtins.open
def full(path, mode="r", *args, **options):
    if ".tmp." in str(path):
        raise OSError({errno.ENOSPC}, "No space left on device")
    return opened(path, mode, *args, **options)
builtins.open = full
"""
    warned, words = calls(tmp_path, full)
    assert warned == 1
    assert "No space left on device" in words
    assert "NUMBA_CACHE_DIR" in words
    assert not list(tmp_path.rglob("*.nb?"))


# The index and the code, empty, cut short and replaced: of one kernel this, of the other that.
DAMAGE = [
    {"select*.nbi": b"", "worst*.nbi": b"\x80\x04\x95"},
    {"select*.nbc": b"", "worst*.nbc": b"\x80\x04\x95"},
    {"select*.nbi": b"no pickle", "worst*.nbc": b"no pickle"},
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_made_anew(warm, damage):
    files = []
    for pattern, left in damage.items():
        (file,) = warm.rglob(f"*{pattern}")
        file.write_bytes(left)
        files.append(file)
    warned, words = calls(warm)
    assert warned == 1
    assert "NUMBA_CACHE_DIR" in words
    assert all(file.stat().st_size > 20 for file in files)
    assert calls(warm) == (0, "")


def test_the_interrupt_waits_for_the_compiler(tmp_path):
    """It arrives while Numba works, and the kernel is complete when it is delivered."""
    done = python(
        """
import signal
import numpy as np
from odsymnmf import kernels
from numba.core import event

class Press(event.Listener):
    def on_start(self, event): signal.raise_signal(signal.SIGINT)
    def on_end(self, event): pass

event.register("numba:compile", Press())
try:
    kernels.weighted_median.select(np.arange(3.0), np.ones(3), 3, 2.0)
except KeyboardInterrupt:
    print("interrupted with", len(kernels.weighted_median.select.signatures))
print(kernels.weighted_median.select(np.arange(3.0), np.ones(3), 3, 2.0))
""",
        tmp_path,
    )
    assert (done.stderr, done.stdout) == ("", "interrupted with 1\n1.0\n")


def test_compiled_calls_do_not_pass_through_the_hold():
    from odsymnmf import kernels

    select = kernels.weighted_median.select
    arguments = np.arange(3.0), np.ones(3), 3, 2.0
    select(*arguments)
    held, select._compile_for_args = select._compile_for_args, None
    try:
        assert select(*arguments) == 1.0
    finally:
        select._compile_for_args = held


def test_a_numba_without_the_internals_goes_without_the_hint(tmp_path):
    done = python(
        """
import numpy as np
from llvmlite import ir
declare = ir.Module.declare_intrinsic
def refuse(module, name, *args):
    if "prefetch" in name:
        raise TypeError("the internals have changed")
    return declare(module, name, *args)
ir.Module.declare_intrinsic = refuse
import odsymnmf as od
from odsymnmf.kernels import prefetch
assert prefetch.prefetch is prefetch._nothing
from scipy import sparse
A = sparse.csr_array(np.ones((4, 4)))
assert od.factorize(A, 1).objective < 1e-9
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


# Parts


def test_blocks_of_a_part_share_the_copy_of_their_scope():
    loc = ir.Loc("file", 1)
    scope = ir.Scope(None, loc)
    blocks = [ir.Block(scope, loc) for _ in range(2)]
    for block, name in zip(blocks, "ab", strict=True):
        block.body.append(ir.Return(scope.define(name, loc), loc))
    copies = _Copies()
    one, two = map(copies.deepcopy, blocks)
    assert one is not blocks[0]
    assert one.scope is two.scope is two.body[0].value.scope is not scope
    # A copy of the copy has a scope of its own.
    assert copies.deepcopy(one).scope is not one.scope


def test_parts_are_written_out_and_numba_is_as_it_was():
    @part
    def inner(x, k):
        total = 0.0
        for l in range(k):
            total += x[l] if l % 2 else -x[l]
        return total

    @part
    def outer(x):
        return inner(x, 2) + inner(x, len(x))

    @numba.njit
    def caller(x):
        total = 0.0
        for k in range(3):
            total += k * outer(x)
        return total

    x = np.array([1.0, 4.0, 9.0, 16.0])
    assert caller(x) == 3.0 * (3.0 + 10.0)
    assert inline_closurecall.copy is copy


def test_a_numba_that_copies_otherwise_is_left_alone(monkeypatch):
    write_out = inline_closurecall.InlineWorker.inline_ir
    monkeypatch.setattr(inline_closurecall, "copy", None)
    share_scopes()
    monkeypatch.delattr(inline_closurecall, "InlineWorker")
    share_scopes()
    monkeypatch.undo()
    assert inline_closurecall.InlineWorker.inline_ir is write_out
