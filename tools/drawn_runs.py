# SPDX-License-Identifier: Apache-2.0
"""Draws simulations over all topologies, routings, traffics and jobs, on both levels: does each end, without an
internal error?

usage: python tools/drawn_runs.py [--count 10000] [--first 0] [--jobs 2] [--limit SECONDS]

A run's number is the seed of everything about it: the same number is the same run. What cannot be run is refused, which
is an answer. A run fails when a check of the simulator fails in it, when its process dies, or when it takes longer than
the limit; each is printed with its number and what was drawn, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import random
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# A machine for each kind of router.
MACHINES = ("torus-512", "torus-512", "exanest", "apenet", "bxi-256", "exanest-tor")
TOPOLOGIES = (
    "torus:4,4,4", "torus:9,9", "torus:2,3,2", "torus:16", "mesh:5,4", "mesh:7", "fat-tree:4,4,4", "fat-tree:6,2,3", "k-ary-n-tree:2,4",
    "xgft:4,4,2,2", "dragonfly:2", "dragonfly:1", "dragonfly:2,4,2", "megafly:2,2,2,2", "slim-fly:3,2", "slim-fly:5", "hyperx:4,4,4",
    "hyperx:2,3,3,2", "flattened-butterfly:4,3", "jellyfish:20,5,3,7", "jellyfish:11,4,2,3", "hypercube:6", "full-mesh:12", "full-mesh:2",
    "qfdb-torus:2,2,2", "qfdb-dragonfly:4,2", "graph:",
)  # fmt: skip
OBLIVIOUS = (None, None, None, "minimal", "up-down", "valiant", "valiant", "random", "spray")
ADAPTIVE = ("ugal-l", "ugal-g", "par", "adaptive")
TRAFFICS = (
    "uniform", "uniform", "permutation", "transpose", "complement", "reversal", "shuffle", "butterfly", "tornado", "neighbour",
    "hot-spot:0.1", "hot-spot", "hot-region:0.5", "hot-region:0.5", "hot-region:0.1", "next-group", "incast:4", "incast:20", "all-to-all",
)  # fmt: skip
JOBS = (
    "stencil-3d:bytes=4KiB,rounds=2", "stencil-2d:bytes=2KiB,rounds=2", "allreduce-ring:bytes=16KiB", "allreduce-doubling:bytes=16KiB",
    "alltoall:bytes=1KiB", "alltoall-bruck:bytes=1KiB", "broadcast:bytes=64KiB", "reduce:bytes=8KiB", "allreduce-tree:bytes=8KiB",
    "allreduce-rabenseifner:bytes=32KiB", "incast:bytes=8KiB,rounds=2", "request-reply:bytes=4KiB,rounds=3", "storage:bytes=16KiB,rounds=2",
    "web-search:rounds=1,pause=10us", "alltoall-pairwise:bytes=2KiB", "allgather-ring:bytes=4KiB", "barrier:rounds=3",
)  # fmt: skip


def drawn(number: int) -> dict[str, Any]:
    """Arguments of this run, as words."""
    draw = random.Random(number)
    case: dict[str, Any] = {
        "machine": draw.choice(MACHINES), "topology": draw.choice(TOPOLOGIES), "failed": (), "seed": number,
    }  # fmt: skip
    if draw.random() < 0.15:
        case["failed"] = (draw.choice((f"links:2:{number}", f"nodes:1:{number}", f"links:1:{number}")),)
    case["rails"] = random.Random(f"rails {number}").choice((1, 1, 1, 1, 2, 3))
    mode = draw.choice(("packets", "packets", "messages", "max-min", "fifo", "fifo", "job", "job at flow level"))
    case["mode"] = mode
    own = ("shortest",) if case["topology"] == "graph:" else ()
    case["routing"] = draw.choice(OBLIVIOUS + own + (ADAPTIVE if mode in ("packets", "messages", "job") else ()))
    if "job" in mode:
        case["jobs"] = draw.sample(JOBS, draw.choice((1, 1, 2)))
        case["mapping"] = draw.choice(("linear", "random", "switch"))
        case["nic"] = draw.choice(("ideal", "ideal", "exanet")) if mode == "job" else "ideal"
        return case
    case["traffic"] = draw.choice(TRAFFICS)
    case["packet_bytes"] = draw.choice((None, None, None, 64, 100, 1))
    if mode == "packets":
        case["load"] = draw.choice((0.05, 0.3, 0.6, 0.9, 1.5, 100.0))
        case["arrivals"] = draw.choice(("poisson", "poisson", "bernoulli", "bursts:8", "bursts"))
        case["priority_share"] = draw.choice((0.0, 0.0, 0.2, 1.0))
        case["warm_up_ps"] = draw.choice((None, 0, 2_000_000))
        case["measure_ps"] = draw.choice((1000, 2_000_000, 4_000_000))
        case["threads"] = draw.choice((1, 1, 1, 2, 3))
        return case
    case["load"] = draw.choice((0.0, 0.0, 0.0, 0.3, 0.8, 2.0))
    case["rounds"] = draw.choice((1, 1, 3)) if not case["load"] else 1
    mean_bytes = 1 << 20
    if draw.random() < 0.15 and mode != "fifo":
        case["message_sizes"] = draw.choice(("web-search", "hadoop", "ali-storage"))
    else:
        most = 6 if mode == "messages" else 8
        case["message_bytes"] = mean_bytes = draw.choice((1, 100, 256, 1000, 4096, 20_000, 65_536, 1 << 20)[:most])
    gbps = 400 if case["machine"] == "bxi-256" else 10
    case["measure_ps"] = max(10_000, mean_bytes * 8000 // gbps * draw.choice((1, 3)))  # some messages of each sender
    if case["packet_bytes"] is not None and mean_bytes > 2000 * case["packet_bytes"]:
        case["packet_bytes"] = None
    if mode == "messages" and draw.random() < 0.2:
        case["pace"] = "fair"
    if mode in ("max-min", "fifo"):
        case |= {"sharing": mode, "grain_ps": draw.choice((1, 1000, 1_000_000))}
    return case


@functools.lru_cache(maxsize=4096)
def _machine(machine: str, topology: str, rails: int, routing: str | None, failed: tuple[str, ...], packets: bool) -> dict[str, Any]:
    from exanet.machine import load, variant
    from exanet.machine.located import values

    if topology != "graph:":
        return variant.variant(machine, topology, routing, failed, rails=rails if rails > 1 else None, packets=packets).resolve()
    with tempfile.TemporaryDirectory() as folder:
        draw = random.Random(str((machine, routing, failed)))
        nodes = draw.randrange(2, 20)
        links = {(node, draw.randrange(node)) for node in range(1, nodes)} | {(node, draw.randrange(node)) for node in range(1, nodes)}
        (Path(folder) / "net.txt").write_text("".join(f"{a} {b}\n" for a, b in sorted(links)))
        file = Path(folder) / "m.yaml"
        shape = "{value: [2], source: drawn, kind: chosen}"
        file.write_text(
            f"extends: {machine}\nname: drawn\ndescription: drawn\ntopology:\n  kind: graph\n  shape: {shape}\n  file: net.txt\n"
        )
        changes: dict[str, Any] = {} if routing is None else {"topology.routing": routing}
        if rails > 1:
            changes["topology.rails"] = rails
        if failed:
            changes["topology.failed"] = list(failed)
        return load(file, values(changes, "drawn"), packets=packets).resolve()


def carry_out(case: dict[str, Any]) -> None:
    """Raises InputError on what cannot be run, InternalError and whatever else on a defect."""
    from exanet.sim import TrafficSpec, simulate
    from exanet.sim.jobs import Job, finish

    level = "packet" if case["mode"] in ("packets", "messages", "job") else "flow"
    machine = _machine(case["machine"], case["topology"], case["rails"], case["routing"], case["failed"], level == "packet")
    if "jobs" in case:
        jobs = [Job.parse(text) for text in case["jobs"]]
        finish(machine, jobs, mapping=case["mapping"], seed=case["seed"], level=level, nic=case["nic"])
        return
    spec = {key: value for key, value in case.items() if key in TrafficSpec.__dataclass_fields__}
    simulate(machine, offered=case["load"], spec=TrafficSpec(**spec, level=level), threads=case.get("threads", 1))


def child(numbers: range, limit_s: float) -> None:
    """Carries runs out, with a line before and a line after each."""
    from exanet.errors import InputError

    for number in numbers:
        print("begun", number, flush=True)
        faulthandler.dump_traceback_later(limit_s, exit=True)
        outcome = "ended"
        try:
            carry_out(drawn(number))
        except InputError:
            outcome = "refused"
        except Exception as error:
            outcome = f"failed {type(error).__name__}: {' '.join(str(error).split())}"
        faulthandler.cancel_dump_traceback_later()
        print("done", number, outcome, flush=True)


def watch(numbers: range, limit_s: float, outcomes: Counter[str]) -> None:
    """Has runs carried out in a process of their own, and in another one behind each that ends it."""
    first = numbers.start
    while first < numbers.stop:
        words = [sys.executable, __file__, "--child", "--first", str(first), "--count", str(numbers.stop - first), "--limit", str(limit_s)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout and process.stderr
            begun = first
            for line in process.stdout:
                word, number, *outcome = line.split(maxsplit=2)
                begun, first = int(number), int(number) + (word == "done")
                if word == "done":
                    kind = outcome[0].strip()
                    outcomes[kind.split()[0]] += 1
                    if kind.startswith("failed"):
                        print(f"run {number} {kind}\n    {drawn(int(number))}", flush=True)
            said = process.stderr.read()
        if first < numbers.stop:
            outcomes["failed"] += 1
            why = "took too long" if "Timeout" in said else f"ended its process with {process.returncode}"
            print(f"run {begun} {why}\n    {drawn(begun)}\n{said[-2000:]}", flush=True)
            first = begun + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="how many runs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a run may take")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.count)
    if given.child:
        with contextlib.suppress(BrokenPipeError):
            child(numbers, given.limit)
        return 0
    outcomes: Counter[str] = Counter()
    pieces = [numbers[i * given.count // given.jobs : (i + 1) * given.count // given.jobs] for i in range(given.jobs)]
    with ThreadPoolExecutor(given.jobs) as pool:
        for watched in [pool.submit(watch, piece, given.limit, outcomes) for piece in pieces]:
            watched.result()
    reported = ", ".join(f"{outcomes[kind]} {kind}" for kind in ("ended", "refused", "failed"))
    print(f"{given.count} runs from number {given.first} on: {reported}")
    return 1 if outcomes["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
