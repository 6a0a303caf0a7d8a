import signal

from hypothesis import settings

# A shell starts what runs in its background with Ctrl-C ignored, and tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a test that fails once fails again.
settings.register_profile("odsymnmf", derandomize=True, deadline=None)
settings.load_profile("odsymnmf")

# A folder of tests may have a conftest.py of its own; none of them is a module with examples.
collect_ignore_glob = ["*conftest.py"]
