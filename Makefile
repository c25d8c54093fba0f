PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test setup lint types slow studies check clean

demo: setup  ## the main job on an embedded default
	$(BIN)/python -m maxentry.demo

test: setup  ## the quick tests, in parallel
	$(BIN)/python -m pytest -n auto -m "not slow"

setup: .venv/.ready

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

lint: setup
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: setup
	$(BIN)/mypy

slow: setup  ## the long statistical tests
	$(BIN)/python -m pytest -n auto -m slow

studies: setup  ## the studies in small: does the evidence still run?
	rm -rf build/studies
	$(BIN)/maxentry study paper --quick -o build/studies/paper
	$(BIN)/maxentry study suite --quick -o build/studies/suite

check: lint types test slow studies

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
