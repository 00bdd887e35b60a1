# SPDX-License-Identifier: Apache-2.0
"""Do real programs under drawn plans of faults give the right answer, or a clear error, within bounded virtual time,
and leave nothing behind?

Each run draws a program, interfaces and a plan from its number. `make test` has a dozen of the runs, `make test-long`
all of them.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from host import LONG

from .conftest import PROGRAMS, Runner, Stack
from .test_applications import native_lammps, smaller, thermo
from .test_failures import left_behind

MACHINES = {
    "exanest": "",
    "gateware": "extends: exanest-ni\nname: exanest-ni-bounded\ndescription: interfaces in cycles that give up\nni: {tries: 4}\n",
    "end-to-end": "extends: exanest\nname: exanest-end-to-end\ndescription: interfaces that retransmit\nni: {reliability: end-to-end}\n",
}
FEW = ("cut", "ring")
MANY = (*FEW, "collectives", "two_sided", "one_sided", "threads", "cg", "lammps")
ARGUMENTS = {"cg": ("256", "10"), "one_sided": ("test_says_yes_behind_a_barrier",), "threads": ("wait",)}
"""One-sided communication without one of its checks: MPI_Win_test may say no while a lost packet is sent again. Threads
that wait in place of asking again and again: who asks for ever for what was lost goes on for ever, on any machine."""

LONGEST_PS = 10 * 10**12
"""A run ends before 10 s of virtual time: a program takes less than 10 ms. What is given up has taken some 50 ms end to
end, and 31 rounds of timeouts of 7 ms in the gateware's cycles."""

NODES = [f"qfdb({x},{y},0).F{part}" for x in range(2) for y in range(2) for part in range(1, 5)]
CLEAR = re.compile(r"what had failed first on the network: rank \d+ on node \d+(, in MPI_\w+)? at [\d.]+ us: .* failed: ")


def plan(draw: random.Random, machine: str) -> str:
    """From one to three events in the first half of a millisecond."""
    events = []
    for _ in range(draw.randint(1, 3)):
        kinds = ["cut", "cut", "flapping", "lossy", "slow", "node", "interface", "corrupted"]
        kinds += ["impaired"] * 4 if machine == "end-to-end" else []
        events.append(event(draw, draw.choice(kinds)))
    return f"reaction: {draw.choice([0, 10, 1000])} us\nevents:\n" + "".join(f"  - {{{text}}}\n" for text in events)


def event(draw: random.Random, kind: str) -> str:
    at = f"at: {draw.randint(0, 500)} us"
    node = draw.choice(NODES[:4])
    return (
        f"{at}, "
        + {
            "cut": f"down: 'links:{draw.randint(1, 30)}:{draw.randint(1, 99)}', for: 1 ms",
            "flapping": f"down: '{node}', for: 3 us, period: 40 us, count: 20",
            "lossy": f"lossy: '{node}', lost_packets: {draw.choice([0.001, 0.01])}, seed: {draw.randint(1, 99)}",
            "slow": f"slow: '{node}', rate: {draw.choice([0.01, 0.25, 0.5])}",
            "node": f"down: '{node}'",
            "interface": f"interface: '{node}', for: {draw.choice([20, 1000])} us",
            "corrupted": f"impaired: all, corrupted_packets: 0.01, seed: {draw.randint(1, 99)}",
            "impaired": (
                f"impaired: all, corrupted_packets: 0.01, duplicated_packets: 0.01, reordered_packets: 0.01, "
                f"delay: {draw.randint(1, 20)} us, seed: {draw.randint(1, 99)}"
            ),
        }[kind]
    )


@pytest.fixture(scope="module")
def melt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """An input of LAMMPS, and the table that it prints without faults."""
    file = smaller("in.lj", tmp_path_factory.mktemp("lammps"), steps=5, box="0.3")
    return file, native_lammps(4, file)


@pytest.mark.parametrize("number", range(200 if LONG else 12))
def test_drawn_faults_end_in_the_right_answer_or_a_clear_error(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], request: pytest.FixtureRequest, tmp_path: Path, number: int
) -> None:
    draw = random.Random(number)
    machine, program = draw.choice(list(MACHINES)), draw.choice(MANY if LONG else FEW)
    if program == "lammps" and stack.name != "mpich":
        program = "cg"  # the packaged LAMMPS is MPICH's
    ranks = 2 if program == "cut" else 4
    faults = tmp_path / "faults.yaml"
    faults.write_text(plan(draw, machine))
    if MACHINES[machine]:
        (tmp_path / "machine.yaml").write_text(MACHINES[machine])
    command: list[str | Path]
    if program == "lammps":
        named = request.getfixturevalue("melt")[0]
        command = [Path(sys.prefix) / "bin/lmp", "-in", named, "-log", "none"]
    elif (named := PROGRAMS / f"{program}.py").exists():
        command = [stack.python, named, *ARGUMENTS.get(program, ())]
    else:
        command = [named := compiled(program)]
    options = ("--compute", "off", "--map", "round-robin", "--faults", str(faults))
    given = machine if not MACHINES[machine] else str(tmp_path / "machine.yaml")
    done = exanet_run(stack, ranks, command, machine=given, options=options, code=None, timeout=300)
    said = f"{machine}, {program}, exit {done.code}:\n{faults.read_text()}{done.errors[-3000:]}"
    summary = json.loads((done.folder / "summary.json").read_text())
    assert summary["virtual_ps"] < LONGEST_PS, said
    if done.code == 0:
        if program == "lammps":
            assert thermo(done.output) == request.getfixturevalue("melt")[1], said
        else:
            assert ("wrong 0" if program == "cut" else f"ok {ranks}") in done.output, said
    else:
        assert done.code != 9, said
        assert CLEAR.search(done.errors), said
        assert summary["failed_operations"] > 0, said
    assert not left_behind(str(named)), said
