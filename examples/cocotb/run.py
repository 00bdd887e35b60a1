# SPDX-License-Identifier: Apache-2.0
"""Builds pair.sv, messages.sv and reductions.sv with Verilator and runs the tests of test_pair.py and its like on them.

usage: python examples/cocotb/run.py [TEST] [--seed N] [--waves]

Needs the packages of the extra `gateware`, g++ and make.

Everything is written below build/cocotb; with --waves the signals of a bench's ports as BENCH/dump.vcd there. Exit
status 1 when a test failed, 2 when there is no such test.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import cocotb_tools.config
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/cocotb"
BENCHES = ("pair", "messages", "reductions")
# cocotbext-axi calls some of cocotb by names that are to go.
QUIET = {"COCOTB_LOG_LEVEL": "WARNING", "GPI_LOG_LEVEL": "WARNING", "PYTHONWARNINGS": "ignore::DeprecationWarning"}


def build(bench: str, *, waves: bool) -> Path:
    """The folder with the simulator. Only the ports of the bench are visible to cocotb, so the rest is as fast as
    without it."""
    folder = BUILD / bench / ("waves" if waves else "plain")
    folder.mkdir(parents=True, exist_ok=True)
    libraries = cocotb_tools.config.libs_dir
    command = [
        *(
            "tools/verilator.sh",
            "--cc",
            "--exe",
            "--build",
            "--assert",
            "--no-timing",
            "--vpi",
            "-O3",
            "--public-depth",
            "1",
            "--x-assign",
            "fast",
        ),
        *("--timescale", "1ns/1ps", "--prefix", "Vtop", "--top-module", bench, "-o", bench, "--Mdir", str(folder)),
        *("--output-split", "0", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"),
        *("-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"),
        *(["--trace-vcd", "--trace-depth", "1"] if waves else []),
        *("gateware/lint.vlt", "-f", "gateware/files.f", str(HERE / f"{bench}.sv")),
        str(cocotb_tools.config.share_dir / "lib/verilator/verilator.cpp"),
    ]
    environment = {**os.environ, "EXANET_PYTHON": sys.executable, "OBJCACHE": os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "")}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)
    return folder


def run(bench: str, asked: argparse.Namespace) -> tuple[int, int]:
    """Number of tests, and of those that failed."""
    results = get_runner("verilator").test(
        test_module=f"test_{bench}", hdl_toplevel=bench, hdl_toplevel_lang="verilog", build_dir=build(bench, waves=asked.waves),
        test_dir=BUILD / bench, testcase=asked.test, seed=asked.seed, waves=asked.waves, extra_env=QUIET,
    )  # fmt: skip
    for case in ElementTree.parse(results).iter("testcase"):
        print(f"{case.get('name'):28}{'passed' if case.find('failure') is None and case.find('error') is None else 'FAILED'}")
    return get_results(results)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the benches with Verilator and runs their tests.")
    parser.add_argument("test", nargs="?", help="one test, such as a_message; without it, all tests")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random tests (1)")
    parser.add_argument("--waves", action="store_true", help="write the signals of the ports to build/cocotb/BENCH/dump.vcd")
    asked = parser.parse_args()
    files = "".join((HERE / f"test_{bench}.py").read_text() for bench in BENCHES)
    names = dict.fromkeys(re.findall(r"^@cocotb\.[^\n]*\nasync def (\w+)\(", files, re.M))
    if asked.test and asked.test not in names:
        parser.error(f"no test {asked.test}; there are {', '.join(names)}")
    sys.path.insert(0, str(HERE))
    tests, failed = 0, 0
    for bench in BENCHES:
        if asked.test and f"def {asked.test}(" not in (HERE / f"test_{bench}.py").read_text():
            continue
        found, bad = run(bench, asked)
        tests, failed = tests + found, failed + bad
    print(f"{tests} tests with seed {asked.seed}: {failed} failed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
