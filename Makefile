# Every target sets up what it needs: `make demo` and `make test` work on a fresh checkout.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo serve test quick soak scale lint types unit kernels bench measure docs package browser axe postgres java clean

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

# APT=no installs nothing: tests of what is missing say so and skip.
APT ?= yes
define fetch
	@$(1) >/dev/null 2>&1 || { test "$(APT)" != no && command -v apt-get >/dev/null \
	  && echo "make: $(2) is missing; running apt-get install $(3) (make test APT=no does without)" \
	  && apt-get update -qq && apt-get install -y -qq $(3); } \
	  || echo "$(2) is not installed; $(4)"
endef

test: lint types unit  ## Everything: lint, types, tests; APT=no installs no system packages

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy --num-workers 2

# What numba makes of the kernels, in one library that needs no numba: what has changed is made anew.
kernels: $(VENV)/dev  ## Compile the kernels ahead, so that nothing waits for a compiler
	@$(BIN)/python native/build.py

# Tests of one group share a process, so that one JVM serves all tests with Spark. Three processes
# keep two cores busy: many tests wait for a browser, a server or the JVM.
unit: $(VENV)/dev browser axe postgres java kernels
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 3 -q --durations 25

quick: lint  ## Lint, and within a minute the tests of what changed and of the core
	$(BIN)/pytest -n 2 -q -m "not soak and not scale and not browser" -k "not spark" \
	  $$($(BIN)/python tests/services/scheduling.py)

soak: $(VENV)/dev browser axe postgres java  ## The many runs, with fresh draws; goes on where it was ended
	$(BIN)/pytest -n 2 -q -m soak --soak --durations 25

scale: $(VENV)/dev  ## Large data
	$(BIN)/pytest -n 0 -q -m scale --durations 0

# Chromium opens the report in the tests; where it cannot be installed those tests say so and skip.
browser: ; $(call fetch,command -v chromium,Chromium,chromium chromium-driver,the browser tests will skip.)

# axe-core looks at every page in the tests; where npm has none, those tests look without it.
axe: ; @test -e .axe/package/axe.min.js || { mkdir -p .axe && cd .axe && npm pack --silent axe-core@4 >/dev/null \
	  && tar xzf axe-core-*.tgz package/axe.min.js; } || echo "axe-core cannot be had here; pages are tried without it."

# The tests start a server of their own from these programs; where there are none they say so and skip.
postgres: ; $(call fetch,ls /usr/lib/postgresql/*/bin/initdb,Postgres,postgresql,its tests will skip.)

# Spark comes from PyPI and runs on the machine's Java; where there is none its tests say so and skip.
java: ; $(call fetch,command -v java,Java,default-jre-headless,the tests of Spark will skip.)

bench: $(VENV)/dev  ## Speed and quality beside the rivals
	$(BIN)/python bench/run.py

measure: $(VENV)/dev  ## Size, form and journeys of src/ beside their limits
	$(BIN)/python tools/measure.py

docs: $(VENV)/dev  ## The documentation as a site, offline: site/index.html
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs site
	@echo "site/index.html"

package: $(VENV)/dev kernels  ## Wheels and source archive in dist/, each installed and tried with every Python there is
	$(BIN)/pip install --quiet build
	rm -rf dist && $(BIN)/python -m build --outdir dist . >/dev/null
	made=$(CURDIR)/src/sfumato/$$($(BIN)/python native/build.py --name); test ! -e $$made \
	  || SFUMATO_KERNELS=$$made $(BIN)/python -m build --wheel --outdir dist . >/dev/null
	$(BIN)/python tests/services/try_package.py dist --every

clean:  ## Remove what the other targets made
	rm -rf $(VENV) .venv-bench .venv-package demo sfumato-site site docs/names dist .kernels src/sfumato/_kernels*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
