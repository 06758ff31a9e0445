# Every target sets up what it needs: `make demo` and `make test` work on a fresh checkout.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo serve test soak lint types unit bench docs package browser axe postgres java clean

help:  ## What can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(VENV)/base: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/base

demo: $(VENV)/base  ## Anonymise made-up patients and show where the report is
	$(BIN)/python -m sfumato.demo demo

$(VENV)/server: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[server]'
	touch $@ $(VENV)/base

PORT ?= 8000
serve: $(VENV)/server  ## Serve made-up patients at http://127.0.0.1:8000
	$(BIN)/sfumato serve sfumato-site --example --port $(PORT)

test: lint types unit  ## Everything: lint, types, tests

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

# Tests of one group share a process, so that one JVM serves all tests with Spark.
unit: $(VENV)/dev browser axe postgres java
	$(BIN)/pytest -n 2 -q

soak: $(VENV)/dev browser axe postgres java  ## The tests that run for minutes
	$(BIN)/pytest -n 2 -q -m soak

# Chromium opens the report in the tests; where it cannot be installed those tests say so and skip.
browser:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } \
	  || echo "Chromium is not installed and cannot be installed here; the browser tests will skip."

# axe-core looks at every page in the tests; where npm has none, those tests look without it.
axe: ; @test -e .axe/package/axe.min.js || { mkdir -p .axe && cd .axe && npm pack --silent axe-core@4 >/dev/null \
	  && tar xzf axe-core-*.tgz package/axe.min.js; } || echo "axe-core cannot be had here; pages are tried without it."

# The tests start a server of their own from these programs; where there are none they say so and skip.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq postgresql; } \
	  || echo "Postgres is not installed and cannot be installed here; its tests will skip."

# Spark comes from PyPI and runs on the machine's Java; where there is none its tests say so and skip.
java:
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq default-jre-headless; } \
	  || echo "Java is not installed and cannot be installed here; the tests of Spark will skip."

bench: $(VENV)/dev  ## Speed and quality beside the rivals
	$(BIN)/python bench/run.py

docs: $(VENV)/dev  ## The documentation as a site, offline: site/index.html
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs site
	@echo "site/index.html"

package: $(VENV)/dev  ## Wheel and source archive in dist/, each installed and tried in an empty environment
	$(BIN)/pip install --quiet build
	rm -rf dist && $(BIN)/python -m build --quiet --outdir dist .
	for built in dist/*.whl dist/*.tar.gz; do \
	  rm -rf .venv-package && $(PYTHON) -m venv .venv-package && .venv-package/bin/pip install --quiet "$$built" \
	  && .venv-package/bin/sfumato --version && .venv-package/bin/python -m sfumato.demo .venv-package/demo || exit 1; \
	done
	rm -rf .venv-package

clean:  ## Remove what the other targets made
	rm -rf $(VENV) .venv-bench .venv-package demo sfumato-site site docs/names dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
