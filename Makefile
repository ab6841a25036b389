# Every target except help and clean runs setup first. Setup does nothing if .venv is up to date. `make` alone lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(BIN)/python

# Container images often set PYTHONDONTWRITEBYTECODE.
# Without bytecode files, each of hundreds of Python processes would compile every package.
unexport PYTHONDONTWRITEBYTECODE

# The default number of test workers suits two cores. On a machine with more cores, run make test TEST_WORKERS=8.
TEST_WORKERS ?= 2
# Tests with a real Spark spend half of their time waiting.
SLOW_TEST_WORKERS ?= $(shell expr $(TEST_WORKERS) + 1)
ARGS ?=

CHECKED := $(wildcard runtime/weir backend/weir_backend workers/weir_workers migrations tools bench examples tests)
TYPED   := $(wildcard runtime/weir backend/weir_backend workers/weir_workers tools bench examples tests/e2e)
QUICK_TESTS := $(wildcard tests/unit tests/sim tests/backend tests/contract)
SLOW_TESTS  := $(wildcard tests/integration)
# With these tests, make test would take longer than 20 minutes on two cores.
STORIES     := tests/integration/demo/test_demo.py tests/integration/platform/test_life_of_a_job.py tests/integration/platform/test_rollback.py

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-runtime down test test-quick test-integration test-stories test-runtime check contract sim chaos chaos-platform upgrade-check e2e bench bench-load bench-small-files bench-restore bench-scale bench-platform bench-ui ui ui-check ui-test ui-dev ui-types lock docs pictures format audit clean

help: ## List the targets
	@echo "Weir: checkpointed streaming jobs inside Spark. Needs Python >= 3.11 and a package index; no root, no Docker, no Java."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  PYTHON=python3.12 chooses the Python; ARGS='...' is passed to the program that a target runs."

setup: ## Create .venv: locked packages, Weir itself, a Java wheel if Java 17-25 is not installed
	@$(PYTHON) tools/bootstrap.py

demo: setup ## Start a platform, deploy jobs on real data, kill slots, verify the result, roll back and undo; the platform stays running
	@$(RUN) tools/node.py build:changed
	@$(RUN) examples/demo.py $(ARGS)

down: setup ## Suspend the live job of the demo and stop the platform
	@$(RUN) examples/demo.py --down

demo-runtime: setup ## Run two jobs without a platform, kill a slot of each job, verify the result
	@$(RUN) examples/demo_runtime.py $(ARGS)

test: ## Run test-quick, then test-integration
	$(MAKE) test-quick
	$(MAKE) test-integration

test-quick: setup ## Run the tests of the web UI and the control plane, the unit tests and the simulator
	$(RUN) tools/node.py test
	$(RUN) -m pytest -n $(TEST_WORKERS) --durations=10 $(QUICK_TESTS) $(ARGS)

test-integration: setup ## Run the tests with a real Spark and a platform
	$(if $(SLOW_TESTS),$(RUN) -m pytest -n $(SLOW_TEST_WORKERS) --dist loadfile --no-loadscope-reorder --durations=10 $(SLOW_TESTS) $(addprefix --ignore ,$(STORIES)) $(ARGS))

test-stories: setup ## Run long stories on a platform: the demo, the life of a job, rollbacks and their undo
	$(RUN) -m pytest -n $(SLOW_TEST_WORKERS) --dist loadfile --durations=10 $(STORIES) $(ARGS)

test-runtime: setup ## Run the tests of the runtime, without the control plane
	$(RUN) -m pytest -n $(TEST_WORKERS) tests/unit tests/sim $(ARGS)
	$(RUN) -m pytest -n $(SLOW_TEST_WORKERS) --dist loadfile --no-loadscope-reorder tests/integration --ignore tests/integration/platform \
		--ignore tests/integration/demo/test_demo.py $(ARGS)

check: setup ## Check lint, format, types, import directions and generated files; fail if a file depends on this machine
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports
	$(RUN) tools/generate_docs.py --check
	$(RUN) tools/check_portable.py
	$(RUN) tools/node.py types:check lint typecheck

contract: setup ## Send generated requests to every endpoint and check responses against the OpenAPI document: EXAMPLES=200 sends up to 200 requests per endpoint (default 100)
	EXAMPLES=$(or $(EXAMPLES),100) $(RUN) -m pytest $(wildcard tests/contract) $(ARGS)

sim: setup ## Run the deterministic simulator: SEED=7 replays one run, SEEDS=100000 runs many
	@$(RUN) -m weir.testing.sim $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),100000)) $(ARGS)

chaos: setup ## Run real jobs with random kills and pauses and check their output against an oracle: RUNS=200
	@$(RUN) tests/chaos/run.py --runs $(or $(RUNS),200) $(ARGS)

chaos-platform: setup ## Kill processes of a platform at random during a rollback and its undo: RUNS=50
	@$(RUN) tests/chaos_platform/run.py --runs $(or $(RUNS),50) $(ARGS)

upgrade-check: setup ## Check that this version upgrades data of an older commit and resumes its jobs: FROM=22a160e
	@$(RUN) tools/upgrade_check.py $(or $(FROM),$(error FROM is missing: make upgrade-check FROM=COMMIT))

e2e: setup ## Test the web UI in Chromium, with a platform and a job; screenshots in build/e2e: ARGS='-k rollback'
	$(RUN) tools/node.py types build
	$(RUN) tools/browser.py
	$(RUN) -m pytest --durations=10 tests/e2e $(ARGS)

bench: setup ## Measure throughput, cost of checkpoints and latency; appends to build/bench/results.jsonl
	@$(RUN) bench/run.py $(ARGS)

bench-load: setup ## Measure cores and latency far below the maximum rate; appends to build/bench/load.jsonl: ARGS='--slots 2,16 --rates 0,30000'
	@$(RUN) bench/load.py $(ARGS)

bench-small-files: setup ## Measure a job that reads 100,000 small files, with a checkpoint every second: ARGS='--only parquet --files 5000'
	@$(RUN) bench/small_files.py $(ARGS)

bench-platform: setup ## Measure the control plane with a million events: reads, ingest, streams, growth; appends to build/bench/platform.jsonl
	@$(RUN) bench/platform/run.py $(ARGS)

bench-restore: setup ## Measure the time and memory of restoring keyed state in a slot; appends to build/bench/restore.jsonl: ARGS='--gigabytes 8'
	@$(RUN) bench/restore.py $(ARGS)

bench-scale: setup ## Measure the coordinator with up to 1,024 simulated slots; appends to build/bench/scale.jsonl: ARGS='--slots 64'
	@$(RUN) bench/scale.py $(ARGS)

bench-ui: setup ## Measure the web UI in Chromium: first page, and a job of 200 operators x 8 subtasks; appends to build/bench/ui.jsonl
	@$(RUN) tools/node.py build budget
	@$(RUN) tools/node.py build:fake
	@$(RUN) bench/ui/run.py $(ARGS)

ui: setup ## Build the web UI into frontend/dist; installs Node.js if the system has none >= 22.14
	@$(RUN) tools/node.py types build budget

ui-check: setup ## Check the web UI: generated API types, lint, types
	@$(RUN) tools/node.py types:check lint typecheck

ui-test: setup ## Run the tests of the web UI (vitest): ARGS='src/format'
	@$(RUN) tools/node.py test -- $(ARGS)

ui-dev: setup ## Serve the web UI with simulated data at http://localhost:5173: user admin, password weir
	@$(RUN) tools/node.py dev -- $(ARGS)

ui-types: setup ## Generate the API types in frontend/src from the OpenAPI document
	@$(RUN) tools/node.py types

format: setup ## Format code and sort imports with ruff
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

docs: setup ## Generate docs/protocol/ from the tables in the code
	$(RUN) tools/generate_docs.py

pictures: setup ## Write docs/pictures/ for README from the results of make e2e and make bench
	@$(RUN) tools/pictures.py $(ARGS)

lock: setup ## Resolve requirements/*.lock from pyproject.toml: UPGRADE=1 takes newer versions
	$(RUN) tools/lock.py $(if $(UPGRADE),--upgrade)

audit: setup ## Report known vulnerabilities in the locked packages (asks an advisory service)
	@$(RUN) tools/audit.py

clean: ## Delete the files that other targets created, except .venv and .node
	rm -rf build dist frontend/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse metastore_db derby.log
	find runtime backend workers migrations tools tests -name __pycache__ -type d -prune -exec rm -rf {} +
