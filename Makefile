# PYTHON: the interpreter of the virtual environment, 3.11 or later. VENV: its folder.
PYTHON ?= python3
VENV ?= .venv
RESULTS := build/results

BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt

# Processes of tests share compiled sources.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test lint types lit pytest check-long format clean

help:  ## Show this help
	@echo "make TARGET [PYTHON=python3.11] [VENV=.venv]"
	@sed -n 's/^\([a-z-]*\):.*##/  \1	/p' $(MAKEFILE_LIST) | expand -t 14

install: $(VENV)/test.stamp  ## Make the virtual environment, with everything for tests

demo: $(VENV)/base.stamp  ## Compile a transformer layer and run it on the simulated NPU
	$(BIN)/tlf-run examples/transformer_layer.mlir --target npu --check

test: $(VENV)/test.stamp  ## Run all checks and tests
	@rm -rf $(RESULTS)
	@$(MAKE) --no-print-directory --keep-going --jobs 2 lint types lit; \
	$(MAKE) --no-print-directory pytest; \
	$(BIN)/python test/helpers/summary.py $(RESULTS)

lint: $(VENV)/test.stamp  ## Check style and format
	@mkdir -p $(RESULTS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@touch $(RESULTS)/lint.ok

types: $(VENV)/test.stamp  ## Check types
	@mkdir -p $(RESULTS)
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	@touch $(RESULTS)/types.ok

lit: $(VENV)/test.stamp  ## Run the tests written in MLIR
	@mkdir -p $(RESULTS)
	$(BIN)/lit --succinct --verbose --xunit-xml-output $(RESULTS)/lit.xml test

pytest: $(VENV)/test.stamp  ## Run the tests written in Python
	@mkdir -p $(RESULTS)
	$(BIN)/pytest --quiet --numprocesses 2 --dist worksteal --junit-xml $(RESULTS)/pytest.xml

check-long: $(VENV)/test.stamp  ## Run all tests and combinations of parameters, the long ones too
	$(BIN)/pytest --quiet --whole --numprocesses 2 --dist worksteal

format: $(VENV)/test.stamp  ## Format the sources
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## Remove the virtual environment and everything built
	rm -rf $(VENV) build dist test/Output

# The test environment contains the base one, and is not replaced by it.
$(VENV)/base.stamp: $(REQUIREMENTS)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/test.stamp: $(VENV)/base.stamp
	$(INSTALL) --editable '.[test]'
	@touch $@
