# Two entry points: `make demo` shows the main job, `make test` runs what CI runs. Both work in .venv.
PYTHON ?= python3
BIN := .venv/bin
TORCH := 2.13.0

.PHONY: demo test lint docs clean

demo: .venv/demo.stamp
	$(BIN)/qbcompiler demo

test: .venv/dev.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/check

lint: .venv/dev.stamp
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

docs: .venv/dev.stamp
	$(BIN)/python docs/generate.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/torch.stamp: .venv/bin/python
	.ci/install-torch $(BIN)/python $(TORCH)
	touch $@

.venv/demo.stamp: .venv/torch.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[demo]'
	touch $@

.venv/dev.stamp: .venv/torch.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build *.egg-info qbcompiler-demo
