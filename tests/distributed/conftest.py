"""Dask clusters: workers in threads, and in processes for tests that kill them."""

import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from odsymnmf.solvers import rounds


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    """Use tiles of 32 items, so that small problems have several; the client sends them."""
    for name, value in {"MIN_WORK": 1, "MAX_WORK": 1, "MIN_ROWS": 2}.items():
        monkeypatch.setattr(rounds, name, value)


def _cluster(workers, processes):
    return LocalCluster(
        n_workers=workers, threads_per_worker=2, processes=processes, dashboard_address=":0"
    )


@pytest.fixture(scope="session")
def _workers_in_threads():
    with _cluster(3, processes=False) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def _workers_in_processes():
    with _cluster(2, processes=True) as cluster:
        yield cluster


@pytest.fixture
def client(_workers_in_threads):
    """Three workers in this process."""
    with Client(_workers_in_threads) as client:
        yield client


@pytest.fixture
def processes(_workers_in_processes):
    """Two workers in separate processes, which may be killed and are replaced."""
    with Client(_workers_in_processes) as client:
        client.wait_for_workers(2)
        yield client
