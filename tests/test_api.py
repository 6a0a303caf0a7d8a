"""The public API, compared with public_api.txt.

After an intended change, update it: ``python tests/test_api.py > tests/public_api.txt``.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import odsymnmf

# Classes whose constructors and methods are private: functions return them.
RETURNED_BY_FUNCTIONS = ("odsymnmf.similarity.", "odsymnmf.distributed.")


def signature(name: str, value: Any) -> str:
    """Return name(parameter=default, ...) without annotations."""
    parameters = inspect.signature(value).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return f"{name}{inspect.Signature(plain)}"


def members(name: str, value: Any) -> Iterator[str]:
    """Yield the signatures of a public object and of its public members."""
    if isinstance(value, ModuleType):
        yield name
        for public in value.__all__:
            yield from members(f"{name}.{public}", getattr(value, public))
    elif inspect.isclass(value) and issubclass(value, Exception):
        yield name
    elif inspect.isclass(value) and not name.startswith(RETURNED_BY_FUNCTIONS):
        yield signature(name, value)
        for public in sorted(n for n in dir(value) if not n.startswith("_")):
            method = getattr(value, public)
            if (getattr(method, "__module__", None) or "").startswith("odsymnmf"):
                yield from members(f"{name}.{public}", method)
    else:
        yield signature(name, value) if inspect.isroutine(value) else name


def test_the_public_api_is_as_listed():
    expected = Path(__file__).with_name("public_api.txt").read_text().splitlines()
    assert list(members("odsymnmf", odsymnmf)) == expected


def test_signatures_in_help_are_readable():
    values = [getattr(odsymnmf, name) for name in odsymnmf.__all__]
    values += [
        getattr(value, name)
        for value in values
        if isinstance(value, ModuleType)
        for name in value.__all__
    ]
    signatures = [str(inspect.signature(value)) for value in values if inspect.isfunction(value)]
    signatures += [
        str(inspect.signature(odsymnmf.ODSymNMF)),
        str(inspect.signature(odsymnmf.SymNMF)),
    ]
    assert len(signatures) > 40
    assert not [text for text in signatures if "_typing" in text or "Union[" in text]


if __name__ == "__main__":
    print("\n".join(members("odsymnmf", odsymnmf)))
