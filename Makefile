# Everything here sets itself up in .venv first; a second time that takes a fraction of a second.
# `make` alone prints what there is.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(BIN)/python

# Images of containers like to set it, and hundreds of processes would compile every package anew.
unexport PYTHONDONTWRITEBYTECODE

# What two cores can do at once; more on a bigger machine: make test TEST_WORKERS=8
TEST_WORKERS ?= 2
# Those with a real Spark wait half of their time.
SLOW_TEST_WORKERS ?= $(shell expr $(TEST_WORKERS) + 1)
ARGS ?=

CHECKED := $(wildcard runtime/weir backend/weir_backend workers/weir_workers migrations tools bench examples tests)
TYPED   := $(wildcard runtime/weir backend/weir_backend workers/weir_workers tools bench examples tests/e2e)
QUICK_TESTS := $(wildcard tests/unit tests/sim tests/backend tests/contract)
SLOW_TESTS  := $(wildcard tests/integration)

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-runtime down test test-runtime check contract sim chaos chaos-platform e2e bench bench-platform bench-ui ui ui-check ui-test ui-dev ui-types lock docs format audit clean

help: ## This list
	@echo "Weir: checkpointed streaming jobs inside Spark. Needs Python >= 3.11 and a package index; no root, no Docker, no Java."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  PYTHON=python3.12 picks the Python; ARGS='...' is passed on to the program that a target runs."

setup: ## Make .venv: locked packages, Weir itself, a Java wheel if there is no Java 17-25
	@$(PYTHON) tools/bootstrap.py

demo: setup ## weir up, jobs on real data deployed to it, workers killed, the result proved, a rollback and its undo; leaves it up
	@$(RUN) tools/node.py build:changed
	@$(RUN) examples/demo.py $(ARGS)

down: setup ## Suspend the live job of the demo, and stop the platform
	@$(RUN) examples/demo.py --down

demo-runtime: setup ## Without a platform: the same two jobs, a worker killed in the middle of each, the result proved
	@$(RUN) examples/demo_runtime.py $(ARGS)

test: setup ## All tests: web interface, unit, simulation, control plane; then those with a real Spark and a whole platform
	$(RUN) tools/node.py test
	$(RUN) -m pytest -n $(TEST_WORKERS) --durations=10 $(QUICK_TESTS) $(ARGS)
	$(if $(SLOW_TESTS),$(RUN) -m pytest -n $(SLOW_TEST_WORKERS) --dist loadfile --no-loadscope-reorder --durations=10 $(SLOW_TESTS) $(ARGS))

test-runtime: setup ## Of those, the ones of the runtime, which need no control plane
	$(RUN) -m pytest -n $(TEST_WORKERS) tests/unit tests/sim $(ARGS)
	$(RUN) -m pytest -n $(SLOW_TEST_WORKERS) --dist loadfile --no-loadscope-reorder tests/integration --ignore tests/integration/platform \
		--ignore tests/integration/demo/test_demo.py $(ARGS)

check: setup ## Lint, format, types, import directions, generated files, nothing of this machine in the repository
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports
	$(RUN) tools/generate_docs.py --check
	$(RUN) tools/check_portable.py
	$(RUN) tools/node.py types:check lint typecheck

contract: setup ## Requests made up for every endpoint, each answer held against the OpenAPI document: EXAMPLES=200
	EXAMPLES=$(or $(EXAMPLES),100) $(RUN) -m pytest $(wildcard tests/contract) $(ARGS)

sim: setup ## The deterministic simulator: SEED=7 replays one run, SEEDS=100000 runs many
	@$(RUN) -m weir.testing.sim $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),100000)) $(ARGS)

chaos: setup ## Real runs with random kills and pauses, output checked against an oracle: RUNS=200
	@$(RUN) tests/chaos/run.py --runs $(or $(RUNS),200) $(ARGS)

chaos-platform: setup ## A whole platform whose processes are killed at random while a job is taken back and forth: RUNS=50
	@$(RUN) tests/chaos_platform/run.py --runs $(or $(RUNS),50) $(ARGS)

e2e: setup ## The web interface in a real Chromium, over a platform and a job of its own; screenshots in build/e2e: ARGS='-k rollback'
	$(RUN) tools/node.py types build
	$(RUN) tools/browser.py
	$(RUN) -m pytest --durations=10 tests/e2e $(ARGS)

bench: setup ## Throughput, cost of checkpoints, latency; prints a table, appends to build/bench/results.jsonl
	@$(RUN) bench/run.py $(ARGS)

bench-platform: setup ## The control plane with a million events: reading, ingest, streams, growth; appends to build/bench/platform.jsonl
	@$(RUN) bench/platform/run.py $(ARGS)

bench-ui: setup ## The web interface in a real Chromium: its first page, and a job of 200 operators x 8 subtasks; appends to build/bench/ui.jsonl
	@$(RUN) tools/node.py build budget
	@$(RUN) tools/node.py build:invented
	@$(RUN) bench/ui/run.py $(ARGS)

ui: setup ## Build the web interface into frontend/dist, where the API finds it; Node.js comes along where there is none >= 22.14
	@$(RUN) tools/node.py types build budget

ui-check: setup ## The web interface: types of the API up to date, lint, types
	@$(RUN) tools/node.py types:check lint typecheck

ui-test: setup ## Tests of the web interface (vitest): ARGS='src/format'
	@$(RUN) tools/node.py test -- $(ARGS)

ui-dev: setup ## The web interface over an invented installation, at http://localhost:5173: name admin, password weir
	@$(RUN) tools/node.py dev -- $(ARGS)

ui-types: setup ## Write frontend/src/api/schema.ts anew from the OpenAPI document of the backend
	@$(RUN) tools/node.py types

format: setup ## Let ruff put formatting and imports right
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

docs: setup ## Write docs/protocol/ anew from the tables in the code
	$(RUN) tools/generate_docs.py

lock: setup ## Resolve requirements/*.lock anew from pyproject.toml: UPGRADE=1 takes newer versions
	$(RUN) tools/lock.py $(if $(UPGRADE),--upgrade)

audit: setup ## Known vulnerabilities in the locked packages (asks an advisory service)
	@$(RUN) tools/audit.py

clean: ## Remove what the targets above wrote, .venv and .node apart
	rm -rf build dist frontend/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse metastore_db derby.log
	find runtime backend workers migrations tools tests -name __pycache__ -type d -prune -exec rm -rf {} +
