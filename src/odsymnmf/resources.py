"""How much memory this process may still take: the machine's, its container's and its own limit."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

__all__ = ["available_memory", "require"]

ROOT = Path("/")
# What a control group calls its limit, its use, and the part of the use that it can give back.
V2 = ("memory.max", "memory.current", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_memory(root: Path = ROOT) -> int | None:
    """Return how many bytes this process can still take, or None where the system does not say.

    The least of what the machine has left, what the control groups of the process (version 1 or 2,
    as containers and batch systems set them) and all groups around them allow, and what
    RLIMIT_AS (``ulimit -v``) leaves. Swap is not counted.

    Parameters
    ----------
    root : path
        Where ``proc`` and ``sys`` are found.

    Returns
    -------
    int or None

    Examples
    --------
    >>> from odsymnmf.resources import available_memory
    >>> left = available_memory()
    >>> left is None or left >= 0
    True
    """
    left = [*_machine(root), *_groups(root), *_address_space(root)]
    return max(0, min(left)) if left else None


def require(size: int, what: str, remedy: str) -> None:
    """Refuse now what could not fit into memory later.

    Parameters
    ----------
    size : int
        Bytes that will be needed.
    what : str
        Needed for what: the subject of the sentence.
    remedy : str
        What to do instead.

    Raises
    ------
    MemoryError
        With the figures and the remedy.

    Examples
    --------
    >>> from odsymnmf.resources import require
    >>> require(1000, "a small matrix", "choose a smaller one")
    >>> require(10**18, "H of 10**9 x 10**8", "choose a smaller r")
    Traceback (most recent call last):
    MemoryError: H of 10**9 x 10**8 needs 931,322,574.6 GiB of memory, but ... available; choose ...
    """
    left = available_memory()
    if left is not None and size > left:
        raise MemoryError(
            f"{what} needs {_amount(size)} of memory, but only {_amount(left)} is available; "
            f"{remedy}"
        )


def _amount(size: int) -> str:
    """Write a number of bytes in the unit that fits."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size:,} bytes"


def _machine(root: Path) -> Iterator[int]:
    found = _fields(root / "proc/meminfo")
    if "MemAvailable:" in found:
        yield found["MemAvailable:"] * 1024
    elif root == ROOT and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _groups(root: Path) -> Iterator[int]:
    """Yield what each control group around this process leaves."""
    mount = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers == "":
            yield from _left_in_groups(mount, group, V2)
        elif "memory" in controllers.split(","):
            yield from _left_in_groups(mount / "memory", group, V1)


def _left_in_groups(mount: Path, group: str, names: tuple[str, str, str]) -> Iterator[int]:
    """Yield what a group and those around it leave.

    Inside a container the path may be the host's, and the group itself is what is mounted: the
    files that are missing are passed over, and the mount is looked at in any case.
    """
    limit_name, used_name, idle_name = names
    path = PurePosixPath("/" + group.strip("/"))
    if ".." in path.parts:
        path = PurePosixPath("/")
    for folder in (path, *path.parents):
        place = mount / folder.relative_to("/")
        limit, used = _number(place / limit_name), _number(place / used_name)
        if limit is not None:
            # Pages of files that nobody uses are given back before anything is refused.
            idle = _fields(place / "memory.stat").get(idle_name, 0)
            yield limit - max(0, (used or 0) - idle)


def _address_space(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        pages = _text(root / "proc/self/statm").split()
        used = int(pages[0]) * resource.getpagesize() if pages else 0
        yield limit - used


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is none (as in ``max``: no limit)."""
    text = _text(path).strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _fields(path: Path) -> dict[str, int]:
    """Return the first number after each first word of a line."""
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
