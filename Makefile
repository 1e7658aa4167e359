# Two commands from a fresh clone: `make demo` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
STORE = .demo/speclog.duckdb

.PHONY: demo test lint types venv clean

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

## test: install, lint, types, every test
test: venv lint types
	$(BIN)/python -m pytest -n 2

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv
	$(BIN)/mypy --no-error-summary speclog

clean:
	rm -rf $(VENV) .demo .bench build dist
