"""`odsymnmf info`: what runs here, for a report of a problem or of a time."""

import os
import platform
import warnings

import click

import odsymnmf

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
EXTRAS = ("matplotlib", "networkx", "tqdm", "click")


@click.command()
def info() -> None:
    """Show versions, threads, and where compiled code is cached."""
    click.echo(f"{'odsymnmf':14}{odsymnmf.__version__}")
    click.echo(f"{'python':14}{platform.python_version()} on {platform.platform()}")
    for name in (*PACKAGES, *EXTRAS):
        click.echo(f"{name:14}{installed(name) or 'not installed'}")
    click.echo(f"{'processors':14}{_processors()}")
    for line in _thread_pools():
        click.echo(f"{'threads':14}{line}")
    click.echo(f"{'numba cache':14}{_cache()}")


def installed(name: str) -> str | None:
    """Return the version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _thread_pools() -> list[str]:
    import scipy.linalg  # noqa: F401  (it loads its own BLAS)
    import sklearn.utils._openmp_helpers  # noqa: F401  (it loads OpenMP)
    from threadpoolctl import threadpool_info

    return [
        f"{pool['num_threads']} by {pool['internal_api']} {pool.get('version') or ''}".rstrip()
        + f" ({pool['prefix']}, {pool['user_api']})"
        for pool in threadpool_info()
    ]


def _cache() -> str:
    """Say where numba keeps the compiled kernels: without a cache, each process compiles anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that there is no cache is said below
        from odsymnmf.kernels import l2

    if not hasattr(l2.sweep, "stats"):
        return "not used: NUMBA_DISABLE_JIT is set"
    folder = there = l2.sweep.stats.cache_path
    if folder is None:
        return "nowhere: set NUMBA_CACHE_DIR to a folder that you may write to"
    while not os.path.isdir(there):
        there = os.path.dirname(there)
    if not os.access(there, os.W_OK | os.X_OK):
        state = "NOT writable: set NUMBA_CACHE_DIR"
    else:
        state = "writable" if there == folder else "not there yet; can be made"
    return f"{folder} ({state})"
