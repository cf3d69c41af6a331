# Every target makes the environment it needs: one virtual environment, from a lock file with hashes.

SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Hundreds of processes start in tests, of the same modules: what one compiles, all find, whatever the
# caller told Python.
unexport PYTHONDONTWRITEBYTECODE

# More arguments for pytest or for the comparison, as in: make test ARGS="-k tombstone"
ARGS ?=

# The sweeps whose report is reports/NAME.md; of log_end it is log_end_runs.md, beside the matrix.
REPORTS := leo_fixes cures replication log_end log_end_unclean

DEMO := reports/demo
PLAN := scenarios/sweeps/demo.yaml

HAVE_JAVA = command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" >/dev/null
NO_JAVA := needs Java 17 or 21, and there is none; on Debian: apt-get install openjdk-17-jre-headless

.PHONY: help
help:  ## what can be made
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):[^#]*## /\1	/' | expand -t 15

# PySpark comes as source, which pip packs into a wheel to unpack it: compressing that takes 20 s.
.PHONY: install
install: $(STAMP)  ## make the environment (.venv); again only when pyproject.toml or the lock changed

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Replog needs Python 3.11 or newer; name one: make install PYTHON=python3.11" >&2; exit 2; }
	@echo "making the environment in $(VENV) (the first time takes a few minutes) ..." >&2
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@printf '[bdist_wheel]\ncompression = stored\n' > $(VENV)/packing.cfg
	@DIST_EXTRA_CONFIG=$(abspath $(VENV)/packing.cfg) $(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: demo
demo: $(STAMP)  ## run the scenario suite, sweep both fixes on random scenarios, write the report
	$(BIN)/replog suite scenarios --strict
	@if ! $(HAVE_JAVA); then echo "The sweep of the demo $(NO_JAVA)"; exit 0; fi; \
	set -ex; rm -rf $(DEMO); \
	$(BIN)/replog sweep $(PLAN) --out $(DEMO) --engine spark; \
	$(BIN)/replog report $(DEMO)

# Every step goes on where it was stopped. What is in reports/NAME/ must be of this revision: make
# reports-clean begins anew.
.PHONY: reports
reports: $(STAMP)  ## all reports in reports/: see reports/README.md for how long
	@set -e; \
	export REPLOG_REVISION="$$(git describe --always --tags --dirty 2>/dev/null)"; \
	for name in $(REPORTS); do \
	  echo "$$(date +%T) $$name" >&2; \
	  $(BIN)/replog sweep scenarios/sweeps/$$name.yaml $(ARGS) --resume \
	    --engine process --out reports/$$name >/dev/null; \
	done; \
	for name in $(REPORTS); do \
	  echo "$$(date +%T) reports/$$name.md" >&2; \
	  $(BIN)/replog report reports/$$name >/dev/null; \
	  cp reports/$$name/report.md reports/$$name.md; \
	done; \
	cp reports/leo_fixes/report.html reports/leo_fixes.html; \
	$(BIN)/python -m tests.report.quoting; \
	mv reports/log_end.md reports/log_end_runs.md; \
	echo "$$(date +%T) reports/log_end.md" >&2; \
	$(BIN)/replog matrix scenarios/kip280 scenarios/findings --vary fix \
	  --skip 'kip280_0[1-6]*' --skip 'finding_03*' --under follower_position+leo_source \
	  --under truncation=epoch_diverging,epoch_kip101,high_watermark --under strategy \
	  -o reports/log_end.md >/dev/null; \
	echo "$$(date +%T) done" >&2

# Two searches at a time; what is done stays done, so that it goes on where it was stopped.
EXPLORED := build/explore
.PHONY: explore
explore: $(STAMP)  ## every schedule of the small worlds in scenarios/explore, and reports/explore.md
	@set -e; for plan in scenarios/explore/*.yaml; do \
	  name=$$(basename $$plan .yaml); echo "$$(date +%T) $$name" >&2; \
	  resume=; if [ -e $(EXPLORED)/$$name ]; then resume=--resume; fi; \
	  $(BIN)/replog explore $$plan --out $(EXPLORED)/$$name -j 2 $$resume >/dev/null; \
	done; \
	$(BIN)/python -m tests.report.explored $(EXPLORED)

.PHONY: reports-clean
reports-clean:  ## remove the sweeps that reports were made from
	rm -rf $(foreach name,$(REPORTS),reports/$(name))

# One process more than cores: some tests wait, for Java or for processes of their own.
.PHONY: test
test: $(STAMP)  ## all tests, those on Spark included
	@$(HAVE_JAVA) || { echo "Some of the tests run on Spark, which $(NO_JAVA)" >&2; exit 2; }
	@$(BIN)/python -m pytest -n $$((1 + $$($(PYTHON) -c 'import os; print(min(4, os.cpu_count()))'))) \
	  --dist worksteal $(ARGS)

# For an hour, unless ARGS says otherwise, as in: make fuzz ARGS="--minutes 10 --seed 7"
.PHONY: fuzz
fuzz: $(STAMP)  ## mistaken files and legal commands, for an hour; what it finds is in build/fuzz
	@$(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: chaos
chaos: $(STAMP)  ## sweeps, and Spark clusters, killed, paused, continued and compared, for an hour
	@$(HAVE_JAVA) || { echo "Spark $(NO_JAVA)" >&2; exit 2; }
	@$(BIN)/python -m tests.chaos $(ARGS)

.PHONY: lint
lint: $(STAMP)  ## style, format, types, who may import whom
	$(BIN)/ruff check
	$(BIN)/ruff check --preview --select PLW1514 sim
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict sim tests/bench tests/conformance tests/zoo tests/audits tests/rules/misspelt.py
	$(BIN)/lint-imports

.PHONY: notebooks
notebooks: $(STAMP)  ## execute the notebooks; an error fails, and another output; ARGS=--write takes it
	@$(BIN)/python notebooks/execute.py $(ARGS)

# Builds without the network; a link that leads nowhere fails.
.PHONY: site
site: $(STAMP)  ## the documentation as a site in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet -f notebooks/guide/mkdocs.yml

# As somebody who has pip and nothing else: what the lock file or the test tools bring is not there.
TUTORIAL := build/tutorial
.PHONY: tutorial
tutorial:  ## the tutorial, command by command, in an environment that pip install made
	@rm -rf $(TUTORIAL) && $(PYTHON) -m venv $(TUTORIAL)
	@$(TUTORIAL)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  '.[report]'
	@$(TUTORIAL)/bin/python tests/guide/run_page.py notebooks/guide/pages/tutorial.md \
	  --path $(TUTORIAL)/bin

.PHONY: bench
bench: $(STAMP)  ## measure beside bare SimPy, write reports/bench.json
	$(BIN)/python -m tests.bench $(ARGS)

.PHONY: digests
digests: $(STAMP)  ## Spark, processes and this process alone: the same digests of 2,000 runs
	@$(HAVE_JAVA) || { echo "Spark $(NO_JAVA)" >&2; exit 2; }
	$(BIN)/python -m tests.bench.digests $(ARGS)

.PHONY: certify
certify: $(STAMP)  ## 3,000 random runs and all scenarios: does the oracle of traces find the same
	$(BIN)/python -m tests.bench.certified $(ARGS)

.PHONY: conformance
conformance: $(STAMP)  ## compare the cleaner with Apache Kafka's own and with a real broker
	@$(HAVE_JAVA) || { echo "Kafka $(NO_JAVA)" >&2; exit 2; }
	@$(BIN)/python -m tests.conformance $(ARGS)

# A second for each defect, two at a time, while what detected it last time does so still; a minute
# where everything has to be tried. ARGS="--afresh" tries everything for all of them, in an hour and a
# half, and goes on where it was stopped. Others: --only GROUP or NAME, --page.
.PHONY: zoo
zoo: $(STAMP)  ## plant defects one by one, see that something detects each; reports/zoo.md
	@$(BIN)/python -m tests.zoo $(ARGS)

# Fresh runs each day; the seed is printed. Others: ARGS="--minutes 60 --seed 7", or ARGS="--run 'far 60 15'".
.PHONY: audit
audit: $(STAMP)  ## random runs with audits, for ten minutes: what in them only Replog can get wrong
	@$(BIN)/python -m tests.audits $(ARGS)

.PHONY: lock
lock:  ## write requirements.lock anew from pyproject.toml; needs uv on the PATH
	uv pip compile pyproject.toml --all-extras --group test --group lint --group build --group docs \
	  --group conformance \
	  --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet --upgrade --output-file requirements.lock

.PHONY: clean
clean:  ## remove the environment, the caches and the demo's output
	rm -rf $(VENV) $(DEMO) build dist *.egg-info .coverage .hypothesis .import_linter_cache \
	  .mypy_cache .pytest_cache .ruff_cache artifacts derby.log metastore_db spark-warehouse
	find sim tests -type d -name __pycache__ -prune -exec rm -rf {} +
