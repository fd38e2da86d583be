# Needs make and Python 3.11 or later; everything else is installed into .venv.
# Two stamps, one environment: `demo` installs what the package runs on, the other
# targets add the developers' tools. A stamp is redone only when pyproject.toml changes.

VENV   := .venv
# What the algebra is compared with, apart from everything else.
PEERS  := .venv-peers
# Intel's OpenCL device for CPUs, which is large.
CPU    := .venv-cpu
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check --quiet
# The first of these that is 3.11 or later, unless PYTHON=... says which.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Compiled tests and modules are kept: every worker would compile all of them anew, for 15 s.
export PYTHONDONTWRITEBYTECODE :=
# Of the long tests, part I of N: `make long PART=0/2` runs every second one.
PART    ?= 0/1
# Worker processes of the test run: `make test WORKERS=1` runs in one process.
WORKERS ?= auto

# Of what `make compiled` judges, and compiles by what `make compilers` unpacked, one in so many.
NEWEST  ?= 1
# Of the kinds, and of the kernels, that it compiles by the recorded compiler, one in so many.
KINDS   ?= 1
KERNELS ?= 1

# Seed of the examples that `make fuzz` generates.
ifndef SEED
SEED    := $(shell date +%s)
endif

# Where Python keeps what it compiled, the next run and every process that a test starts is faster.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test long checks docs browser pages lint format wheel bench compilers compiled .compiled-kernels .compiled-kinds emit-cpu mutants fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.run-stamp ## similarities of 1797 handwritten digits, end to end
	@$(PY) examples/digits/demo.py --out out

test: $(VENV)/.dev-stamp ## the tests, over all cores
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal -q

long: $(VENV)/.dev-stamp ## the tests that take long, of which `make test` takes one in forty
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal -q -m long --part $(PART)

# Side by side, each printed when it ends.
checks: $(VENV)/.dev-stamp ## what else a change must pass: style, types, floors, pages, the wheel
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint pages wheel

# What is written beside the pages is left out (see mkdocs.yml), so the result is not the site.
# Their code blocks run in tests/test_pages.py, which compares what they print.
pages: $(VENV)/.dev-stamp ## build the pages of the site as a check
	@echo "pages: building them as a check"
	@NO_MKDOCS_2_WARNING=1 WHOLE_SITE=false $(VENV)/bin/mkdocs build --strict --site-dir build/pages

lint: $(VENV)/.dev-stamp ## style, types and the floors
	@echo "lint: ruff, pyright, import-linter, closed sets, branches on classes of statements"
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(VENV)/bin/pyright --pythonpath $(PY)
	@$(VENV)/bin/lint-imports --no-logo
	@$(PY) tests/closed_sets.py
	@$(PY) tests/statement_branches.py

format: $(VENV)/.dev-stamp ## rewrite the sources in the project's style
	@$(VENV)/bin/ruff check --quiet --fix .
	@$(VENV)/bin/ruff format --quiet .

docs: $(VENV)/.dev-stamp ## build the site into site/
	@echo "docs: building the site"
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

# Without npm, or without Chromium, each says that it is missing and nothing fails.
browser: docs ## build the site, try its playground in Chromium, and the library in the browser's Python
	@$(PY) tests/site_browser.py site
	@$(PY) benchmarks/in_the_browser.py

wheel: $(VENV)/.dev-stamp ## build the wheel and use it from a clean environment
	@echo "wheel: building and installing it into a clean environment"
	@$(PY) tests/wheel_install.py

bench: $(VENV)/.run-stamp ## time the algebra, atoms, GEMMs, schedules, the machine and the import; count right and wrong
	@test -x $(PEERS)/bin/python || $(PY) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps \
		nvidia-cutlass tensor-layouts || echo "the peers cannot be installed: timed without them"
	@$(PY) benchmarks/startup.py
	@$(PY) benchmarks/algebra.py --peers $(PEERS)
	@$(PY) benchmarks/gemm.py
	@$(PY) benchmarks/arrays.py
	@$(PY) benchmarks/ragged_runs.py
	@$(PY) benchmarks/schedules.py --plans 0
	@$(PY) benchmarks/machine.py
	@$(PY) benchmarks/atoms.py
	@$(PY) benchmarks/enumeration.py --peers $(PEERS)

compilers: ## unpack Intel's newest compiler beside the system (86 MB to fetch, 269 MB on disk)
	@$(PYTHON) tests/unpack_compilers.py

compiled: $(VENV)/.dev-stamp ## read 120 kernels' vISA back; compile these, one of each kind and 30 reorders, execute the binaries, compare; the same by what `make compilers` unpacked
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line .compiled-kernels .compiled-kinds

.compiled-kernels:
	@$(PY) benchmarks/visa_kernels.py
	@$(PY) benchmarks/compiled_kernels.py --every $(KERNELS)
	@$(PY) benchmarks/compiled_kernels.py --newest --every $(NEWEST)
	@$(PY) benchmarks/reorder_moves.py

.compiled-kinds:
	@$(PY) benchmarks/every_kind.py --every $(KINDS)
	@$(PY) benchmarks/judged_kernels.py --every $(NEWEST)
	@$(PY) benchmarks/every_kind.py --newest --every $(NEWEST)

emit-cpu: $(VENV)/.dev-stamp ## run emitted programs on Intel's CPU device (277 MB to fetch, 900 MB on disk)
	@test -x $(CPU)/bin/python || $(PYTHON) -m venv $(CPU)
	@$(CPU)/bin/python -m pip --disable-pip-version-check --quiet install \
		intel-opencl-rt intel-cmplr-lib-rt pyopencl numpy ml_dtypes
	@$(PY) benchmarks/cpu_device.py $(CPU)/bin/python

mutants: $(VENV)/.dev-stamp ## break the library on purpose, one change at a time: do the tests notice?
	@$(PY) benchmarks/mutants.py

fuzz: $(VENV)/.dev-stamp ## 200,000 calls with junk, 20,000 damaged files and kernels, 10,000 documents, 5,000 programs of barriers, 10,000 plans, 5,000 kernels on both executors, and the long tests
	@$(PY) benchmarks/fuzz_calls.py
	@$(PY) benchmarks/fuzz_files.py
	@$(PY) benchmarks/fuzz_documents.py
	@$(PY) benchmarks/fuzz_kernels.py --count 20000
	@$(PY) benchmarks/shared_programs.py --count 5000 --seed $(SEED)
	@$(PY) benchmarks/nested_loops.py --count 3000 --seed $(SEED)
	@$(PY) benchmarks/trials_alone.py --count 5000
	@$(PY) benchmarks/fuzz_attention.py
	@$(PY) benchmarks/fuzz_softmax.py 2000
	@$(PY) benchmarks/random_layouts.py --count 20000
	@$(PY) -W ignore benchmarks/conversion_programs.py --count 2000 --seed $(SEED)
	@$(PY) benchmarks/drawn_kernels.py --count 400 --seed $(SEED) --binaries 0
	@$(PY) benchmarks/schedules.py --no-ratios --seed $(SEED)
	@$(PY) benchmarks/renamed_kernels.py --count 5000 --seed $(SEED)
	@$(PY) benchmarks/tiled_names.py
	@$(PY) benchmarks/executor_programs.py --count 5000 --seed $(SEED)
	@$(PY) benchmarks/wrapping_programs.py --count 2000 --seed $(SEED)
	@echo "tests of samples, in full: SEED=$(SEED) repeats them"
	@EXAMPLES=2000 $(PY) -m pytest -n $(WORKERS) --dist worksteal -q --hypothesis-seed=$(SEED) \
		tests/algebra tests/analysing tests/dialects tests/arch tests/atom tests/cli tests/drawing tests/emitting tests/esimd \
		tests/executing tests/explaining tests/family tests/files tests/kernel tests/layout tests/machine \
		tests/native tests/symbolic tests/trials tests/verifying

clean: ## remove everything that was installed or built
	rm -rf $(VENV) $(PEERS) $(CPU) .compilers .compilers.new site dist build out .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed (PYTHON=/path/to/python3.11 make ...)"; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run-stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing pycute-xe and what it runs on"
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev-stamp: pyproject.toml $(VENV)/.run-stamp | $(VENV)/bin/python
	@echo "installing the developers' tools"
	@$(PIP) install --editable '.[dev,docs]'
	@touch $@
