# SPDX-License-Identifier: Apache-2.0
"""Times ExaNet against SimGrid's smpirun: wall messages (or operations) per second of the same MPI program, on the same
core. The "-limit" rows set the ping-pong of ranks as processes beside what the host allows: bare hand-overs of that
core between as many. The "-packed" rows set ranks in one address space beside ranks as processes, the "-cores" rows
beside SimGrid, with all cores allowed to both. In the "-simulated" rows our simulator carries out the program's MPI
calls, as SimGrid does; "-simulated-cores" is the same with all cores, "-simulated-flow" at flow level, and "-calls"
beside our runs whose calls are their MPI library's.

Both are pinned to one core and run in turn, so that what else the host does falls on both; each figure is the median of
the repeats, taken inside the program over its steady part (`patterns.c`). Ours is the whole `exanest` machine, packet
by packet; SimGrid's is its usual cluster with its usual flow model, without measuring computation either. Writes
`results.json` beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import applications
import flows
import network
import replay
import verilated
from common import HERE, Failure, execute, tool

RANKS = (16, 64)
# Rounds to warm up and to time, by ranks: each timed part lasts some tenths of a second or more.
ROUNDS = {
    "pingpong": {16: (50, 16_000), 64: (50, 4000)},
    "halo": {16: (50, 3200), 64: (50, 800)},
    "allreduce": {16: (20, 2400), 64: (20, 800)},
    "allreduce-rdb": {16: (20, 2400), 64: (20, 800)},
}
# SimGrid's own choice for a small allreduce is a reduction to one rank and a broadcast, 2 (n - 1) messages; MPICH's is
# recursive doubling, n log2 n messages. The plain rows let each choose, the "-rdb" rows give SimGrid MPICH's algorithm:
# the same messages on both sides.
SIMGRID_SETTINGS = {"allreduce-rdb": ["--cfg=smpi/allreduce:rdb"]}


@dataclass(frozen=True)
class Timing:
    rate: float
    unit: str
    simulated_s: float  # per round


def parse(output: str) -> Timing:
    """Finds the program's line (`UNIT COUNT WALL_S SIMULATED_S`) in what the run printed."""
    for line in output.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] in ("messages", "operations", "handovers"):
            return Timing(rate=int(words[1]) / float(words[2]), unit=f"{words[0]}/s", simulated_s=float(words[3]))
    raise Failure(f"the program printed no timing:\n{output}")


class Exanet:
    def __init__(self, folder: Path, machine: str, ranks_as: str, *more: str) -> None:
        """`more`: options of `exanet run`."""
        self.folder, self.machine, self.ranks_as, self.more = folder, machine, ranks_as, more
        self.name = " ".join([f"ExaNet, ranks {'as processes' if ranks_as == 'processes' else ranks_as}", *more])
        self.exanet = tool("exanet", "this project: pip install .")
        execute([tool("mpicc", "mpich from PyPI"), "-O2", "-o", "patterns", str(HERE / "patterns.c")], cwd=folder)

    def command(self, ranks: int, pattern: str, rounds: list[str]) -> list[str]:
        program = [pattern.partition("-")[0], *rounds]
        options = ["-m", self.machine, "-n", str(ranks), "--compute", "off", "--ranks-as", self.ranks_as, *self.more, "-o", "result"]
        return [self.exanet, "run", *options, "--", "./patterns", *program]


class SimGrid:
    name = "SimGrid smpirun"

    def __init__(self, folder: Path) -> None:
        self.smpirun = tool("smpirun", "Debian's libsimgrid-dev")
        execute([tool("smpicc", "Debian's libsimgrid-dev"), "-O2", "-o", "patterns-simgrid", str(HERE / "patterns.c")], cwd=folder)
        (folder / "hosts").write_text("".join(f"node-{i}\n" for i in range(max(RANKS))))

    def command(self, ranks: int, pattern: str, rounds: list[str]) -> list[str]:
        settings = ["--cfg=smpi/simulate-computation:no", "--log=root.thresh:warning", *SIMGRID_SETTINGS.get(pattern, [])]
        program = [pattern.partition("-")[0], *rounds]
        where = ["-platform", str(HERE / "cluster.xml"), "-hostfile", "hosts"]
        return [self.smpirun, "-np", str(ranks), *where, *settings, "./patterns-simgrid", *program]


class Handover:
    """No simulator but a limit: how often processes can hand one core to each other. A ping-pong message needs more
    than one such step."""

    name = "process hand-over"

    def __init__(self, folder: Path) -> None:
        execute([tool("cc", "a C compiler"), "-O2", "-o", "handoff", str(HERE / "handoff.c")], cwd=folder)

    def command(self, ranks: int, pattern: str, rounds: list[str]) -> list[str]:
        return ["./handoff", str(ranks), "200000"]


def measure(simulator: Exanet | SimGrid | Handover, cores: str, ranks: int, pattern: str, *, folder: Path) -> Timing:
    rounds = [str(count) for count in ROUNDS[pattern][ranks]]
    return parse(execute(["taskset", "-c", cores, *simulator.command(ranks, pattern, rounds)], cwd=folder))


def compare(arguments: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    wanted = [name for name in arguments.only.split(",") if name]
    ours, processes = (Exanet(folder, arguments.machine, ranks_as) for ranks_as in ("packed", "processes"))
    calls = ("--mpi-calls", "simulated")
    simulated, flow = (Exanet(folder, arguments.machine, "packed", *calls, *level) for level in ((), ("--level", "flow")))
    simgrid, limit = SimGrid(folder), Handover(folder)
    pairs: list[tuple[str, str, Exanet, Exanet | SimGrid | Handover]] = [(pattern, "", ours, simgrid) for pattern in ROUNDS]
    pairs += [("pingpong", "-limit", processes, limit)]
    pairs += [(pattern, "-packed", ours, processes) for pattern in ("pingpong", "halo", "allreduce")]
    pairs += [(pattern, "-cores", ours, simgrid) for pattern in ROUNDS]
    pairs += [(pattern, "-simulated", simulated, simgrid) for pattern in ROUNDS]
    pairs += [(pattern, "-simulated-cores", simulated, simgrid) for pattern in ROUNDS]
    pairs += [(pattern, "-simulated-flow", flow, simgrid) for pattern in ROUNDS]
    pairs += [(pattern, "-calls", simulated, ours) for pattern in ("pingpong", "halo", "allreduce")]
    all_cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    rows: list[dict[str, object]] = []
    setting = f"({arguments.machine}, core {arguments.core}, median of {arguments.repeats})"
    print(f"{'':<32}{'ExaNet':>12}{'peer':>12}{'ratio':>8}   {setting}")
    for ranks in RANKS:
        for pattern, kind, mine, peer in pairs:
            name = f"{pattern}-{ranks}{kind}"
            if wanted and not any(name.startswith(beginning) for beginning in wanted):
                continue
            cores = all_cores if kind.endswith("-cores") else str(arguments.core)
            timings: dict[str, list[Timing]] = {mine.name: [], peer.name: []}
            for _ in range(arguments.repeats):
                for simulator in (mine, peer):
                    timings[simulator.name].append(measure(simulator, cores, ranks, pattern, folder=folder))
            rate, theirs = (statistics.median(timing.rate for timing in timings[key]) for key in (mine.name, peer.name))
            unit = timings[mine.name][0].unit
            figures = {"ours": round(rate, 1), "unit": unit, "peer": peer.name, "peer_value": round(theirs, 1)}
            rows.append({"name": name, **figures, "ratio": round(rate / theirs, 3)})
            print(f"{name:<32}{rate:>12,.0f}{theirs:>12,.0f}{rate / theirs:>8.2f}   {unit}, peer {peer.name}", flush=True)
    for row in flows.compare(arguments.core, arguments.repeats, wanted, folder):
        rows.append(row)
        print(
            f"{row['name']:<32}{row['ours']:>12,.0f}{row['peer_value']:>12,.0f}{row['ratio']:>8.0f}   flows/s, peer {row['peer']}",
            flush=True,
        )
    return rows


def write_whole(path: Path, rows: list[dict[str, object]]) -> None:
    beside = path.with_suffix(".json.part")
    beside.write_text(json.dumps(rows, indent=2) + "\n")
    beside.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description="time ExaNet against SimGrid")
    parser.add_argument("--machine", default="exanest", help="machine that ExaNet simulates (default: exanest)")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="core to pin both to (default: the last)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, in turn (default: 3)")
    parser.add_argument("--only", default="", help="comma-separated beginnings of row names, e.g. pingpong,halo-16")
    parser.add_argument("--loggopsim", type=Path, help="folder of a built LogGOPSim, for its rows beside the replay")
    parser.add_argument("--output", type=Path, default=HERE / "results.json", help="file to write (default: beside this program)")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="exanet-bench-") as folder:
            rows = compare(arguments, Path(folder)) + network.rows(arguments.only, arguments.repeats)
            rows += replay.rows(
                arguments.only,
                arguments.repeats,
                arguments.machine,
                arguments.core,
                Path(folder),
                arguments.loggopsim and arguments.loggopsim.resolve(),
            )
            rows += verilated.rows(arguments.only, arguments.repeats, Path(folder))
            rows += applications.rows(arguments.only, arguments.repeats, arguments.machine, Path(folder))
    except (Failure, subprocess.TimeoutExpired) as problem:
        print(f"bench: error: {problem}", file=sys.stderr)
        return 2
    write_whole(arguments.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
