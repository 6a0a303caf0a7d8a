from hypothesis import settings

# The same examples in every run: a test that fails once fails again.
settings.register_profile("odsymnmf", derandomize=True, deadline=None)
settings.load_profile("odsymnmf")

# A folder of tests may have a conftest.py of its own; none of them is a module with examples.
collect_ignore_glob = ["*conftest.py"]
