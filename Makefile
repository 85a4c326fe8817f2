# Two commands for users:  make demo   make test
# The rest is for those who change mnemic; `make help` lists them.
# Kept to what GNU make 3.81 and a POSIX shell understand, so that macOS needs nothing else.

SHELL = /bin/sh
BIN = .venv/bin
PY = $(BIN)/python
PYTEST = $(PY) -m pytest
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock"

.PHONY: help demo test check lint format test-extras faults bench docs pages lock core dev

help:
	@echo "make demo         install into .venv and show the engine on a conversation"
	@echo "make test         install into .venv and run all tests with coverage"
	@echo "make check        all gates, then make test (what .ci/run runs)"
	@echo "make lint         the gates alone        make format       ruff format and its fixes"
	@echo "make test-extras  tests of the extras    make faults       long tier of the fault tests"
	@echo "make bench        speed and quality      make docs         build the documentation"
	@echo "make pages        rewrite generated text make lock         renew the hashed locks"

core:
	@sh tools/venv.sh core build

dev:
	@sh tools/venv.sh dev build

demo: core
	@$(BIN)/mnemic demo

test: dev
	$(PYTEST) -n 2 -m "not long" --cov --cov-report=term

check: lint test

lint: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/vulture
	$(BIN)/deptry .
	$(BIN)/codespell

format: dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test-extras: dev
	@sh tools/venv.sh extras
	$(PYTEST) tests/extras --timeout 600

faults: dev
	$(PYTEST) -m long --timeout 3600

bench: core
	$(BIN)/mnemic bench speed

docs: dev
	@sh tools/venv.sh docs
	$(BIN)/zensical build --clean

pages: dev
	$(PY) -m tools.generate_sync
	$(PY) -m tools.reference_pages
	$(PY) -m tools.requirements_page

# dev and extras follow core's versions, so that one virtual environment can hold them all.
lock: dev
	$(COMPILE) pyproject.toml --output-file requirements/core.txt
	$(COMPILE) --group build --constraint requirements/core.txt --output-file requirements/build.txt
	$(COMPILE) pyproject.toml --group dev --constraint requirements/core.txt --constraint requirements/build.txt --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --all-extras --group extras --constraint requirements/dev.txt --output-file requirements/extras.txt
	$(COMPILE) --group docs --constraint requirements/dev.txt --output-file requirements/docs.txt
