# Every target builds what it needs: only Python 3.11+, git and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo faults fuzz test lint bench experiments shoots docs clean

demo: $(INSTALLED)
	$(BIN)/wideflow demo -o demo-out

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto

lint: $(INSTALLED)
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

experiments: $(INSTALLED)
	$(BIN)/python -m benchmarks.experiments experiments

shoots: $(INSTALLED)
	$(BIN)/python -m benchmarks.shoots all --folder shoots --page docs/shoots.md

faults: $(INSTALLED)
	PYTHONPATH=tests $(BIN)/python -m faults

fuzz: $(INSTALLED)
	PYTHONPATH=tests $(BIN)/python -m fuzzing

docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[synth,dev]"
	touch $@

clean:
	rm -rf $(VENV) demo-out site
