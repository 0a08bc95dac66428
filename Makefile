PYTHON ?= python3.11
VENV := .venv
STAMP := $(VENV)/.installed

.PHONY: help env quick test soak faults mutants wording system check demo demo-fit bench bench-nightly bench-large pictures quality study clean

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

PYTEST := $(VENV)/bin/python -m pytest --dist loadfile --no-loadscope-reorder

quick: check     ## at every save: style, types, and tests without server, browser or night; 2 minutes
	$(PYTEST) --numprocesses 2 -m 'not full and not soak' --prove quick

test: check      ## what must pass to land: style, types and all tests but the long ones
	$(PYTEST) --numprocesses 3 -m 'not soak' --prove test

soak: env        ## now and then: property tests on new examples, the long fault cases, random faults for SOAK_MINUTES (10)
	RANDOM_EXAMPLES=1 $(PYTEST) --numprocesses 2 -m 'not full and not soak'
	$(VENV)/bin/python -m pytest -s -m soak --prove soak

wording: env     ## docs/wording.md: everything that people read, to be reviewed as prose
	COLUMNS=80 $(VENV)/bin/python -m tests.wording

faults: env      ## docs/faults.md: every fault case, quick and long, run and judged
	rm -rf fault-cases
	FAULT_CASES=$(CURDIR)/fault-cases $(VENV)/bin/python -m pytest -m '' \
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
	$(VENV)/bin/python -m tests.quality.attacks

mutants: env     ## docs/mutants.md: defects planted one at a time, and which test notices each; hours
	$(VENV)/bin/python -m tests.mutants --out docs/mutants.md

study: env       ## the paper's experiments and claims at full size, kept in docs/study; 40 minutes
	$(VENV)/bin/urlr study --out study/full
	rm -rf docs/study
	mkdir -p docs/study/figures
	cp study/full/study.md study/full/bic.csv docs/study/
	cp study/full/figures/*.svg docs/study/figures/

clean:           ## remove what the targets above made
	rm -rf $(VENV) fault-cases demo demo-fit bench-results quality-results mutants-results.json study .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
