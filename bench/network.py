# SPDX-License-Identifier: Apache-2.0
"""Packet-hops a second of processor time: the packet-level model against CAMINOS (crates.io), against itself on a
larger torus, and on two threads against one.

Against CAMINOS: an 8x8x8 torus, uniform traffic, packets of 34 words (phits there), at 30 and 60 % of the load that
dimension order accepts (0.80 of a link). CAMINOS does what it calls virtual cut-through, with two channels, the same
buffers and links as long; it moves phits cycle by cycle. Its packet-hops are the phits that its links carried, by 34.
Both sides are single threads; user time of the process there, of the run here.
"""

from __future__ import annotations

import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from exanet import machine, sim

HERE = Path(__file__).resolve().parent
CAMINOS = HERE.parent / "build" / "caminos" / "bin" / "caminos"
WORDS, PAYLOAD_BYTES = 34, 512
NODES, LINKS = 512, 6 * 512
CYCLES = 2000
UNIT = "packet-hops/CPU s"
WALL_UNIT = "packet-hops/s"

Row = dict[str, object]
Measure = Callable[[], float]


def ours(
    name: str, load: float, measure_us: int, *, shape: tuple[int, ...] = (), traffic: str = "uniform", threads: int = 1, wall: bool = False
) -> float:
    """Of a machine, of another shape if need be. With threads: by the busiest thread of each window, as with a
    processor for each; or, with `wall`, by the time that passes, building the network included."""
    resolved = machine.load(name).resolve()
    resolved["router"]["max_payload_bytes"] = PAYLOAD_BYTES
    if shape:
        resolved["topology"]["shape"] = list(shape)
    spec = sim.TrafficSpec(traffic, PAYLOAD_BYTES, warm_up_ps=20_000_000, measure_ps=measure_us * 1_000_000)
    began = time.perf_counter()
    point = sim.simulate(resolved, offered=load, spec=spec, threads=threads)
    passed_s = time.perf_counter() - began
    return float(point["packet_hops"] / (passed_s if wall else point["longest_cpu_s"]))


def caminos(load: float) -> float:
    with tempfile.TemporaryDirectory(prefix="exanet-bench-") as folder:
        config, result = Path(folder) / "torus.cfg", Path(folder) / "result"
        config.write_text((HERE / "caminos.cfg").read_text().replace("LOAD", str(load)).replace("CYCLES", str(CYCLES)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([CAMINOS, config, f"--results={result}"], cwd=folder, capture_output=True, check=True, timeout=600)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        found = re.search(r"average_link_utilization:\s*([0-9.]+)", result.read_text())
    assert found, "CAMINOS writes average_link_utilization"
    return float(found[1]) * LINKS * CYCLES / WORDS / seconds


def row(name: str, peer: str, repeats: int, mine: Measure, theirs: Measure) -> Row:
    """Medians of `repeats` runs of each side, in turn."""
    unit = WALL_UNIT if name.endswith("-wall") else UNIT
    pairs = [(mine(), theirs()) for _ in range(repeats)]
    a, b = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"{name:<28}{a:>12,.0f}{b:>12,.0f}{a / b:>8.2f}   {unit}, peer {peer}", flush=True)
    return {"name": name, "ours": round(a), "unit": unit, "peer": peer, "peer_value": round(b), "ratio": round(a / b, 3)}


def rows(only: str, repeats: int) -> list[Row]:
    cube, large = partial(ours, "torus-512"), partial(ours, "torus-512", shape=(16, 16, 16))
    possible: list[tuple[str, str, Measure, Measure]] = []
    for share, load in ((30, 0.24), (60, 0.48)):
        if CAMINOS.exists():
            possible.append((f"packets-torus-512-{share}", "CAMINOS 0.6.3", partial(cube, load, 400), partial(caminos, load)))
        possible.append((f"packets-torus-4096-{share}", "8x8x8 torus", partial(large, load / 2, 40), partial(cube, load, 400)))
    tree = partial(ours, "fat-tree-1024", 0.3, 200, traffic="permutation")
    possible.append(("packets-fat-tree-1024", "8x8x8 torus", tree, partial(cube, 0.24, 400)))
    possible.append(("threads-2-torus-4096", "one thread", partial(large, 0.24, 40, threads=2), partial(large, 0.24, 40)))
    # The same by the clock on the wall: only where two processors have nothing else to do.
    passing = partial(large, 0.24, 200, wall=True)
    possible.append(("threads-2-torus-4096-wall", "one thread", partial(passing, threads=2), passing))
    wanted = only.split(",")
    return [row(name, peer, repeats, mine, theirs) for name, peer, mine, theirs in possible if any(name.startswith(w) for w in wanted)]
