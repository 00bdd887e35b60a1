# SPDX-License-Identifier: Apache-2.0
"""How large networks and programs can be that are simulated: each row's size, and whether the simulation ends."""

from __future__ import annotations

import tempfile
from pathlib import Path

from exanet import replay, sim
from exanet.sim import jobs
from exanet.trace import written
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_PACKETS, _FLOWS = "torus:10,10,10", "torus:100,100,100"
_TRACE_SHAPE = (32, 32, 32)


@experiment("E37", kind="bound", long=True)
def nodes(runner: Runner) -> Measured:
    """All nodes of a torus send, by packets and by flows."""
    runner.report("packets on 1000 nodes")
    packets = sim.simulate(sim.variant("torus-512", _PACKETS, None, []), offered=0.1)
    runner.report("flows on 1,000,000 nodes")
    spec = sim.TrafficSpec(level="flow", traffic="neighbour")
    flows = sim.simulate(sim.variant("torus-512", _FLOWS, None, [], packets=False), offered=0, spec=spec)
    senders = (packets["senders"], flows["senders"])
    return Measured(
        senders,
        "uniform traffic by packets, a message to a neighbour from each node by flows; R55 has 114,582 nodes by packets",
        holds=senders[0] >= 1000 and senders[1] >= 1_000_000 and not packets["saturated"],
    )


@experiment("E32", kind="bound", long=True)
def exchange(runner: Runner) -> Measured:
    """An exchange between all of 1024 ranks, by packets."""
    job = jobs.Job("alltoall", ranks=1024, size_bytes=64)
    done = jobs.finish(runner.machine("fat-tree-1024"), [job])
    return Measured(
        job.ranks,
        f"64 B between all ranks, {done['packets']} packets; the network of neurons itself is not published",
        holds=done["packets"] >= job.ranks * (job.ranks - 1),
    )


@experiment("R22", kind="bound", long=True)
def trace(runner: Runner) -> Measured:
    """A written trace of 32,768 ranks, replayed by packets on as many nodes."""
    ranks = _TRACE_SHAPE[0] * _TRACE_SHAPE[1] * _TRACE_SHAPE[2]
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as folder:
        runner.report("writing a trace of 32,768 ranks")
        recorded = written.broadcasts(Path(folder) / "trace", ranks, 2, 64)
        machine = Path(folder) / "large.yaml"
        shape = f"{{value: {list(_TRACE_SHAPE)}, source: a node a rank, kind: chosen}}"
        machine.write_text(f"extends: torus-512\nname: large\ndescription: a node a rank\ntopology: {{shape: {shape}}}\n", encoding="utf-8")
        runner.report("replaying a trace of 32,768 ranks")
        summary = replay.replay(replay.Options((recorded,), str(machine)))[0]["summary"]
    return Measured(
        ranks,
        f"two broadcasts, {summary['messages']} messages, in {summary['virtual_ps'] / 1e6:.0f} us of virtual time; theirs is LAMMPS",
        holds=bool(summary["complete"]) and summary["messages"] == 2 * (ranks - 1),
    )
