# Two commands from a fresh clone: `make demo` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
STORE = .demo/speclog.duckdb
SGLANG_VENV ?= .venv-sglang

.PHONY: demo test test-sglang test-fleet fuzz lint types validate pictures bench-ingest bench-ingest-quick bench-report bench-store docs venv clean

venv: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("speclog needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

## demo: install, ingest the example logs, report against the baseline, print the report's path
demo: venv
	@mkdir -p .demo && rm -f $(STORE)
	$(BIN)/speclog --store $(STORE) ingest examples/logs
	$(BIN)/speclog --store $(STORE) report --vs baseline

## test: install, lint, types, tests (all but those that need a real SGLang or PostgreSQL: test-sglang, test-fleet)
test: venv lint types
	$(BIN)/python -m pytest -n 2

## test-sglang: the tests that run a real SGLang 0.5.14 on the CPU, in an environment of its own (6 GB)
test-sglang: venv $(SGLANG_VENV)/.installed
	@began=$$(date +%s); \
	SPECLOG_SGLANG_PYTHON=$(abspath $(SGLANG_VENV))/bin/python $(BIN)/python -m pytest -m sglang --durations=10; \
	status=$$?; echo "test-sglang: $$(($$(date +%s) - began)) s"; exit $$status

$(SGLANG_VENV)/.installed: tests/sglang/requirements.txt
	$(PYTHON) -c 'import sys; sys.exit("the pinned SGLang needs Python 3.11") if sys.version_info[:2] != (3, 11) else None'
	$(PYTHON) -m venv $(SGLANG_VENV)
	$(SGLANG_VENV)/bin/pip install -q --disable-pip-version-check torch==2.14.1 torchvision==0.29.1
	$(SGLANG_VENV)/bin/pip install -q --disable-pip-version-check --no-deps -r tests/sglang/requirements.txt
	@touch $@

FLEET = .venv-fleet
## test-fleet: real PostgreSQL, an S3 server, many writers, crashes, full disks, fuzz (an hour or two on two cores; SPECLOG_FLEET_FUZZ=2000 and the like make it shorter)
test-fleet: venv $(FLEET)/.installed
	SPECLOG_FLEET=1 SPECLOG_FLEET_NEWEST=$(CURDIR)/$(BIN)/python SPECLOG_FLEET_OLDEST=$(CURDIR)/$(FLEET)/oldest/bin/python \
	$(FLEET)/bin/python -m pytest tests/fleet tests/store

## fuzz: hostile logs through ingest alone (FUZZ=100000 of them)
FUZZ = 100000
fuzz: venv
	SPECLOG_FLEET=1 SPECLOG_FLEET_FUZZ=$(FUZZ) $(BIN)/python -m pytest tests/fleet/test_fuzz.py

$(FLEET)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FLEET)
	$(FLEET)/bin/pip install -q --disable-pip-version-check -e '.[dev,lake]' 'moto[s3,server]>=5,<6' 'duckdb-cli<2'
	$(PYTHON) -m venv $(FLEET)/oldest
	$(FLEET)/oldest/bin/pip install -q --disable-pip-version-check 'duckdb==1.4.4'
	@touch $@

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv
	$(BIN)/mypy --no-error-summary speclog

## validate: every claim about the numbers beside what is found; rewrites docs/validation.md
validate: venv
	PYTHONPATH=. $(BIN)/python -m bench.validate --write

## pictures: the figures of docs/, the example page and its picture, from the example logs
pictures: venv
	PYTHONPATH=. $(BIN)/python -m bench.pictures.break_even
	PYTHONPATH=. $(BIN)/python -m bench.pictures.report

## bench-ingest: how fast logs get in, against ripgrep, lnav and a Python loop; rewrites docs/performance.md
bench-ingest: venv
	PYTHONPATH=. $(BIN)/python -m bench.ingest

## bench-ingest-quick: the same with 0.25 GB of each file; prints only
bench-ingest-quick: venv
	PYTHONPATH=. $(BIN)/python -m bench.ingest --quick

## bench-report: report, index and check over 1,000 runs; writes its section of docs/performance.md
bench-report: venv
	PYTHONPATH=. $(BIN)/python -m bench.report --write

## bench-store: everyday questions on 10 million decode windows; writes its section of docs/performance.md
bench-store: venv
	PYTHONPATH=. $(BIN)/python -m bench.store --write

## docs: docs/cli.md from the commands' own help
docs: venv
	$(BIN)/python docs/_make/cli.py

clean:
	rm -rf $(VENV) $(FLEET) $(SGLANG_VENV) .demo build dist
