# make demo, test, check, docs and bench set everything up by themselves: they create .venv and install into
# it (again only when pyproject.toml changes), then run. Any Python 3.10 or newer will do; choose one with PYTHON=...
CANDIDATES := python3 python3.13 python3.12 python3.11 python3.10 python3.14 python3.15 python
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))
PYTHON ?= $(shell for p in $(CANDIDATES); do $$p -c '$(USABLE)' >/dev/null 2>&1 && echo $$p && break; done)
WORKERS ?= 2
BIN := .venv/bin

.PHONY: oldest settings demo test check docs bench clean
.DELETE_ON_ERROR:

demo: .venv/.demo
	$(BIN)/catena demo

test: .venv/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The lower bounds of pyproject.toml, with the oldest releases that they allow. Those need Python 3.10 or 3.11.
SAMPLE := tests/kernels/machine tests/kernels/call tests/functions/test_question.py tests/cli/test_info.py
oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python tests/oldest.py > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet -r .venv-oldest/oldest.txt
	PYTHONPATH=src .venv-oldest/bin/python -m pytest -p no:cacheprovider $(SAMPLE)

# A sample under each setting that chooses other machine code.
settings: .venv/.dev
	for setting in CATENA_VECTOR_BITS=128 CATENA_VECTOR_BITS=256 CATENA_VECTOR_BITS=512 CATENA_ASSEMBLY=0; do \
	  echo $$setting; env $$setting $(BIN)/python -m pytest -p no:cacheprovider $(SAMPLE) || exit 1; done

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

docs: .venv/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build
	@echo "open docs/_build/index.html"

bench: .venv/.bench
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/report.py
	@echo "docs/benchmarks.md and README.md show what was measured"

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Catena needs Python 3.10 or newer with venv and pip (Debian: apt install python3-venv)." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip  # old ones search for many minutes

.venv/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[view,mjcf]'
	@touch $@

.venv/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ .venv/.demo

.venv/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@ .venv/.demo

.venv/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

clean:
	rm -rf docs/_build docs/jupyter_execute .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .venv-oldest build dist
