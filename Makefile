# make demo · make test: all that is needed is Python 3.11 or later, git and make.
# Everything is set up in .venv first; the second time that takes no time.

# The newest of these that works; say `make PYTHON=/path/to/python …` for another one.
PYTHON ?= $(shell for each in python3.13 python3.12 python3.11 python3 python; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo $$each; break; }; done)
SHARED ?= ../shared
BENCH ?= sequence
PYTEST ?= -q -n auto --maxprocesses 4

bin := .venv/bin
ready := .venv/.ready

.PHONY: help setup demo test test-all test-slow conformance bench wheel lint clean

help:
	@echo 'make demo         watch EP-SPARQL find complex events in a stream of stock prices (DEMO=vienna: in a city)'
	@echo 'make test         the tests that everybody runs, in minutes'
	@echo 'make test-all     all of them              make test-slow   the ones that take many minutes each'
	@echo 'make conformance  run the W3C SPARQL suites in $$SHARED (now: $(SHARED))'
	@echo 'make bench        measure; BENCH=name picks one (now: $(BENCH))'
	@echo 'make wheel        build the wheel, install it elsewhere, and run the demo of that'
	@echo 'make setup        only prepare .venv       make lint  make clean'

setup: $(ready)

$(ready): pyproject.toml constraints.txt tools/prepare.py
	@test -n "$(PYTHON)" || { echo 'setup: no Python 3.11 or later was found;' \
		'install one, or name it: make PYTHON=/path/to/python' >&2; exit 1; }
	@$(PYTHON) tools/prepare.py .venv

demo: $(ready)
	@$(bin)/penstock demo $(DEMO)

test: $(ready)
	@$(bin)/python -m pytest $(PYTEST)

test-all: test
	@$(bin)/python -m pytest $(PYTEST) -m "more and not slow"

test-slow: $(ready)
	@$(bin)/python -m pytest $(PYTEST) -m slow

conformance: $(ready)
	@SHARED="$(SHARED)" $(bin)/python -m tests.conformance

bench: $(ready)
	@$(bin)/penstock bench $(BENCH)

wheel: $(ready)
	@$(bin)/python tools/try_wheel.py

lint: $(ready)
	@$(bin)/ruff check src tests tools
	@$(bin)/ruff format --check src tests tools
	@$(bin)/mypy

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db
	rm -rf derby.log artifacts src/*.egg-info .mypy_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
