# Needs python3 (with venv) and make. make help lists the targets.
PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest
READY_BENCH := $(VENV)/.ready-bench
READY_DOCS := $(VENV)/.ready-docs
READY_INTEGRATIONS := $(VENV)/.ready-integrations
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: help demo test test-cold test-slow test-oldest test-integrations browser docs test-docs dist bench lint format clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:[^#]*## /	/' | expand -t 20

demo: $(READY)  ## cluster the characters of Les Misérables, into demo/
	@mkdir -p demo
	$(BIN)/python examples/les_miserables.py demo/les_miserables.csv
	$(BIN)/odsymnmf cluster demo/les_miserables.csv -r 6 -o demo/les_miserables --force

test: lint browser  ## ruff, mypy, import-linter and pytest
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Kernels are compiled once for each combination of types: many combinations take minutes.
MAX_COMPILED := 110

test-cold:  ## make test with an empty Numba cache, and a limit on the compiled kernels
	find src -name '*.nb[ic]' -delete
	$(MAKE) test
	@count=$$(find src -name '*.nbc' | wc -l); echo "$$count compiled kernels"; \
	if [ $$count -gt $(MAX_COMPILED) ]; then echo "at most $(MAX_COMPILED) are expected"; exit 1; fi

test-oldest: $(OLDEST)/.ready browser  ## pytest with the oldest supported dependencies, in .venv-oldest
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(OLDEST)/bin/python -m pytest -n 2

KERNEL_TESTS := $(addprefix tests/,test_kernels.py test_sweeps.py test_losses.py test_restarts.py \
	test_init.py test_multilevel.py solvers)

test-slow: $(READY)  ## kernels with index checks, and without compilation
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/boundscheck \
		$(BIN)/python -m pytest -n 2 --dist loadfile $(KERNEL_TESTS)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 tests/test_sweeps.py -k brute_force

test-integrations: $(READY_INTEGRATIONS)  ## igraph, scanpy, cdlib, Dask and the recipes of the site
	$(BIN)/python -m pytest tests/integrations tests/distributed src/odsymnmf/distributed

dist: $(READY)  ## build, check and try the wheel in a clean environment
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) .ci/smoke.py dist/*.whl

# The report page is tested in Chromium; without one, those tests are skipped and say so.
browser:
	@if [ -x /usr/bin/chromium ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium"; \
		{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes \
			--no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || echo "chromium could not be installed: browser tests are skipped"; \
	else \
		echo "chromium is missing: browser tests are skipped"; \
	fi

docs: $(READY_DOCS)  ## build the site, in build/docs
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going --quiet -b html docs build/docs
	@echo "open build/docs/index.html"

test-docs: docs browser  ## check the site in Chromium
	MPLBACKEND=Agg $(BIN)/python -m pytest docs/tests

bench: $(READY_BENCH)  ## print the benchmark tables
	$(BIN)/python -m benchmarks

lint: $(READY)  ## make test without pytest
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(READY)  ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The stamp is written last and removed first: an environment without it is unfinished, and is made
# again from nothing.
$(READY): pyproject.toml
	@if ! { [ -f $@ ] && $(BIN)/python -c ''; } 2>/dev/null; then \
		echo "making the environment $(VENV)"; \
		$(PYTHON) -m venv --clear $(VENV); \
	fi
	@rm -f $@
	@echo "installing odsymnmf and its tools"
	@$(PIP_INSTALL) ".[dev]"
	@touch $@

$(OLDEST)/.ready: pyproject.toml .ci/oldest.py
	@echo "making the environment $(OLDEST)"
	@$(PYTHON) -m venv --clear $(OLDEST)
	@$(PYTHON) .ci/oldest.py > $(OLDEST)/constraints.txt
	@$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(OLDEST)/constraints.txt --editable ".[dev]"
	@touch $@

$(READY_BENCH): $(READY)
	@echo "installing the methods to compare with"
	@$(PIP_INSTALL) ".[bench]"
	@touch $@

$(READY_DOCS): $(READY)
	@echo "installing what builds the site"
	@$(PIP_INSTALL) ".[docs]"
	@touch $@

$(READY_INTEGRATIONS): $(READY)
	@echo "installing the packages to work with"
	@$(PIP_INSTALL) ".[integrations]"
	@touch $@

clean:  ## back to a fresh checkout
	rm -rf $(VENV) $(OLDEST) demo dist build docs/made docs/api/names .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
