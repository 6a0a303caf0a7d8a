import pytest
from cli_problems import run, write_edges


@pytest.fixture
def edges(tmp_path):
    return write_edges(tmp_path / "graph.csv")


@pytest.fixture
def finished(edges, tmp_path):
    """The folder of a finished run."""
    folder = tmp_path / "finished"
    assert run("cluster", edges, "-r", 3, "-o", folder).exit_code == 0
    return folder
