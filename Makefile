# Every target builds what it needs: only Python 3.11+, git and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := src tests examples benchmarks .ci

.PHONY: demo test quick coverage lint wheels pictures gallery bench experiments video shoots faults fuzz docs lock clean

demo: $(INSTALLED)
	$(BIN)/wideflow demo -o demo-out

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadgroup

quick: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow"

coverage: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=term --cov-report=html

lint: $(INSTALLED)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy

# the built wheel, outside the tree, on every Python that is found
wheels: $(INSTALLED)
	$(BIN)/python .ci/wheels.py

# the pictures of the README, from the result of the demo
pictures: demo
	$(BIN)/python -m benchmarks.readme_pictures demo-out docs/images

# those of the gallery and of the exports, from the examples and the same result
gallery: pictures
	$(BIN)/python -m benchmarks.gallery demo-out docs/images
	$(BIN)/wideflow track demo-out --grid 16
	$(BIN)/python -m benchmarks.export_pictures demo-out docs/images

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

experiments: $(INSTALLED)
	$(BIN)/python -m benchmarks.experiments experiments

# the video track of the benchmark
video: $(INSTALLED)
	$(BIN)/wideflow synth --suite video experiments/video
	$(BIN)/wideflow evaluate video experiments/video -o experiments/results/video
	$(BIN)/python -m benchmarks.publish experiments/results

shoots: $(INSTALLED)
	$(BIN)/python -m benchmarks.shoots all --folder shoots --page docs/shoots.md

faults: $(INSTALLED)
	PYTHONPATH=tests $(BIN)/python -m faults
	PYTHONPATH=tests $(BIN)/python -m faults.processes --alone
	PYTHONPATH=tests $(BIN)/python -m faults.processes

# atheris looks for files that reach further; where it has no wheel, files are changed at random
fuzz: $(INSTALLED)
	$(PIP) "atheris>=3" || true
	PYTHONPATH=tests $(BIN)/python -m fuzzing

docs: $(INSTALLED)
	$(PIP) -c constraints.txt -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# the versions that developers install, for every Python; users have the ranges of pyproject.toml
lock: $(INSTALLED)
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --no-emit-index-url \
	  --no-emit-find-links --no-annotate --custom-compile-command "make lock" -o constraints.txt pyproject.toml

# an environment that is there keeps the Python that it was made with
$(INSTALLED): pyproject.toml constraints.txt
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(PIP) -c constraints.txt -e ".[synth,dev]"
	touch $@

clean:
	rm -rf $(VENV) demo-out site htmlcov .coverage
