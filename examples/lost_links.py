# SPDX-License-Identifier: Apache-2.0
"""What throughput does a network keep that loses links? A torus of 8x8x8 and a fat tree of 1024 nodes lose 1, 5 and 20
links one after the other under uniform traffic.

Of each: the throughput before, the least of an interval from the first failure on, the least and the mean after the
last reaction, and the bound: what max-min fair flows have on what is left, with the same traffic and load (core/flow,
on the topology's own routes and those around what is down). Each share is that of the bound.

    python examples/lost_links.py --links 1,5,20
"""

from __future__ import annotations

import argparse
import random
import tempfile
from typing import Any

from exanet import _core, faults, sim
from exanet.machine import Machine
from exanet.machine.variant import variant

FLOW_ROUTING = {"torus-512": None, "fat-tree-1024": "random"}
FIRST_US, EACH_US, REACTION_US = 60, 4, 10
WARM_UP_US, MEASURE_US, FLOWS_US = 40, 210, 300


def links_of(described: Machine, number: int, seed: int) -> list[str]:
    """Names of links between routers, drawn."""
    drawing = _core.topology_drawing(described.resolve())
    names = [str(name) for name in drawing["node_name"]]
    first = int(drawing["endpoints"]) if len(names) > drawing["endpoints"] else 0
    ends = zip(drawing["links"], drawing["port_name"], strict=True)
    between = [f"{names[near]} {port}" for (near, far), port in ends if first <= near < far]
    return random.Random(seed).sample(between, number)


def failing(described: Machine, links: list[str], *, at_once: bool) -> Machine:
    """The links go down one after the other, or all at the beginning."""
    times = [0 if at_once else FIRST_US + EACH_US * number for number in range(len(links))]
    events = "".join(f'  - {{at: {at} us, down: "{name}"}}\n' for at, name in zip(times, links, strict=True))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(f"reaction: {0 if at_once else REACTION_US} us\nevents:\n{events}")
        file.flush()
        return faults.add(described, file.name, hosts=False)


def bound_gbps(name: str, load: float, links: list[str]) -> float:
    """Of max-min fair flows on what is left."""
    described = failing(variant(name, None, FLOW_ROUTING[name], []), links, at_once=True)
    spec = sim.TrafficSpec(level="flow", message_bytes=4096, warm_up_ps=FLOWS_US * 10**6, measure_ps=FLOWS_US * 10**6)
    return float(sim.simulate(described, offered=load, spec=spec)["accepted_gbps"])


def throughput(name: str, load: float, links: list[str]) -> dict[str, float]:
    """Gb/s before the first failure, the least from it on, and the least and the mean from the last reaction on."""
    described = failing(variant(name, None, "adaptive", []), links, at_once=False)
    spec = sim.TrafficSpec(warm_up_ps=WARM_UP_US * 10**6, measure_ps=MEASURE_US * 10**6)
    point: dict[str, Any] = sim.simulate(described, offered=load, spec=spec)
    begin, packets = point["intervals"]["begin_ns"] / 1e3, point["intervals"]["delivered_packets"].astype(float)
    bits = point["accepted_gbps"] * MEASURE_US * 1e3 / point["accepted"]
    rate = packets * bits / point["interval_ns"]
    reacted = FIRST_US + EACH_US * (len(links) - 1) + REACTION_US
    last = rate[begin >= reacted]
    before = rate[(begin >= WARM_UP_US) & (begin < FIRST_US - point["interval_ns"] / 1e3)].mean()
    return {"before": before, "least": rate[begin >= FIRST_US].min(), "least after": last.min(), "after": last.mean()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machines", default=",".join(FLOW_ROUTING), help=f"(default: {','.join(FLOW_ROUTING)})")
    parser.add_argument("--loads", default="0.5", help="offered loads (default: 0.5); flows take minutes at high ones")
    parser.add_argument("--links", default="1,5,20", help="links that go down (default: 1,5,20)")
    parser.add_argument("--seed", type=int, default=1, help="from which links are drawn (default: 1)")
    arguments = parser.parse_args()
    print("| network | load | links lost | bound | before | least from the first failure on | least after the last reaction | mean then |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in arguments.machines.split(","):
        for load in map(float, arguments.loads.split(",")):
            for number in map(int, arguments.links.split(",")):
                links = links_of(variant(name, None, None, []), number, arguments.seed)
                bound = bound_gbps(name, load, links)
                found = throughput(name, load, links)
                cells = " | ".join(f"{value:.0f} Gb/s ({value / bound:.1%})" for value in found.values())
                print(f"| {name} | {load} | {number} | {bound:.0f} Gb/s | {cells} |", flush=True)


if __name__ == "__main__":
    main()
