# SPDX-License-Identifier: Apache-2.0
"""The parts of `make test`: runs them, as many at a time as there are processors, and says what each took.

usage: python tools/parts.py [PART...]

All of them, or those named with what they need; the output of those named is shown.

Everything that a part writes stays below build/: its output (build/parts/NAME.log), temporary files, caches, what it
takes for the user's home. Exit status 1 when a part failed, or something was left elsewhere.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import leftovers
import schedule
import times
from schedule import Part

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LIMIT_S = 4000
"""For all parts together, on a slow machine that others use, too: what hangs then is named and killed, and the rest
still reported."""
LONG = bool(os.environ.get("EXANET_TEST_LONG"))
# The compiler by the name by which the package is built: the gateware's build takes the core from there.
CMAKE = "cmake -S . -G Ninja -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++"
# Findings about the same sources are not looked for again: those of this checkout, and nine of ten of those that the
# repository records. `make test-long` looks for all of them.
FOUND = "--keep build/kept" + ("" if LONG else " --recorded gateware/recorded.json")
CLEAN = "--keep build/kept" + ("" if LONG else " --recorded tests/recorded.json")
# The package's build has compiled the core with the compiler of that name.
CORE = '-DEXANET_CORE="$(realpath build/cp3*-abi3-*/libexanet_core.a)"'
SANITIZED = (
    f"{CMAKE} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_C_FLAGS=-O1"
    " -DEXANET_TESTS=ON -DEXANET_PYTHON=OFF -DEXANET_SANITIZE=address,undefined"
)
# Each file for itself, without precompiled headers, shows that it includes what it needs: that takes twice the time.
WHOLE_CORE = f"{SANITIZED} -B build/sanitized -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"
PACKAGE_CORE = f"{SANITIZED} -B build/tests -DEXANET_FOLDER_AT_ONCE=ON {CORE}"
CORE_TESTS = "build/sanitized" if LONG else "build/tests"
BUILD_CORE_TESTS = f'cmake --build {CORE_TESTS} -j "$JOBS" --target tests'
NONE = "echo 'all tests have passed with these sources'"
GATEWARE = (
    f"{CMAKE} -B build/gateware -DCMAKE_BUILD_TYPE=Release -DEXANET_PYTHON=OFF {CORE}"
    f" -DEXANET_GATEWARE=ON -DEXANET_VARIANTS={'ON' if LONG else 'OFF'}"
)
# A test is built and run where something that its outcome follows from has changed.
GATEWARE_TESTS = "build/gateware/gateware/gateware_tests"
NEEDED = "'-DEXANET_GATEWARE_TESTS= -DEXANET_GATEWARE_MODULES='" if LONG else f'"$(python tools/gateware_tests.py {CLEAN})"'
GATEWARE_BUILD = (
    f"rm -f {GATEWARE_TESTS}; needed={NEEDED}; "
    f'if [ -z "$needed" ]; then {NONE}; exit; fi; '
    f'{GATEWARE} $needed && cmake --build build/gateware -j "$JOBS" --target gateware_tests'
)
CORE_BUILD = (
    f"rm -f build/tests/CTestTestfile.cmake; needed=$(python tools/core_tests.py {CLEAN}); "
    f'if [ -z "$needed" ]; then {NONE}; exit; fi; '
    f"{PACKAGE_CORE} $needed && {BUILD_CORE_TESTS}"
)
TIDY = f"{CMAKE} -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DEXANET_FOLDER_AT_ONCE=ON"


def pytest(name: str, *, tests: str = "", tries: int = 1) -> str:
    """The command of the part pytest-NAME: the tests in tests/NAME, or those named.

    Where real programs, processes and signals meet a busy host, a test that fails has a second try; both are reported.
    The command is not python -m: the installed package is tested, not the folder of its sources.
    """
    again = f" --reruns {tries - 1}" if tries > 1 else ""
    kept = f"--basetemp=build/tmp/pytest-{name} --junitxml=build/parts/pytest-{name}.xml"
    return f"pytest{again} -m 'not verilated' {kept} {tests or f'tests/{name}'}"


CAMPAIGN = "tests/mpi/test_fault_campaign.py"
"""Hundreds of runs in full size: a part of its own there. Beside others of tests/mpi it would see their processes."""
MPI = pytest("mpi", tries=2) + (f" --ignore={CAMPAIGN}" if LONG else "")

# In the order in which they are started, where they need not wait: what is soon known first, then long chains. The
# package takes all processors: what takes long before it would leave one idle.
PARTS = [
    Part("lint-format", "tools/format.sh --dry-run --Werror && python tools/widths.py"),
    Part("lint-gateware", f"python gateware/lint.py {FOUND}"),
    Part("package", "tools/setup.sh package", share=1),
    Part("lint-python", "ruff check . && ruff format --check . && mypy && python tools/words.py"),
    Part("gateware-build", GATEWARE_BUILD, needs=("package",), share=0.5),
    Part(
        "gateware-tests",
        f"if [ -e {GATEWARE_TESTS} ]; then {GATEWARE_TESTS} --duration=true; fi && python tools/gateware_tests.py --passed {CLEAN}",
        needs=("gateware-build",),
    ),
    Part(
        "core-build",
        f"{WHOLE_CORE} && {BUILD_CORE_TESTS}" if LONG else CORE_BUILD,
        needs=("package",),
        share=0.5,
    ),
    Part("pytest-verilated", f"python tools/once.py verilated {CLEAN}", needs=("package",), limit_s=3300),
    Part("pytest-mpi", MPI, needs=("package",), limit_s=3300),
    Part("pytest-unit", pytest("unit", tries=2), needs=("package",), busy=0.5),
    Part("pytest-faults", pytest("faults", tries=2), needs=("package",), busy=0.5),
    Part("pytest-validation", f"python tools/once.py validation {CLEAN}", needs=("package",)),
    Part(
        "core-tests",
        f"if [ -e {CORE_TESTS}/CTestTestfile.cmake ]; then ctest --test-dir {CORE_TESTS} --verbose; fi"
        f" && python tools/core_tests.py --passed {CLEAN}",
        needs=("core-build",),
    ),
    Part("lint-tidy", f"{TIDY} && python tools/tidy.py build/tidy/compile_commands.json --jobs 1 {CLEAN}"),
    Part("mutations", f'python gateware/formal.py --quick --mutations --jobs "$JOBS" {FOUND}', share=0.5),
    Part("proofs", f'python gateware/formal.py --quick --jobs "$JOBS" {FOUND}', share=0.5),
    # Counts parts alone, and holds their sum to the whole; `make synth` counts the whole, `make timing` routers and
    # links of other sizes, and an interface's parts alone.
    Part(
        "budget",
        f"python gateware/synth.py router link registers link-registers lofamo {FOUND}"
        f" && python gateware/timing.py router link lofamo ni reduce {FOUND}",
    ),
    Part("handshakes", f"python gateware/handshakes.py {FOUND}"),
    Part("place", f"python gateware/place.py {FOUND}"),
    Part("cocotb", f"python tools/once.py cocotb {CLEAN}"),
]
if LONG:
    PARTS.append(Part("pytest-campaign", pytest("campaign", tests=CAMPAIGN, tries=2), needs=("package",), limit_s=3300))


def environment() -> dict[str, str]:
    """That of all parts: tools of the virtual environment first, and every place where a program leaves files below
    build/."""
    places = {
        "HOME": BUILD / "home",
        "TMPDIR": BUILD / "tmp",
        "XDG_CACHE_HOME": BUILD / "cache",
        "XDG_CONFIG_HOME": BUILD / "home/.config",
        "XDG_DATA_HOME": BUILD / "home/.local/share",
        "CCACHE_DIR": BUILD / "ccache",
        "PYTHONPYCACHEPREFIX": BUILD / "cache/python",
    }
    shutil.rmtree(places["TMPDIR"], ignore_errors=True)
    for folder in places.values():
        folder.mkdir(parents=True, exist_ok=True)
    own = {**os.environ, **{name: str(folder) for name, folder in places.items()}, "EXANET_TEST_DRAWN": "1"}
    # Each start of Python would compile the modules that it reads, which takes longer than most tests.
    own.pop("PYTHONDONTWRITEBYTECODE", None)
    own["PATH"] = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
    if shutil.which("ccache"):
        own |= {
            "CMAKE_C_COMPILER_LAUNCHER": "ccache",
            "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
            "CCACHE_DEPEND": "1",
            "CCACHE_SLOPPINESS": "pch_defines,time_macros",
        }
    return own


def chosen(names: list[str]) -> list[Part]:
    """The parts of these names with all that they need; all parts without a name. Raises SystemExit for a name that
    is none."""
    by_name = {part.name: part for part in PARTS}
    if unknown := [name for name in names if name not in by_name]:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(by_name)}")
    wanted: set[str] = set()
    todo = names or list(by_name)
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo = [*todo, *by_name[name].needs]
    return [part for part in PARTS if part.name in wanted]


def again(log: Path) -> list[str]:
    """Tests that pytest ran a second time, by its log; what they said at the first is there."""
    if not log.exists():
        return []
    return [line.removeprefix("RERUN ") for line in log.read_text(errors="replace").splitlines() if line.startswith("RERUN ")]


def main() -> int:
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    names, began = sys.argv[1:], time.monotonic()
    parts, own = chosen(names), environment()
    watch = leftovers.Watch(leftovers.places(), f"TMPDIR={own['TMPDIR']}")
    outcomes = schedule.run(parts, processors=len(os.sched_getaffinity(0)), folder=BUILD / "parts", environment=own, limit_s=LIMIT_S)
    for name in names:
        if any(outcome.name == name and outcome.result == "passed" for outcome in outcomes):
            print((BUILD / "parts" / f"{name}.log").read_text(errors="replace"), end="")
    kept = BUILD / "times.json"
    before, slowest = times.read(kept), times.of_tests(BUILD / "parts", [outcome.name for outcome in outcomes])
    print(times.slowest(slowest, before))
    print(schedule.table(outcomes, wall_s=time.monotonic() - began, before=before.get("parts")))
    times.write(kept, {one.name: {"wall_s": one.wall_s, "cpu_s": one.cpu_s} for one in outcomes if one.result == "passed"}, slowest)
    for outcome in outcomes:
        for line in again(BUILD / "parts" / f"{outcome.name}.log"):
            print(f"failed at the first try: {line}")
    ours, others = watch.close()
    if others:
        print(f"new since the start, perhaps not of these tests: {', '.join(map(str, others))}")
    for path in ours:
        print(f"error: left outside the project's folder: {path}", file=sys.stderr)
    return 1 if ours or any(outcome.result != "passed" for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
