PYTHON ?= python3
BIN := .venv/bin
# Compiled test modules are kept, or every worker would compile them anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test rest setup lint types shape slow fuzz kill requests studies paper suite docs bench check clean
.PHONY: soak together attacks wheel bounds lowest newest pythons lock dependencies

demo: .venv/.demo  ## the main job on an embedded default; installs only what it needs
	$(BIN)/python -m maxentry.demo

.venv/.demo: pyproject.toml
	test -e .venv/.ready || $(PYTHON) -m venv .venv
	test -e .venv/.ready || $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c requirements-dev.lock -e .
	@touch $@

LONG := slow or process or browser or postgres or pages

test: setup  ## the quick tests, in parallel: no processes, no browser, no database server
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not ($(LONG))"

rest: setup  ## what `make test` leaves out: processes, browsers, PostgreSQL, pages, notebooks, slow laws
	$(BIN)/python -m pytest -n auto --dist worksteal --durations=30 -m "$(LONG)"

setup: .venv/.ready

.venv/.ready: pyproject.toml requirements-dev.lock
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements-dev.lock -e ".[dev]"
	@touch $@

lint: setup
	$(BIN)/ruff check src tests evidence benchmarks docsite release
	$(BIN)/ruff format --check src tests evidence benchmarks docsite release

types: setup
	$(BIN)/mypy

slow: setup  ## the long statistical tests
	$(BIN)/python -m pytest -n auto -m slow

N ?= 100000
SEED ?= $(shell date +%s)
fuzz: setup  ## odd values into Python, the command line, REST and files, without privileges: build/fuzz.md
	$(BIN)/python -m tests.fuzz --n $(N) --seed $(SEED)

KILLS ?= 1000
kill: setup  ## writing processes, the server and PostgreSQL killed again and again, without privileges
	$(BIN)/python -m tests.fuzz.kill --kills $(KILLS)

MINUTES ?= 10
soak: setup  ## a server under load: requests a second, how long they take, memory; ten minutes write benchmarks/soak.md
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

together: setup  ## eight processes that ask and tell on one campaign: writes benchmarks/together.md
	$(BIN)/python benchmarks/together.py

attacks: setup  ## write docs/attacks.md: what the four commands above found, and the tests of what had broken
	$(BIN)/python -m tests.fuzz.attacks

requests: export MAXENTRY_FUZZ ?= 300
requests: setup  ## hundreds of requests of every kind, by the server's own description: build/requests.md
	rm -f build/requests.md
	$(BIN)/python -m pytest -n auto -s tests/server/test_fuzz.py
	cat build/requests.md

# Real matrices lie beside the repository where there is no network.
studies paper suite: export MAXENTRY_DATA ?= $(wildcard $(CURDIR)/../shared/data)
studies: setup  ## the studies in small: does the evidence still run?
	rm -rf build/studies
	$(BIN)/python -m evidence paper --quick -o build/studies/paper
	$(BIN)/python -m evidence suite --quick -o build/studies/suite

paper: setup  ## the paper's figures, and its claims judged; takes hours, resumes where it stopped
	$(BIN)/python -m evidence paper -o build/paper

suite: setup  ## all strategies on simulated and real matrices; takes hours, resumes where it stopped
	$(BIN)/python -m evidence suite -o build/suite

bench: setup  ## beside its peers, each in an environment of its own; goes on where it was; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.peers

shape: setup  ## figures of the tree, and whether they are within their limits
	$(BIN)/python -m tests.shape

docs: setup  ## the site, in build/site; warnings are errors, and nothing in it comes from elsewhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python -m docsite.check build/site

wheel: setup  ## build sdist and wheel, install without extras in a fresh environment, run every command there
	$(BIN)/python -m release wheel

bounds: setup  ## the lowest and the newest versions of all dependencies, each with a few minutes of tests
	$(MAKE) -j2 --output-sync lowest newest

lowest newest: setup
	$(BIN)/python -m release $@

pythons: setup  ## the newest versions on every Python of the classifiers; each must be on this machine
	$(BIN)/python -m release pythons

lock: setup  ## renew requirements-dev.lock: the newest versions of all that development needs
	$(BIN)/python -m release lock

dependencies: setup  ## write docs/dependencies.md: versions, licences, known vulnerabilities
	$(BIN)/python -m release page

check: lint types shape test rest wheel studies docs

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
