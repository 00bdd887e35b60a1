# SPDX-License-Identifier: Apache-2.0
"""All congestion controls on six workloads: goodput, fairness, slowdown, queues and order, as a table.

The network is a fat tree of 16 endpoints at 10 Gb/s, with ExaNet's routers, which lose nothing, and their marking
thresholds as in docs/congestion-control.md. Messages are transfers of 256 KiB, or have the sizes of a data centre.

    python examples/congestion_controls.py --only acc,dcqcn
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exanet import _core, machine, sim

NETWORK = """extends: exanest
name: small-tree
description: A fat tree of 16 endpoints with one kind of link
topology: {kind: fat-tree, shape: [4, 4]}
router: {virtual_channels: 2, queue_threshold: 64 words, queue_threshold_max: 512 words, marking_probability: 10 %, hpcc_round_trip: 13 us}
links:
  intra-qfdb: null
  inter-qfdb: null
  link: {rate: 10 Gb/s, word: 64 bit, pause_every: 32 words, framing: 2 words, latency: 200 ns}
"""

_SIZE = 1 << 18
_WORKLOADS: dict[str, tuple[float, dict[str, Any]]] = {
    "incast of 8": (0.0, {"traffic": "incast:8", "message_bytes": _SIZE, "rounds": 4}),
    "permutation": (0.0, {"traffic": "permutation", "message_bytes": _SIZE, "rounds": 4}),
    "all to all": (0.0, {"traffic": "all-to-all", "message_bytes": _SIZE, "rounds": 15}),
    "hot spot": (0.3, {"traffic": "hot-spot:0.2", "message_bytes": 1 << 16, "measure_ps": 10**10}),
    "web search": (0.4, {"traffic": "uniform", "message_sizes": "web-search", "measure_ps": 4 * 10**10}),
    "storage": (0.4, {"traffic": "uniform", "message_sizes": "ali-storage", "measure_ps": 10**10}),
}
"""By name: offered load, 0 for all at once, and what is sent. The victims of the hot spot share its links."""

_SAMPLE_PS = 5_000_000


def controls() -> list[str]:
    """Names of all controls, ACC twice: flows begin at full speed, or wait for their first rate."""
    names = [str(entry["name"]) for entry in _core.registries()["pacings"]]
    at = names.index("acc") + 1
    return [*names[:at], "acc-feedback", *names[at:]]


def described(control: str, folder: Path) -> machine.Machine:
    """The network with that control."""
    name, _, start = control.partition("-feedback") if control.startswith("acc") else (control, "", "")
    waits = ", acc_start: feedback" if control == "acc-feedback" else ""
    file = folder / f"{control}{start}.yaml"
    file.write_text(f"{NETWORK}ni: {{congestion_control: {name}{waits}}}\n", encoding="utf-8")
    return machine.load(file)


def row(network: machine.Machine, control: str, workload: str) -> list[str]:
    """Goodput, Jain's index of the senders' rates, slowdown of messages, the longest queue of a router in packets, and
    the share of messages that have arrived."""
    load, sent = _WORKLOADS[workload]
    nic = "exanet" if control == "none" else None
    found = sim.simulate(network, offered=load, spec=sim.TrafficSpec(**sent, nic=nic), sample_ps=_SAMPLE_PS)
    arrived = found["measured"] / found["created"]
    return [
        f"{found['accepted_gbps']:.1f} Gb/s",
        f"{found['fairness']:.2f}",
        f"{found['slowdown']:.1f} / {found['slowdown_p99']:.1f}",
        f"{int(found['queued'].max())}",
        f"{arrived:.0%}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="controls, by commas (default: all)")
    parser.add_argument("--workload", default="", help="one workload (default: all)")
    given = parser.parse_args(arguments)
    wanted = given.only.split(",") if given.only else controls()
    if unknown := [name for name in wanted if name not in controls()]:
        parser.error(f"no control {', '.join(unknown)}; there are {', '.join(controls())}")
    if given.workload not in ("", *_WORKLOADS):
        parser.error(f"no workload {given.workload}; there are {', '.join(_WORKLOADS)}")
    print("| workload | control | goodput | fairness | slowdown, mean / 99 % | longest queue | arrived |")
    print("|---|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for workload in [given.workload] if given.workload else _WORKLOADS:
            for control in wanted:
                print(f"| {workload} | `{control}` | {' | '.join(row(described(control, Path(folder)), control, workload))} |", flush=True)


if __name__ == "__main__":
    main()
