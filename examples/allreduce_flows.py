# SPDX-License-Identifier: Apache-2.0
"""A ring allreduce as flows that wait for each other: in each of 2 (n - 1) steps a rank passes on the block that it got
in the step before.

python examples/allreduce_flows.py --machine fat-tree-64 --message 1048576
"""

from __future__ import annotations

import argparse

from exanet import machine
from exanet.sim.messages import Flow, run_flows


def ring_allreduce(ranks: int, size_bytes: int) -> list[Flow]:
    """Flow number `step * ranks + rank` is what `rank` sends in that step."""
    flows = []
    for step in range(2 * (ranks - 1)):
        for rank in range(ranks):
            before = ((step - 1) * ranks + (rank - 1) % ranks,) if step else ()
            flows.append(Flow(rank, (rank + 1) % ranks, -(-size_bytes // ranks), after=before))
    return flows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", default="fat-tree-64", help="name or file (default: fat-tree-64)")
    parser.add_argument("--message", type=int, default=1 << 20, help="bytes of the vector (default: 1 MiB)")
    arguments = parser.parse_args()
    network = machine.load(arguments.machine)
    flows = ring_allreduce(network.nodes, arguments.message)
    found = run_flows(network, flows)
    print(f"{len(flows)} flows, all done after {found['finished_ps'].max() * 1e-6:.1f} µs")


if __name__ == "__main__":
    main()
