# SPDX-License-Identifier: Apache-2.0
"""Each module alone, with its default parameters, through Verilator -Wall and pyslang, and each file through Verible's rules of style and
gateware/layout.py; exit status 1 when one of them reports anything.

usage: python gateware/lint.py [OPTIONS OF FINDINGS]     (see tools/passed.py)
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pyslang

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "gateware"))
sys.path.insert(0, str(ROOT / "tools"))

import layout  # noqa: E402
import passed  # noqa: E402

# A module alone leaves much of the packages and the other modules unused.
UNUSED = ["unused-def", "unused-package-parameter", "unused-package-typedef", "unused-package-subroutine"]
# Where nobody brings channels up, what a link knows for it has no reader; these outputs are named for Verilator.
UNREAD = ["unconnected-output-port"]
# A cast that some parameter needs is useless for another; a case with a default need not name what it covers.
TASTE = ["useless-cast", "case-enum-explicit"]
GENERATED = ["--suppress-warnings", "gateware/.../*_registers.sv", "--suppress-warnings", "gateware/.../*_registers_pkg.sv"]
PORTS_ALONE = ["--suppress-warnings", "examples/zcu102/vendor.sv"]
SLANG_OPTIONS = ["-Weverything", *GENERATED, *PORTS_ALONE, *(f"-Wno-{name}" for name in UNUSED + UNREAD + TASTE)]
VERIBLE_RULES = "line-length=length:150"

# Further numbers of ports, inter-tile and intra-tile, dimensions, bits of a line, whether in a QFDB and with multicast: each with every
# module below.
SHAPES = [
    (2, 3, 2, 64, 0, 0),
    (3, 2, 2, 64, 0, 1),
    (6, 1, 3, 64, 0, 0),
    (4, 2, 2, 128, 0, 1),
    (3, 3, 1, 64, 1, 1),
    (9, 2, 3, 64, 1, 0),
    (9, 4, 3, 64, 1, 1),
]

# Codes of a line beside that of exanet_phy alone: bits of a link's word, and lanes of 8b/10b.
CODES = [(64, 2), (64, 4), (128, 4), (128, 8)]

# Benches and boards that others start from, with what they need beside the gateware.
EXAMPLES = {
    "pair": ["examples/cocotb/pair.sv"],
    "messages": ["examples/cocotb/messages.sv"],
    "reductions": ["examples/cocotb/reductions.sv"],
    "zcu102": ["examples/zcu102/vendor.sv", "examples/zcu102/zcu102.sv"],
}


def verilator(top: str, *arguments: str) -> str:
    command = [
        "tools/verilator.sh",
        "--lint-only",
        "-Wall",
        "--no-timing",
        "--quiet",
        "gateware/lint.vlt",
        "-f",
        "gateware/files.f",
        "--top-module",
        top,
        *arguments,
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout + run.stderr


def slang(top: str, files: list[str], *options: str) -> str:
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    if not driver.parseCommandLine(
        " ".join(["slang", *SLANG_OPTIONS, *options, "--top", top, *files]), pyslang.driver.CommandLineOptions()
    ):
        return "pyslang does not take its arguments"
    ok = driver.processOptions() and driver.parseAllSources()
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    driver.runAnalysis(compilation)
    problems = driver.diagEngine.numErrors + driver.diagEngine.numWarnings
    return "" if ok and not problems else f"pyslang: {problems} messages"


def verible(files: list[str]) -> str:
    written = [file for file in files if "_registers" not in file]  # the others are PeakRDL's
    lint = Path(sys.executable).parent / "verible-verilog-lint"
    run = subprocess.run([lint, f"--rules={VERIBLE_RULES}", *written], cwd=ROOT, capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout + run.stderr


def key() -> str:
    """Of all sources, lists of sources and rules, and of the linters."""
    sources = [path for pattern in ("*.sv", "*.svh", "*.v", "*.vlt", "*.f") for path in (ROOT / "gateware").rglob(pattern)]
    scripts = [Path(__file__), Path(layout.__file__), ROOT / "tools/verilator.sh"]
    examples = [ROOT / file for listed in EXAMPLES.values() for file in listed]
    return passed.key(files=[*sources, *scripts, *examples], distributions=("verilator", "pyslang", "verible"))


def main() -> int:
    kept, words = passed.take(sys.argv[1:])
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS).parse_args(
        words
    )
    if kept.find(key()) == "clean":
        print("not looked at again: nothing has changed since all was clean")
        return 0
    failed = lint()
    if not failed:
        kept.keep(key(), "clean")
    return 1 if failed else 0


def lint() -> int:
    """How many modules have messages; prints these."""
    files = [str(ROOT / line) for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")]
    harnesses = [str(path) for path in sorted([*(ROOT / "gateware").glob("*/formal/*.sv"), *(ROOT / "gateware").glob("*/tb/*.sv")])]
    tops = {name: file for file in files + harnesses for name in re.findall(r"^module (\w+)", Path(file).read_text(), re.M)}
    tops |= {path.stem: str(path) for path in sorted((ROOT / "gateware/top").glob("*.v"))}
    style = verible(files + harnesses + [listed[-1] for listed in EXAMPLES.values()])
    style += "".join(f"{line}\n" for line in layout.complaints(map(Path, files + harnesses)))
    if style:
        print(style, file=sys.stderr)
    failed = int(style != "")
    for top, file in tops.items():
        if file in harnesses:  # which look at some outputs alone
            said = verilator(top, file) + slang(top, [*files, file], "-Wno-unused-but-set-variable")
        elif file.endswith(".v"):  # which knows vectors alone
            said = verilator(top, file) + slang(top, [*files, file], "-Wno-packed-array-conv")
        else:
            said = verilator(top) + slang(top, files)
        if said:
            failed += 1
            print(f"{top}:\n{said}", file=sys.stderr)
    for top, listed in EXAMPLES.items():
        # Which leave outputs open.
        said = verilator(top, *listed) + slang(top, [*files, *listed], "-Wno-empty-output-connection")
        if said:
            failed += 1
            print(f"{top}:\n{said}", file=sys.stderr)
    for inter, intra, dimensions, bits, qfdb, multicast in SHAPES:
        parameters = {
            "InterPorts": inter,
            "IntraPorts": intra,
            "Dimensions": dimensions,
            "LineBits": bits,
            "Qfdb": qfdb,
            "Multicast": multicast,
        }
        said = verilator("exanet_ip", *(f"-G{name}={value}" for name, value in parameters.items()))
        said += slang("exanet_ip", files, *(f"-G{name}={value}" for name, value in parameters.items()))
        if said:
            failed += 1
            print(
                f"exanet_ip with {inter} + {intra} ports, lines of {bits} bits, QFDB {qfdb}, multicast {multicast}:\n{said}",
                file=sys.stderr,
            )
    for bits, lanes in CODES:
        given = [f"-GLineBits={bits}", f"-GLanes={lanes}"]
        if said := verilator("exanet_phy", *given) + slang("exanet_phy", files, *given):
            failed += 1
            print(f"exanet_phy with {lanes} lanes of a word of {bits} bits:\n{said}", file=sys.stderr)
    counts = f"{len(tops)} modules, {len(EXAMPLES)} examples and {len(SHAPES) + len(CODES)} shapes"
    print(f"{counts} under Verilator -Wall, pyslang, Verible and the layout of files: {failed} with messages")
    return failed


if __name__ == "__main__":
    sys.exit(main())
