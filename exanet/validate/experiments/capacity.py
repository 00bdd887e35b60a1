# SPDX-License-Identifier: Apache-2.0
"""How large networks and programs can be that are simulated: each row's size, and whether the simulation ends."""

from __future__ import annotations

import tempfile
from pathlib import Path

from exanet import replay, sim
from exanet.machine import located
from exanet.sim import jobs
from exanet.trace import written
from exanet.trace.layout import OF_WORLD, WORLD
from exanet.trace.write import Writer
from exanet.validate.full_link import full_link_of
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_PACKETS, _FLOWS = "torus:10,10,10", "torus:100,100,100"
_TRACE_SHAPE = (32, 32, 32)
_CONTEXT_BITS = 16
_FRAGMENT_BYTES = 9000
_LARGE_BUFFERS = {
    "router.inter_fifo": "8192 words",
    "router.intra_fifo": "4096 words",
    "router.switch.output_fifo": "284 words",
    "router.switch.pause": "800 words",
    "router.switch.resume": "516 words",
}
"""As many packets of that size as the machine's have of its own."""


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


@experiment("R24", kind="bound")
def scaling_runs(runner: Runner) -> Measured:
    """Exchanges of as many ranks: between all of the smaller number by packets, among neighbours of the larger one by
    flows."""
    few, many = 512, 32768
    runner.report(f"an exchange between {few} ranks")
    packets = jobs.finish(runner.machine("torus-512"), [jobs.Job("alltoall", ranks=few, size_bytes=64)])["packets"]
    runner.report(f"an exchange of {many} ranks by flows")
    large = sim.variant("torus-512", "torus:32,32,32", None, [], packets=False)
    flows = jobs.finish(large, [jobs.Job("stencil-3d", ranks=many, size_bytes=1024)], level="flow")["jobs"][0]["messages"]
    return Measured(
        (few, many),
        f"{packets} packets, and {flows} messages by flows; R22 replays as many ranks by packets. What the study computes is not published",
        holds=packets >= few * (few - 1) and flows == 6 * many,
    )


@experiment("E12", kind="bound")
def contexts(runner: Runner) -> Measured:
    """A program with 2^16 communicators beside MPI_COMM_WORLD, and a message in the last one of both ranks."""
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as folder:
        runner.report("a trace of 65,536 communicators")
        with Writer(Path(folder) / "trace", 2, {"program": ["communicators"]}) as streams:
            for rank, stream in enumerate(streams):
                for number in range((1 << _CONTEXT_BITS) + 1):
                    stream.call("communicator", WORLD, number + 3, OF_WORLD, 0, 0)
                stream.call("Send" if rank == 0 else "Recv", (1 << _CONTEXT_BITS) + 3, (1 - rank) + 2, 1, 8, 0)
                stream.end()
        summary = replay.replay(replay.Options((Path(folder) / "trace",), "torus-512"))[0]["summary"]
    return Measured(
        _CONTEXT_BITS,
        "a program with 65,537 communicators is replayed; the simulator carries the MPI library's tag of 64 bits whole",
        holds=bool(summary["complete"]),
    )


@experiment("R03", kind="bound")
def largest_packet(runner: Runner) -> Measured:
    """Packets of 9 KB on a full link of the BXI-like machine, which has 2 KiB by choice."""
    changes = {"router.max_payload": f"{_FRAGMENT_BYTES} B", "ni.dma_block": "16 KiB"} | _LARGE_BUFFERS
    found = full_link_of(runner.machine("bxi-256", located.values(changes, "exanet validate")), _FRAGMENT_BYTES, 10**9)
    return Measured(
        _FRAGMENT_BYTES / 1000,
        f"{found['payload_gbytes_per_s'] * 8:.1f} Gb/s of payload on a full link of bxi-256 with such packets",
        holds=found["payload_gbytes_per_s"] > 0,
    )
