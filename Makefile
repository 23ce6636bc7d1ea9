# Everything below runs in a virtual environment that is made on first use.
#
#   PYTHON=python3.13    interpreter to make it with (3.11 or later)
#   VENV=DIR             where it is
#   CONSTRAINTS=FILE     versions to install, as of `pip install -c FILE`
#   TESTS=...            which tests to run, as arguments of pytest; all by default
#   WORKERS=N            how many of them at a time

PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?=
TESTS ?=
WORKERS ?= 2

BIN := $(VENV)/bin
# The stamp's name holds the constraints, so that other ones lead to another installation.
STAMP := $(VENV)/.installed-$(or $(notdir $(CONSTRAINTS)),newest)

.DEFAULT_GOAL := help
.PHONY: help plan test lint bench results coverage clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

plan: $(STAMP) ## Plan the built-in example into results/example
	$(BIN)/provisioner plan --out results/example --force

test: $(STAMP) ## Run the tests
	$(BIN)/pytest -n $(WORKERS) --durations=15 $(TESTS)

lint: $(STAMP) ## Check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP) ## Print speeds of the engine, and what the proofs rest on
	$(BIN)/python -m benchmarks

results: plan ## Make again every run that the documents quote
	$(BIN)/provisioner reproduce splitwise --out results/splitwise --force

coverage: $(STAMP) ## Run the tests and show the lines they miss
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report

clean: ## Remove environments, caches, build products and the example's run
	rm -rf .venv .venv-lowest .venv-newest build dist results/example
	rm -rf .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
	    "provisioner needs Python 3.11 or later, $(PYTHON) is " + sys.version.split()[0] + \
	    "; name another one: make PYTHON=python3.12 ...")'
	@echo "installing into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --upgrade --upgrade-strategy eager $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[dev]'
	@rm -f $(VENV)/.installed-*
	@touch $@
