# make chat: talk in the terminal.  make test: run the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
USER_NAME ?= $(or $(USER),me)

.PHONY: chat test test-slow lint fix bench bench-load bench-soak bench-consolidation lock clean

chat: $(VENV)/.installed
	@$(BIN)/oboete chat --user "$(USER_NAME)"

test: $(VENV)/.developed
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/.developed
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(VENV)/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: $(VENV)/.developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.developed
	$(BIN)/python -m tests.bench

bench-load: $(VENV)/.developed
	$(BIN)/python -m tests.bench.load

bench-soak: $(VENV)/.developed
	$(BIN)/python -m tests.bench.soak

bench-consolidation: $(VENV)/.developed
	$(BIN)/python -m tests.bench.consolidation

# Renew constraints.txt from the newest versions that pyproject.toml allows.
lock:
	rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --editable '.[dev]'
	$(VENV)/lock/bin/python -m pip freeze --exclude-editable > constraints.txt
	rm -rf $(VENV)/lock

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[embedded]'
	@touch $@

$(VENV)/.developed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
