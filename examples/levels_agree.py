# SPDX-License-Identifier: Apache-2.0
"""How far do flow level and packet level agree? Bursts of every permutation on networks of 512 nodes.

Of each: when the last message has arrived, and the mean time of a message; the flow level's figure against that of the
packet level. Max-min rates are compared with senders that keep to them (paced), FIFO sharing with senders that give all
they can (free). The routers have a FIFO for each virtual channel that routing names, as FIFO sharing has it;
`--vc-allocation occupancy` lets packets take any.

    python examples/levels_agree.py --machines torus-512,hypercube-512 --message 65536
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from exanet import machine, sim
from exanet.errors import InputError

PATTERNS = ("permutation", "complement", "reversal", "shuffle", "butterfly", "tornado", "neighbour", "transpose")
FAT_TREE = "topology:\n  kind: fat-tree\n  shape: {value: [8, 8, 8], source: 8^3, kind: chosen}\n"
MACHINES = "torus-512,hypercube-512,hyperx-512,jellyfish-512,fat-tree-512"


def described(name: str, vc_allocation: str) -> machine.Machine:
    base, shape = ("torus-512", FAT_TREE) if name == "fat-tree-512" else (name, "")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "machine.yaml"
        file.write_text(f"extends: {base}\nname: {Path(name).stem}\nrouter: {{vc_allocation: {vc_allocation}}}\n{shape}")
        return machine.load(file)


def cells(flow: dict[str, Any], packet: dict[str, Any]) -> str:
    return " | ".join(f"{flow[key] / packet[key] - 1:+.1%}" for key in ("completion_ns", "latency_ns"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machines", default=MACHINES, help=f"comma-separated names (default: {MACHINES})")
    parser.add_argument("--message", type=int, default=65536, help="bytes of a message (default: 65536)")
    parser.add_argument("--vc-allocation", choices=("routing", "occupancy"), default="routing", help="of the routers (default: routing)")
    arguments = parser.parse_args()
    print("| network | permutation | max-min: all done | paced: all done | mean | fifo: all done | free: all done | mean |")
    print("|---|---|---|---|---|---|---|---|")
    within = {"max-min and paced senders": 0, "fifo and free senders": 0}
    cases = 0
    for name in arguments.machines.split(","):
        network = described(name, arguments.vc_allocation)
        for traffic in PATTERNS:
            spec = {"traffic": traffic, "message_bytes": arguments.message}
            try:
                fair = sim.simulate(network, offered=0, spec=sim.TrafficSpec(level="flow", **spec))
            except InputError:
                continue  # the pattern is not made for so many endpoints
            fifo = sim.simulate(network, offered=0, spec=sim.TrafficSpec(level="flow", sharing="fifo", **spec))
            paced, free = (sim.simulate(network, offered=0, spec=sim.TrafficSpec(pace=pace, **spec)) for pace in ("fair", "free"))
            done = [f"{flow['completion_ns'] * 1e-3:.0f} µs" for flow in (fair, fifo)]
            print(f"| {name} | {traffic} | {done[0]} | {cells(fair, paced)} | {done[1]} | {cells(fifo, free)} |", flush=True)
            cases += 1
            for pair, (flow, packet) in zip(within, ((fair, paced), (fifo, free)), strict=True):
                within[pair] += abs(flow["completion_ns"] / packet["completion_ns"] - 1) <= 0.1
    print("\n" + "; ".join(f"{pair}: {near} of {cases}" for pair, near in within.items()) + " within 10 %")


if __name__ == "__main__":
    main()
