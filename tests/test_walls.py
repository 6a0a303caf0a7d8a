"""The inner walls: only its own room asks which loss there is, or how similarities are stored."""

import ast
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import odsymnmf
from odsymnmf.engine import losses
from odsymnmf.engine.losses import REGISTRY

SOURCE = Path(odsymnmf.__file__).parent
STORAGE = {"Dense", "Sparse", "Gram", "SparsePart", "DensePart", "DocumentsPart"}
LOSSES = {kind.__name__ for kind in REGISTRY.values()} | {"SparseL1", "SparseL2"}
MOST_ARGUMENTS = 12
# Sizes that tell one kind of similarities from another, if they are asked whether there are any.
KINDS_OF_SIZES = {"stored", "row_entries", "block_entries"}
# The rooms of the losses, the registry of those that know sparse memberships, and the paper.
ROOMS_OF_LOSSES = ("engine/losses/", "engine/many/losses.py", "paper/", "reproduce/")
ROOMS_OF_PROBLEMS = ("problem/", "inputs.py")


def asked(code):
    """Yield (line, what) for every question about a loss or a storage."""
    names = {*losses.names(), "symnmf"}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called, (first, *rest) = node.func.id, node.args or [None]
            if called in ("isinstance", "issubclass"):
                for name in ast.walk(rest[0]):
                    if isinstance(name, ast.Name | ast.Attribute):
                        name = name.id if isinstance(name, ast.Name) else name.attr
                        if name in LOSSES:
                            yield node.lineno, "loss"
                        if name in STORAGE:
                            yield node.lineno, "storage"
            # What a protocol lists is there; what it does not list is not to be felt for.
            if called in ("hasattr", "getattr") and _last(first) in ("loss", "measure"):
                yield node.lineno, "loss"
            held = isinstance(first, ast.Attribute) and first.attr in ("A", "X", "similarity")
            if called in ("hasattr", "getattr", "issparse") and held:
                yield node.lineno, "storage"
            if called in ("hasattr", "getattr") and _last(first) in ("sums", "products"):
                yield node.lineno, "storage"
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            constants = {c.value for s in sides for c in ast.walk(s) if isinstance(c, ast.Constant)}
            if names & {value for value in constants if isinstance(value, str)}:
                yield node.lineno, "loss"
            attributes = [side for side in sides if isinstance(side, ast.Attribute)]
            if None in constants and any(a.attr in KINDS_OF_SIZES for a in attributes):
                yield node.lineno, "storage"
            if any(a.attr == "name" and _last(a.value) == "loss" for a in attributes):
                yield node.lineno, "loss"


def _last(node):
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


@pytest.mark.parametrize(
    ("what", "rooms"), [("loss", ROOMS_OF_LOSSES), ("storage", ROOMS_OF_PROBLEMS)]
)
def test_nobody_else_asks(what, rooms):
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith(rooms)
        for line, about in asked(path.read_text())
        if about == what
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ('if loss == "l1": pass', "loss"),
        ('if how.loss in ("l1", "mixed"): pass', "loss"),
        ("isinstance(run.loss, Mixed)", "loss"),
        ("if self.loss.name == name: pass", "loss"),
        ('getattr(loss, "zero", None)', "loss"),
        ("isinstance(A, problem.Dense | Sparse)", "storage"),
        ('hasattr(self.A, "X")', "storage"),
        ("issparse(similarity.X)", "storage"),
        ("if A.stored is None: pass", "storage"),
        ("left = None != self.fits.A.stored", "storage"),
        ('hasattr(sums.products, "news")', "storage"),
        ('getattr(sums, "products", None)', "storage"),
    ],
)
def test_questions_are_noticed(code, what):
    assert {about for _, about in asked(code)} == {what}


def packages():
    yield odsymnmf
    for found in pkgutil.walk_packages(odsymnmf.__path__, "odsymnmf."):
        if found.ispkg:
            yield importlib.import_module(found.name)


def test_no_module_shares_its_name_with_a_function():
    """Importing the module would bind it in the function's place."""
    shared = [
        f"{package.__name__}.{module.name}"
        for package in packages()
        for module in pkgutil.iter_modules(package.__path__)
        if not isinstance(getattr(package, module.name, package), ModuleType)
    ]
    assert shared == []


def test_kernels_have_few_arguments():
    """Named tuples say what belongs together: nobody reads a call of sixteen names."""
    crowded = [
        f"{path.name}: {node.name}"
        for path in sorted((SOURCE / "kernels").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > MOST_ARGUMENTS
    ]
    assert crowded == []
