# `make` lists the targets. Everything is set up from this file: a Python >= 3.11, Rust and a C compiler suffice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := Cargo.toml Cargo.lock .cargo/config.toml $(shell find rust vendor -type f)
PYTHON_SOURCES := pyproject.toml README.md $(shell find python -type f -not -name '*.pyc')

.DEFAULT_GOAL := help
.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/maturin: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet 'maturin>=1.9,<2' --group dev
	@touch $@

# The built wheel is what gets installed, tested and shown: never the source tree.
$(VENV)/installed: $(BIN)/maturin $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf dist
	$(BIN)/maturin build --release --quiet --out dist --interpreter $(BIN)/python
	$(BIN)/python -m pip install --quiet --find-links dist --force-reinstall --no-deps dist/*.whl
	$(BIN)/python -m pip install --quiet --find-links dist 'bearsearch[model,fast,watch,remote,ui]'
	@touch $@

.PHONY: setup
setup: $(VENV)/installed ## Make the virtual environment, build the wheel and install it with the model's weights

.PHONY: demo
demo: setup ## Index the embedded library with a real model and search it in every mode
	$(BIN)/bearsearch demo

.PHONY: test
test: test-rust test-c test-python ## Run every test

.PHONY: test-rust
test-rust: ## Run the engine's tests (needs no Python package)
	cargo test --quiet

.PHONY: test-c
test-c: ## Run the vector extension's tests under sanitizers
	$(MAKE) --quiet --directory vendor/sqlite-vector test

.PHONY: test-python
test-python: setup ## Run the package's tests against the installed wheel
	$(BIN)/python -m pytest

.PHONY: torture
torture: setup ## Kill writers 500 times at random moments, and let seven programs share an index for a minute
	$(BIN)/python tests/torture.py --runs 500 --seed 1
	$(BIN)/python tests/crowd.py --seconds 60

.PHONY: test-clients
test-clients: setup ## Run the MCP server against a client in Rust (builds it first: minutes) and the official inspector
	cargo run --quiet --manifest-path tests/rmcp_client/Cargo.toml -- $(abspath $(BIN)/bearsearch)
	$(BIN)/python tests/inspector.py $(abspath $(BIN)/bearsearch)

.PHONY: lint
lint: setup ## Check formatting, lints and types, exactly as CI does
	cargo fmt --check
	cargo clippy --quiet --all-targets -- -D warnings
	cargo clippy --quiet --features python -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/python -m mypy.stubtest bearsearch._core
	$(BIN)/python scripts/third_party_licenses.py --check

.PHONY: format
format: $(BIN)/maturin ## Format all code
	cargo fmt
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: docs
docs: setup ## Write the generated pages, snapshots, pictures and licences anew; read the difference
	$(BIN)/python docs/generate.py
	BEARSEARCH_WRITE_SNAPSHOTS=1 $(BIN)/python -m pytest tests/python/test_cli_snapshots.py tests/python/test_cli_startup.py
	$(BIN)/python scripts/pictures.py
	$(BIN)/python scripts/third_party_licenses.py

.PHONY: bench
bench: setup ## Measure, in under a minute
	$(BIN)/bearsearch bench --quick

.PHONY: bench-vector
bench-vector: setup ## Measure the vector scan beside its peers (minutes, gigabytes of memory)
	$(BIN)/python -m pip install --quiet --find-links dist 'bearsearch[bench]'
	$(BIN)/bearsearch bench vector --full

.PHONY: wheel
wheel: $(BIN)/maturin ## Build the wheel and the sdist into dist/
	rm -rf dist
	$(BIN)/maturin build --release --sdist --out dist --interpreter $(BIN)/python
	$(BIN)/python scripts/check_wheel.py dist/*.whl

.PHONY: bundle
bundle: setup ## Build the .mcpb bundle and the registry's server.json into dist/, validated where npm is at hand
	rm -rf dist/bundle dist/*.mcpb
	$(BIN)/python packaging/mcpb/build.py dist
	$(BIN)/python -m zipfile -e dist/*.mcpb dist/bundle
	if command -v npx > /dev/null; then npx --yes @anthropic-ai/mcpb@2.1.2 validate dist/bundle/manifest.json; fi

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) dist target tests/c/build tests/rmcp_client/target
