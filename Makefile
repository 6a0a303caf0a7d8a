# Needs python3 (with venv) and make, nothing else:  make demo | test | test-slow | test-oldest | test-integrations | test-recipes | docs | test-docs | dist | fuzz | soak | audit | bench | lint | format | clean
PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest
READY_BENCH := $(VENV)/.ready-bench
READY_DOCS := $(VENV)/.ready-docs
READY_INTEGRATIONS := $(VENV)/.ready-integrations
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: demo test test-slow test-oldest test-integrations test-recipes browser docs test-docs dist fuzz soak audit bench lint format clean

demo: $(READY)
	@mkdir -p demo
	$(BIN)/python examples/les_miserables.py demo/les_miserables.csv
	$(BIN)/odsymnmf cluster demo/les_miserables.csv -r 6 -o demo/les_miserables --force

test: lint browser
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The whole suite with the oldest supported version of every package, in an environment of its own.
test-oldest: $(OLDEST)/.ready browser
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(OLDEST)/bin/python -m pytest -n 2

# Every kernel compiled anew, with every index checked.
test-slow: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow tests

# networkx, igraph, scanpy, cdlib and Dask for real, and the recipes of the site.
test-integrations: $(READY_INTEGRATIONS)
	$(BIN)/python -m pytest tests/integrations tests/distributed src/odsymnmf/distributed

# What would be uploaded: built, checked, installed into a clean environment, used there.
dist: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) .ci/smoke.py dist/*.whl

# The recipes of the site, each in a clean environment with only its extra.
test-recipes: dist
	$(PYTHON) .ci/smoke.py dist/*.whl $(or $(NAMES),recipes)

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

# The site, in build/docs: recipes and gallery are run, and a warning is an error.
docs: $(READY_DOCS)
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going --quiet -b html docs build/docs
	@echo "open build/docs/index.html"

test-docs: docs browser
	MPLBACKEND=Agg $(BIN)/python -m pytest docs/tests

# Other damaged files every time; a failure names the seed that brings it back.
fuzz: $(READY)
	$(BIN)/python tests/io/io_fuzz.py --rounds $(or $(ROUNDS),100000)

# Every promise of docs/reliability.md, other cases every time; SECONDS=60 for each line, or in full;
# LOG=soak.json SEED=1 TOTAL=300 goes on from that file for five minutes.
soak: $(READY)
	$(BIN)/python -m tests.soak $(NAMES) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SEED),--seed $(SEED)) \
		$(if $(LOG),--log $(LOG)) $(if $(TOTAL),--total $(TOTAL))

# Known vulnerabilities in what is installed: an error if there are some, and (NOT AUDITED) where
# nobody could be asked.
audit: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit 2>/dev/null \
		|| echo "pip-audit could not be installed"
	@$(BIN)/python .ci/audit.py

bench: $(READY_BENCH)
	$(BIN)/python -m benchmarks

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(READY)
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
	@echo "installing the peers to measure against"
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

clean:
	rm -rf $(VENV) $(OLDEST) demo dist build docs/made docs/api/names .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
