# Everything a person does with this checkout. `make` lists the targets; nothing needs installing first but Python 3.11
# or newer and a C compiler.
# Options: PYTHON=python3.12 PORT=8001 BIND=0.0.0.0 STATE_DIR=/srv/gemweb FILE=/srv/backup.tar

PYTHON ?= python3
BIN := .venv/bin
BOOTSTRAP = $(PYTHON) gemweb/bootstrap.py
UV = .venv/uv/bin/uv
COMPILE = $(UV) pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
	--custom-compile-command "make lock"
# Two processes of tests more than there are cores, for much of a test is waiting; four at most. Each process has a
# database and a broker of its own, and the last one a site and a browser (tests/scheduling.py).
PROCESSES = $$($(PYTHON) -c "import os; print(min(4, 2 + (os.cpu_count() or 1)))")
PYTEST = $(BIN)/python -m pytest

# Settings as a server has them, for the checks that load Django; no service is asked.
PRODUCTION = SECRET_KEY=$$($(BIN)/python -c "import secrets; print(secrets.token_urlsafe(60))") \
	DATABASE_URL=postgres://gemweb@127.0.0.1:9/gemweb VALKEY_URL=redis://127.0.0.1:9/0 \
	DATABASE_POOL=0 DEBUG=0 LOCAL_MODE=0 HTTPS=1 ALLOWED_HOSTS=gemweb.example

# Hundreds of processes import the same packages; told to write no bytecode, each would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help up test test-all check format lock audit bench backup restore clean reset dev programs

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "make %-10s %s\n", $$1, $$2 }'

up:  ## Start everything and print the address; Ctrl-C stops it (PORT, BIND, STATE_DIR)
	@$(BOOTSTRAP) run gemweb.local

dev:  ## Install the packages for tests and checks into .venv
	@$(BOOTSTRAP) dev

programs: dev  # of other people, for the tests: PyTorch, a browser, and servers in environments of their own
	-@$(BIN)/python -m gemweb.local.training
	@$(BIN)/python -m tests.browser
	@$(BIN)/python -m tests.installed

# Exit code 5 means that ARGS names no test of a kind.
OR_NONE = || [ $$? -eq 5 ]

test: dev programs  ## Run every test except the long ones (ARGS="-n 0 tests/engine -k sokoban")
	@began=$$(date +%s); failed=0; \
	$(PYTEST) -n $(PROCESSES) -m "not fault and not long" $(ARGS) $(OR_NONE) || failed=1; \
	echo "The tests took $$(($$(date +%s) - began)) s."; exit $$failed

test-all: test  ## Run every test
	$(PYTEST) -m "fault or long" $(ARGS) $(OR_NONE)

check: dev  ## Check style, templates, types, layers, migrations, deployment settings, docker/; under a minute
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check
	$(BIN)/djangofmt --check templates
	$(BIN)/djangofmt --quiet check templates
	! grep -rnE '.{121}' templates
	$(BIN)/lint-imports
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(PRODUCTION) $(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(BIN)/hadolint docker/Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yml
	$(PRODUCTION) $(BIN)/mypy

format: dev  ## Format the code and fix what can be fixed automatically
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format
	$(BIN)/djangofmt --quiet check --fix templates
	$(BIN)/djangofmt --quiet templates

lock: dev  ## Compile the lock files again from pyproject.toml
	$(COMPILE) --upgrade pyproject.toml --group web -o requirements.lock
	$(COMPILE) --upgrade pyproject.toml --group web --group dev -c requirements.lock -o requirements-dev.lock
	echo uv | $(COMPILE) --upgrade - -o requirements-uv.lock
	printf "pip-audit\ncyclonedx-bom\n" | $(COMPILE) --upgrade - -o requirements-audit.lock
	echo mkdocs-material | $(COMPILE) --upgrade - -o requirements-docs.lock

audit: dev  ## Look for known vulnerabilities and unsuitable licences, and write SBOMs to dist/; needs a network
	@$(BIN)/python -m gemweb.audit

bench: dev  ## Measure starting and stopping, as in docs/benchmarks.md
	$(BIN)/python -m bench.startup

clean:  ## Delete .venv and the caches; data stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

backup:  ## Write all permanent data to one file; the stack may be running (FILE=gemweb.tar)
	@$(BOOTSTRAP) run gemweb.local.backup write "$(FILE)"

restore:  ## Create a new STATE_DIR from a backup (FILE=gemweb.tar)
	@$(BOOTSTRAP) run gemweb.local.backup restore "$(FILE)"

reset:  ## Delete the data in STATE_DIR
	@$(PYTHON) -m gemweb.local.reset
