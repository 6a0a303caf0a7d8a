import pytest

from odsymnmf import io


@pytest.fixture
def read(tmp_path):
    def write_and_read(data, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return io.read(path, **options)

    return write_and_read
