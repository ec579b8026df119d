# Two commands do everything on a machine with Python 3.11+ and make:
#   make run     create .venv, install, run the main job and show its result
#   make test    create .venv, install, run linters, types, import rules, doctests and all tests
# With EXTRAS=dev,neural also torch, for the tests of TorchModel, which say so and are skipped without it.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
OLDEST ?= $(shell for p in $(BIN)/python python3.11 python3; do \
	$$p -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && echo $$p && break; done)
LOWEST := build/lowest
ATTACKS = $(shell grep -rl --include='test_*.py' 'from attempts import' tests)
EXTRAS ?= dev
comma := ,
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt
CORE := CMakeLists.txt $(wildcard cmake/* cpp/*.hpp cpp/*.cpp cpp/*/*.hpp)
COMPILER := $(firstword $(foreach name,$(CXX) c++ g++ clang++,$(shell command -v $(name))))

unexport PYTHONDONTWRITEBYTECODE  # hundreds of processes start here: each finds the bytecode of those before it

.DEFAULT_GOAL := help
.PHONY: help run serve-demo build test test-lowest wheel attack lint format bench docs site clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: .venv/runs  ## race the policies, then an experiment on real data and what its log says: tables, and pictures below results/
	$(BIN)/ensample race
	$(BIN)/ensample demo

build: .venv/develops  ## compile the core again after a change in cpp/: only the files that changed

test: .venv/develops  ## linters, types, import rules, doctests and all tests
	$(MAKE) --jobs 2 lint .venv/imported
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 3 --dist worksteal  # for two cores: many tests wait for others' processes

.venv/imported: .venv/develops  # all that tests import, in one process: the others find its bytecode
	@$(BIN)/pytest --collect-only --quiet >/dev/null || true  # what is wrong is said when they run
	@touch $@

test-lowest:  ## a smoke test on Python 3.11 with the lowest versions of all that we depend on
	@test -n "$(OLDEST)" || { echo "these versions are for Python 3.11; set OLDEST=/path/to/python3.11"; exit 1; }
	$(OLDEST) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet $$($(OLDEST) tests/lowest.py) '.[cluster]'
	$(LOWEST)/bin/python tests/smoke.py

wheel: .venv/builds  ## build a wheel for this machine and try it in a clean environment
	rm -rf build/wheel dist
	$(TOOLCHAIN) $(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt "$$(ls dist/*.whl)[cluster]"
	cd build/wheel && bin/python ../../tests/smoke.py
	ls -l dist

attack: .venv/develops  ## every attack at its full number of attempts (some hours)
	ENSAMPLE_ATTACK=full $(BIN)/pytest --numprocesses 2 --dist worksteal -s $(ATTACKS)

fuzz: .venv/develops  ## a million bad calls of the compiled core
	$(BIN)/python tests/core/fuzz.py

# The libraries of the sanitizers come first in the process; Python frees little when it ends.
SANITIZED := build/sanitize
SANITIZING = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 ENSAMPLE_SANITIZED=1 \
	PYTHONPATH=$(SANITIZED)/package:tests:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

sanitize: .venv/develops  ## tests, goldens and a million bad calls of the core, with the address and undefined-behaviour sanitizers
	@test -f "$$(g++ -print-file-name=libasan.so 2>/dev/null)" || { echo "make sanitize needs g++ and libasan: apt-get install g++"; exit 1; }
	PATH=$(CURDIR)/$(BIN):$$PATH cmake -S . -B $(SANITIZED) -G Ninja -DCMAKE_CXX_COMPILER=g++ -DENSAMPLE_SANITIZE=ON -DSKBUILD_SOABI= \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python >/dev/null
	PATH=$(CURDIR)/$(BIN):$$PATH cmake --build $(SANITIZED)
	rm -rf $(SANITIZED)/package && mkdir $(SANITIZED)/package && cp -R src/ensample $(SANITIZED)/package
	rm -f $(SANITIZED)/package/ensample/_core*.so && cp $(SANITIZED)/_core*.so $(SANITIZED)/package/ensample
	$(SANITIZING) $(BIN)/python -S -m pytest -p no:cacheprovider tests/core tests/golden  # -S: without the editable installation
	$(SANITIZING) $(BIN)/python -S tests/core/fuzz.py

.PHONY: fuzz sanitize

lint: .venv/develops  ## ruff, mypy, the import rules, and pyright on the examples
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: .venv/develops  ## put the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

serve-demo: .venv/serves  ## the decision service with simulated visitors for 30 s, and the address to look at
	$(BIN)/python examples/serve_demo.py

bench: .venv/develops  ## speed as ratios, measured side by side; AGAINST=/path/to/python compares with the version there
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks $(if $(AGAINST),--against $(AGAINST))

docs: .venv/develops  ## write docs/paper.md and its figures from the claims, what docs/theory.md measures, and the figures of tutorials and README
	rm -rf docs/images/paper
	$(BIN)/ensample verify --scale quick --seed 0 --markdown docs/paper.md
	$(BIN)/ensample measure --dim 5 --arms 20 --runs 10 --markdown docs/theory.md
	$(BIN)/python website/figures.py
	$(BIN)/ensample race && cp results/race/race.png docs/images/race.png
	$(BIN)/ensample demo && cp results/demo/experiment.png docs/images/demo.png

site: .venv/documents  ## build the site strictly: tutorials, how-to pages, reference, paper, studies
	$(BIN)/python website/commands.py docs/reference/cli.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet  # without the theme's notice of its successor
	@echo build/site/index.html

clean:  ## remove the environment and everything compiled
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "ensample needs Python 3.11 or later; set PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv

# What builds the core is installed beside it, not in an environment that pip throws away: a rebuild compiles what changed.
# Without a C++ compiler clang comes from PyPI, 100 MB, as the package ziglang.
.venv/builds: .venv/bin/python constraints.txt
	$(PIP) cmake nanobind ninja numpy scikit-build-core $(if $(COMPILER),,ziglang)
	@touch $@

TOOLCHAIN = PATH=$(CURDIR)/$(BIN):$$PATH $(if $(COMPILER),,CMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/zig.cmake \
	ZIG=$$($(BIN)/python -c 'import ziglang; print(ziglang.__path__[0] + "/zig")'))
INSTALL = $(TOOLCHAIN) $(PIP) --no-build-isolation --editable

.venv/runs: .venv/builds $(CORE) pyproject.toml src/ensample/version.py
	$(INSTALL) '.[lab]'
	@touch $@

.venv/serves: .venv/builds $(CORE) pyproject.toml src/ensample/version.py
	$(INSTALL) '.[serve]'
	@touch $@

.venv/documents: .venv/builds $(CORE) pyproject.toml
	$(INSTALL) '.[docs]'
	@touch $@

.venv/develops: .venv/builds $(CORE) pyproject.toml src/ensample/version.py
	$(INSTALL) '.[$(EXTRAS)]'
	@touch $@ .venv/runs .venv/serves $(if $(filter dev docs,$(subst $(comma), ,$(EXTRAS))),.venv/documents)
