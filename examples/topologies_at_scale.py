# SPDX-License-Identifier: Apache-2.0
"""Torus, jellyfish, dragonfly and fat tree of equal size, from thousands to a million endpoints, at flow level.

Every endpoint sends one message at once, to a random other (uniform) or by a random permutation. The table says how
long all messages took, and how much longer a message took than alone. All networks have the routers and links of
torus-512 (INRFlow's experiment: Navaridas and others, "INRFlow: An interconnection networks research flow-level
simulation framework", 2019).

    python examples/topologies_at_scale.py --most 40000
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path

from exanet import machine, sim

SHAPES: dict[str, list[list[int]]] = {
    "torus": [[16, 16, 16], [32, 32, 32], [64, 64, 64], [128, 128, 64]],
    "jellyfish": [[256, 16, 16], [1024, 32, 32], [4096, 64, 64]],
    "dragonfly": [[6], [9], [16], [23]],
    "fat-tree": [[16, 16, 16], [32, 32, 32], [64, 64, 64], [32, 32, 32, 32]],
}
TRAFFIC = ("permutation", "uniform")


def described(kind: str, shape: list[int], folder: Path) -> machine.Machine:
    file = folder / f"{kind}.yaml"
    base = "dragonfly-342" if kind == "dragonfly" else "torus-512"
    file.write_text(
        f"extends: {base}\nname: {kind}\n"
        f"topology:\n  kind: {kind}\n  shape: {{value: {shape}, source: equal size, kind: chosen}}\n"
        "router:\n  virtual_channels: {value: 8, source: enough for each of them, kind: chosen}\n"
    )
    return machine.load(file, packets=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=1 << 21, help="largest number of endpoints (default: all sizes)")
    parser.add_argument("--only", default="", help="one kind of topology")
    arguments = parser.parse_args()
    print("| topology | endpoints | hops | " + " | ".join(f"{name}: all done | slowdown" for name in TRAFFIC) + " | user CPU |")
    print("|---|---|---|" + "---|---|" * len(TRAFFIC) + "---|")
    wanted = [kind for kind in SHAPES if arguments.only in ("", kind)]
    for size in range(max(map(len, SHAPES.values()))):
        for kind in list(wanted):
            if size >= len(SHAPES[kind]):
                continue
            with tempfile.TemporaryDirectory() as folder:
                network = described(kind, SHAPES[kind][size], Path(folder))
            if network.nodes > arguments.most:
                wanted.remove(kind)  # sizes rise, and to describe a million nodes takes seconds
                continue
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            points = [sim.simulate(network, offered=0, spec=sim.TrafficSpec(traffic=traffic, level="flow")) for traffic in TRAFFIC]
            spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
            cells = " | ".join(f"{point['completion_ns'] * 1e-6:.2f} ms | {point['slowdown']:.2f}" for point in points)
            print(f"| {kind} {SHAPES[kind][size]} | {network.nodes} | {points[0]['mean_hops']:.2f} | {cells} | {spent:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
