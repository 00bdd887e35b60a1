# SPDX-License-Identifier: Apache-2.0
"""Bare packets between the mailboxes of the Trenz boards, by size, one hop; two hops beside it. A further hop of these boards (E03, E04) is
measured in the gateware instead.

The tolerance is wide because the published measurements of these boards do not agree with one another: KARMA'17 found a round trip of
less than a microsecond for one hop, MICPRO'18 about 1.2 us one way. Nothing of ours was fitted to either: the constants are those of the
later prototype, whose further hop takes 312.5 ns where these boards needed about 400 ns.
"""

from __future__ import annotations

from exanet.validate.fit import line
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import RunFailed, Runner

MACHINE = "trenz-2x2"
SIZES = (8, 16, 32, 64, 96, 128, 160, 192, 224, 256)
ONE_HOP, TWO_HOPS = (0, 1), (0, 3)
TOLERANCE = 0.4


def one_way_ns(runner: Runner, nodes: tuple[int, int]) -> dict[int, float]:
    """One-way latency by size."""
    answer = runner.run("packets", MACHINE, nodes, *SIZES, mpi="none")
    run, hops = answer["run"], 1 if nodes == ONE_HOP else 2
    if run["packet_hops"] != hops * run["packets"]:
        raise RunFailed(f"nodes {nodes} are {run['packet_hops'] / run['packets']:.2f} hops apart, not {hops}")
    return {int(size): float(ns) for size, ns in answer["one_way_ns"].items()}


@experiment("E01", kind="predicted", tolerance=TOLERANCE)
def one_hop_small(runner: Runner) -> Measured:
    ours = one_way_ns(runner, ONE_HOP)
    return Measured(
        ours[8] / 1000,
        "8 B; constants of the later prototype, none fitted here. The same boards gave less than 0.5 us (half of a sub-us round trip, "
        "KARMA'17) and about 1.2 us (MICPRO'18): ours lies between",
        data={"one_way_ns": ours, "two_hops_ns": one_way_ns(runner, TWO_HOPS)},
    )


@experiment("E02", kind="predicted", tolerance=TOLERANCE)
def one_hop_full(runner: Runner) -> Measured:
    ours = one_way_ns(runner, ONE_HOP)
    return Measured(ours[256] / 1000, f"E01 and {ours[256] - ours[8]:.0f} ns for 248 B more; see D10 for what makes the slope")


@experiment("D10", kind="predicted", tolerance=0.1)
def slope(runner: Runner) -> Measured:
    ours = one_way_ns(runner, ONE_HOP)
    fitted = line([float(size) for size in SIZES[1:]], [ours[size] for size in SIZES[1:]])
    machine = runner.machine(MACHINE).resolve()
    ni, wire = machine["ni"], machine["links"][0]
    parts = {
        "processor stores": ni["store_word_ps"] / 16,
        "the wire with its pauses": wire["word_time_ps"] * 8 / wire["word_bits"] * (1 + 1 / wire["pause_every"]),
        "mailbox writes": ni["mailbox_word_ps"] / 16,
        "mailbox reads": ni["mailbox_read_ps"] / 64,
    }
    shown = " + ".join(f"{what} {ps / 1000:.2f}" for what, ps in parts.items())
    return Measured(
        fitted.slope,
        f"store-and-forward at the interface, one after another: {shown} = {sum(parts.values()) / 1000:.2f} ns/B; the wire alone would "
        f"give 0.8. Line over sizes: R² = {fitted.r2:.4f}",
        data={"parts_ns_per_byte": {what: ps / 1000 for what, ps in parts.items()}, "r2": fitted.r2},
    )
