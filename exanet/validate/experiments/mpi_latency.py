# SPDX-License-Identifier: Apache-2.0
"""MPI latency on the prototype: one hop, five hops, and the share of the network interface.

Nodes are numbered QFDB by QFDB, F1 first; QFDBs with x fastest. One hop is F1 to F2 of a QFDB. Five hops are F2 of QFDB
(0,0,0) to its network FPGA F1, one step in each of x, y and z, and from F1 of QFDB (1,1,1) to its F3.
"""

from __future__ import annotations

from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import RunFailed, Runner

MACHINE = "exanest"
SIZE = 8  # bytes: a small message, payload and envelope in one packet
ONE_HOP = (0, 1)
FIVE_HOPS = (1, 4 * (1 + 4 * (1 + 4 * 1)) + 2)

PROCESSOR_MHZ = 1500  # at which the cycles of a mailbox's access were counted


_INTERFACE = ("library_send", "store_word", "packetizer", "mailbox", "mailbox_word", "mailbox_read", "library_receive")


def one_way_us(runner: Runner, nodes: tuple[int, int], hops: int, changes: str = "") -> float:
    """Half the round trip between two nodes, which must lie `hops` apart."""
    answer = runner.run("pingpong", MACHINE, nodes, SIZE, changes=changes)
    run = answer["run"]
    if run["packet_hops"] != hops * run["packets"]:
        raise RunFailed(f"nodes {nodes} are {run['packet_hops'] / run['packets']:.2f} hops apart, not {hops}")
    return float(answer["one_way_us"][str(SIZE)])


@experiment("P03", kind="calibrated", needs=("mpich",))
def one_hop(runner: Runner) -> Measured:
    return Measured(one_way_us(runner, ONE_HOP, 1), f"MPI ping-pong of {SIZE} B between two MPSoCs of a QFDB; fixes mpi_send + mpi_receive")


@experiment("P05", kind="calibrated", needs=("mpich",))
def five_hops(runner: Runner) -> Measured:
    ours = one_way_us(runner, FIVE_HOPS, 5)
    step = (ours - one_way_us(runner, ONE_HOP, 1)) / 4 * 1000
    return Measured(ours, f"as P03, F2 of QFDB (0,0,0) to F3 of QFDB (1,1,1); {step:.1f} ns a further hop, which fixes the links' latency")


@experiment("P04", kind="calibrated", needs=("mpich",))
def interface_share(runner: Runner) -> Measured:
    """Measured by taking it away: P03 less the same ping-pong on a machine whose interface and user library cost
    nothing."""
    free = "\n".join(f"  {name}: {{value: 0, source: taken away to measure its share, kind: chosen}}" for name in _INTERFACE)
    share = one_way_us(runner, ONE_HOP, 1) - one_way_us(runner, ONE_HOP, 1, f"ni:\n{free}")
    summed = interface_ps(runner) / 1e6
    return Measured(
        share,
        f"P03 less the same with an interface and library that cost nothing; the constants along the path sum to {summed:.4f} us; "
        "fixes library_send + library_receive",
        data={"sum_of_constants_us": summed},
    )


@experiment("E06", kind="calibrated", needs=("mpich",))
def mailbox_access(runner: Runner) -> Measured:
    """Measured by taking it away, as P04."""
    free = "ni:\n  mailbox_read: {value: 0, source: taken away to measure its share, kind: chosen}"
    read_us = one_way_us(runner, ONE_HOP, 1) - one_way_us(runner, ONE_HOP, 1, free)
    return Measured(read_us * PROCESSOR_MHZ, f"P03 less the same with reads that cost nothing, {1000 * read_us:.1f} ns; fixes mailbox_read")


def interface_ps(runner: Runner) -> int:
    """Cost of interface and user library to a small message, summed from the machine's constants."""
    machine = runner.machine(MACHINE).resolve()
    ni, word_bytes = machine["ni"], machine["router"]["word_bits"] // 8
    message = ni["envelope_bytes"] + SIZE
    words, lines = -(-message // word_bytes), -(-message // 64)
    sending = ni["library_send_ps"] + words * ni["store_word_ps"] + ni["packetizer_ps"]
    receiving = ni["mailbox_ps"] + words * ni["mailbox_word_ps"] + lines * ni["mailbox_read_ps"] + ni["library_receive_ps"]
    return int(sending + receiving)
