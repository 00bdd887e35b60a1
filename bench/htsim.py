# SPDX-License-Identifier: Apache-2.0
"""When the last flow ends, and in how much processor time, beside htsim, the simulator of Ultra Ethernet:
docs/htsim.md.

    python bench/htsim.py EXPERIMENTS --htsim PROGRAM [--only WORD] [--seed N]

EXPERIMENTS is a list of htsim's, e.g. its datacenter/validate_uec_sender.txt; its matrices and topologies are found
beside it. PROGRAM is its htsim_uec, built by you. Both run in turn, and a table in Markdown is printed. Without a
program its columns stay empty. An experiment with a parameter that has no counterpart here is named and left out.

Both carry the same bytes on links: htsim counts a packet's headers as part of a flow's size, so ours are shorter by
that share. htsim says when a flow's source knows that it is done; ours is the last arrival, to which the latency of the
way back is added.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from exanet import machine, sim
from exanet.errors import InputError
from exanet.machine import htsim as topologies

PAYLOAD, PACKET = 4080, 4144  # bytes of ours
LIMIT_S = 3600
BALANCING = {"oblivious": "oblivious", "bitmap": "bitmap", "reps": "reps", "mixed": "mixed"}


@dataclass
class Experiment:
    matrix: str
    name: str = ""
    parameters: list[str] = field(default_factory=list)


@dataclass
class Setting:
    """An experiment in our terms."""

    control: str = "nscc"
    balancing: str = "mixed"
    entropies: int = 64
    topology: Path | None = None


class Missing(Exception):
    """What an experiment asks for and is not here."""


def experiments(file: Path) -> list[Experiment]:
    """Those of one of htsim's lists. Raises InputError."""
    found: list[Experiment] = []
    try:
        lines = file.read_text().splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: error: cannot be read: {error}; give a list of experiments of htsim") from None
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if not line.startswith("!"):
            found.append(Experiment(words[0]))
        elif not found:
            raise InputError(f"{file}:{number}: error: '{line[:60]}' comes before any experiment; begin with a connection matrix")
        elif words[0] == "!Param":
            found[-1].parameters += words[1:]
        elif words[0] == "!Experiment":
            found[-1].name = " ".join(words[1:])
    return found


def setting(experiment: Experiment, folder: Path) -> Setting:
    """Raises Missing."""
    made, words = Setting(), list(experiment.parameters)
    sends = receives = False
    while words:
        word = words.pop(0)
        if word in ("-end", "-nodes"):
            words.pop(0)
        elif word in ("-sender_cc_only", "-sender_cc"):
            sends = True
        elif word in ("-receiver_cc_only", "-receiver_cc"):
            receives = True
        elif word == "-paths":
            made.entropies = int(words.pop(0))
            made.balancing = "none" if made.entropies == 1 else made.balancing
        elif word == "-topo":
            made.topology = folder / words.pop(0)
        elif word == "-load_balancing_algo" and words and words[0] in BALANCING:
            made.balancing = BALANCING[words.pop(0)]
        else:
            raise Missing(" ".join([word, *words[:1]]))
    made.control = "nscc-rccc" if sends and receives else "rccc" if receives else "nscc"
    return made


def generated(nodes: int) -> str:
    """The three tiers that htsim makes by itself for so many nodes: switches of k ports for k^3/4 of them."""
    k = round((4 * nodes) ** (1 / 3))
    if k**3 // 4 != nodes or k % 2:
        raise Missing(f"a fat tree of {nodes} nodes")
    tiers = [(k // 2, k // 2), (k // 2, k // 2), (k, None)]
    lines = [f"Nodes {nodes}", "Tiers 3", f"Podsize {k * k // 4}"]
    for number, (down, up) in enumerate(tiers):
        lines += [f"Tier {number}", "Downlink_speed_Gbps 100", f"Radix_Down {down}", "Downlink_Latency_ns 1000"]
        lines += [f"Radix_Up {up}"] if up is not None else []
    return "\n".join(lines) + "\n"


def in_its_terms(text: str, made: Setting) -> str:
    """A machine file with an experiment's congestion control and load balancing."""
    text = text.replace("congestion_control: nscc", f"congestion_control: {made.control}")
    if made.balancing == "none":
        text = text.replace("routing: spray", "routing: random")
    return text.replace("load_balancing: mixed", f"load_balancing: {made.balancing}\n  entropies: {made.entropies}")


def nodes_of(matrix: Path) -> int:
    found = re.search(r"^Nodes (\d+)", matrix.read_text(), re.MULTILINE)
    if found is None:
        raise InputError(f"{matrix}:1: error: there is no 'Nodes N'")
    return int(found[1])


def ours(experiment: Experiment, folder: Path, seed: int) -> tuple[float, float]:
    """Microseconds to the last end, and seconds of processor time. Raises Missing, InputError."""
    made, matrix = setting(experiment, folder), folder / experiment.matrix
    with tempfile.TemporaryDirectory() as scratch:
        topology = made.topology
        if topology is None:
            topology = Path(scratch) / "generated.topo"
            topology.write_text(generated(nodes_of(matrix)))
        described = Path(scratch) / "network.yaml"
        described.write_text(in_its_terms(topologies.machine_text(topology, "network"), made))
        flows = Path(scratch) / "flows.cm"
        flows.write_text(re.sub(r"\bsize (\d+)", lambda m: f"size {max(1, round(int(m[1]) * PAYLOAD / PACKET))}", matrix.read_text()))
        loaded = machine.load(str(described))
        spec = sim.TrafficSpec(traffic=f"flows:{flows}", seed=seed, nic="ultra-ethernet")
        point = sim.simulate(loaded, offered=0, spec=spec)
        back = 2e-3 * sum(tier["downlink_latency_ns"] for tier in topologies.read(topology).tiers)
    return point["completion_ns"] * 1e-3 + back, point["cpu_s"]


def theirs(experiment: Experiment, folder: Path, program: Path) -> tuple[float, float]:
    """The same of htsim. Raises InputError where it fails, or says of no flow that it has ended."""
    command = [str(program.resolve()), "-tm", experiment.matrix, *experiment.parameters]
    with tempfile.TemporaryDirectory() as scratch:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*command, "-o", f"{scratch}/log"], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ends = [float(end) for end in re.findall(r"finished at ([\d.]+)", done.stdout)]
    if done.returncode != 0 or not ends:
        raise InputError(f"{' '.join(command)}: exit {done.returncode}, {len(ends)} flows ended: {done.stderr[-300:]}")
    return max(ends), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(experiment: Experiment, folder: Path, program: Path | None, seed: int) -> str:
    what = f"| {experiment.name or experiment.matrix} | `{' '.join([Path(experiment.matrix).name, *experiment.parameters])}` |"
    try:
        end, cpu = ours(experiment, folder, seed)
    except Missing as missing:
        return f"{what} | | left out: {missing} | | |"
    if program is None:
        return f"{what} | {end:.0f} | | {cpu:.1f} | |"
    their_end, their_cpu = theirs(experiment, folder, program)
    return f"{what} {their_end:.0f} | {end:.0f} | {end / their_end - 1:+.1%} | {their_cpu:.1f} | {cpu:.1f} | {their_cpu / cpu:.1f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the last completion of flows with htsim's.")
    parser.add_argument("experiments", type=Path)
    parser.add_argument("--htsim", type=Path, metavar="PROGRAM", help="htsim_uec, built by you")
    parser.add_argument("--only", default="", metavar="WORD", help="only experiments whose line of the table has this word")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    try:
        if asked.htsim is not None and not asked.htsim.is_file():
            raise InputError(f"--htsim {asked.htsim}: there is no such program; build htsim_uec of ultraethernet/uet-htsim, and name it")
        listed = experiments(asked.experiments)
        print(
            "| experiment | parameters | htsim, µs | ours, µs | difference | htsim, s | ours, s | ratio |",
            "|---|---|" + "---:|" * 6,
            sep="\n",
        )
        for experiment in listed:
            if asked.only in f"{experiment.name} {experiment.matrix} {' '.join(experiment.parameters)}":
                print(row(experiment, asked.experiments.parent, asked.htsim, asked.seed), flush=True)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
