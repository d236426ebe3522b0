# These set everything up by themselves: `make demo`, `make gateway`, `make check` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# One more than there are cores: a good part of these tests waits for servers that they start.
WORKERS := $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=25
CORE_TESTS := tests/scores tests/theory tests/defenses \
	$(addprefix tests/test_, atomic.py errors.py progress.py randomness.py registry.py) \
	$(addprefix src/privee/, scores theory defenses atomic.py errors.py net.py progress.py randomness.py registry.py)
# A fifth of the examples, and not those that take seconds each: `make test` has all of them.
QUICK := --hypothesis-profile=check -k "not 100000 and not spawn"
# Where somebody has switched bytecode off, each of hundreds of processes would compile privee again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo gateway check test test-all lint types layers core unit slow notebooks pythons packages docs bench clean

demo: $(VENV)/demo.stamp
	$(BIN)/privee demo

gateway: $(VENV)/gateway.stamp
	$(BIN)/privee gateway demo

# The inner loop.
check: lint types layers core

# One of these keeps one core busy for a minute, and the tests the others.
test: lint
	$(MAKE) --no-print-directory -j2 types unit layers

# What takes minutes and repeats on running services what `make test` proves in smaller steps.
test-all: DOCS := -m slow
test-all: test slow notebooks pythons packages docs

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

layers: $(VENV)/dev.stamp
	$(BIN)/lint-imports

core: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(QUICK) $(CORE_TESTS)

unit: $(VENV)/dev.stamp
	$(PYTEST) -m "not slow"

slow: $(VENV)/dev.stamp
	$(PYTEST) -m slow --ignore=tests/docs

# The site into build/docs, strictly and without a network; then every block and command of the pages. `make test-all` has
# had those that take no time in `make test`.
docs: $(VENV)/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	$(PYTEST) --dist worksteal $(DOCS) tests/docs

# As a reader runs them, from the first cell to the last.
notebooks: $(VENV)/dev.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -q -p no:cacheprovider -o addopts= -o testpaths= --nbmake --nbmake-timeout=300 docs/notebooks

# The core alone, without PyTorch and the other extras, on every Python that is found here.
pythons:
	.ci/pythons $(QUICK) $(CORE_TESTS)

# Wheel and source package, installed as a stranger would: the core on each of these Pythons, every extra on 3.11.
packages:
	$(PYTHON) .ci/packages

bench: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/release.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("privee needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV) (once) ..."
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/gateway.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV) with the gateway (once; PyTorch makes this take minutes) ..."
	$(PIP) -e '.[gateway]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV) with the test tools (once; PyTorch makes this take minutes) ..."
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/demo.stamp $(VENV)/gateway.stamp

clean:
	rm -rf $(VENV) .venv-* build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
