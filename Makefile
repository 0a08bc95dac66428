PYTHON ?= python3.11
VENV := .venv
STAMP := $(VENV)/.installed

.PHONY: help env test soak faults system check demo demo-fit bench bench-nightly bench-large pictures quality study clean

help:            ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 15

env: $(STAMP)    ## the environment in .venv, from the pinned versions

$(STAMP): pyproject.toml constraints.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(VENV)/bin/pip check
	touch $@

check: env       ## style and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

test: check      ## style, types and the test suite
	$(VENV)/bin/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

soak: env        ## the long fault cases, random faults for SOAK_MINUTES (10) among them
	$(VENV)/bin/python -m pytest -s tests/faults/soak

faults: env      ## docs/faults.md: every fault case, quick and long, run and judged
	rm -rf fault-cases
	FAULT_CASES=$(CURDIR)/fault-cases $(VENV)/bin/python -m pytest --override-ini 'norecursedirs=.*' \
		--numprocesses 2 --dist loadfile --no-loadscope-reorder \
		--ignore tests/faults/test_table.py tests/faults \
		tests/tasks/test_bombs.py tests/tasks/test_malicious_models.py tests/flows/test_slips.py \
		tests/flows/test_refusals.py tests/deploy/test_bucket_policy.py
	$(VENV)/bin/python -m tests.faults.table fault-cases docs/faults.md

system:          ## the Debian packages that tests need: a browser, Prometheus, PostgreSQL
	deploy/install-test-programs.sh

demo: env        ## a simulated store, two nights of `urlr nightly`, and what people see
	$(VENV)/bin/python -m tests.demo demo

demo-fit: env    ## a simulated crowd, cleaned and ranked by `urlr fit`
	$(VENV)/bin/python -m tests.demo_fit demo-fit

bench: env       ## speed and memory against the stated bars (minutes)
	$(VENV)/bin/python -m tests.bench

bench-nightly: env ## what the pipeline adds to the fits, what a million votes cost, how it grows
	$(VENV)/bin/python -m tests.bench.nightly
	$(VENV)/bin/python -m tests.bench.cost
	$(VENV)/bin/python -m tests.bench.size

bench-large: env   ## one attribute of 100 million votes through a night, below 10 GiB
	$(VENV)/bin/python -m tests.bench.large

pictures: demo demo-fit ## README's pictures of the report, taken anew
	$(VENV)/bin/python -m tests.pictures demo demo-fit docs/pictures

quality: env     ## how well it ranks, against other methods; hours, results are kept
	$(VENV)/bin/python -m tests.quality
	$(VENV)/bin/python -m tests.quality.coverage
	$(VENV)/bin/python -m tests.quality.people

study: env       ## the paper's experiments and claims at full size, kept in docs/study; 40 minutes
	$(VENV)/bin/urlr study --out study/full
	rm -rf docs/study
	mkdir -p docs/study/figures
	cp study/full/study.md study/full/bic.csv docs/study/
	cp study/full/figures/*.svg docs/study/figures/

clean:           ## remove what the targets above made
	rm -rf $(VENV) fault-cases demo demo-fit bench-results quality-results study .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
