# SPDX-License-Identifier: Apache-2.0
"""Bare packets between the mailboxes of the Trenz boards, by size, one hop; two hops beside it. A further hop of these
boards (E03, E04) is measured in the gateware instead.

Nothing of ours was fitted to these boards: the constants are those of the later prototype. The published measurements
do not agree with one another either: KARMA'17 found a round trip of less than a microsecond for one hop, MICPRO'18
about 1.2 us one way.
"""

from __future__ import annotations

from exanet.validate.fit import line
from exanet.validate.registry import Measured, Off, Reading, experiment
from exanet.validate.runner import RunFailed, Runner

MACHINE = "trenz-2x2"
SIZES = (8, 16, 32, 64, 96, 128, 160, 192, 224, 256)
ONE_HOP, TWO_HOPS = (0, 1), (0, 3)

_TOO_FAST = Off(
    -0.359,
    "the constants are the later prototype's. Of the 430 ns that are missing, 88 are the hop, which took these boards 400 ns (E04) and "
    "takes 312.5 here; the other 340 lie between processor and packet, for which no figure of them is published. Reading the port at "
    "20 cycles a word, as KARMA's processor did, would take 371 ns more than the cached mailbox that the constants stand for",
)
_BELOW_THE_RANGE = Off(-0.231, "as E01, whose 1.2 us are in this range: the constants are the later prototype's, which was faster")
_SAME_OFFSET = Off(
    -0.256,
    "430 of the 512 ns that are missing are E01's; the other 82 are the slope, 2.90 ns for each byte from 8 to 256 against 3.1, which is "
    'itself a difference of two figures that say "about" (D10)',
)


def one_way_ns(runner: Runner, nodes: tuple[int, int], changes: str = "") -> dict[int, float]:
    """One-way latency by size."""
    answer = runner.run("packets", MACHINE, nodes, *SIZES, mpi="none", changes=changes)
    run, hops = answer["run"], 1 if nodes == ONE_HOP else 2
    if run["packet_hops"] != hops * run["packets"]:
        raise RunFailed(f"nodes {nodes} are {run['packet_hops'] / run['packets']:.2f} hops apart, not {hops}")
    return {int(size): float(ns) for size, ns in answer["one_way_ns"].items()}


@experiment("E01", kind="predicted", off=_TOO_FAST)
def one_hop_small(runner: Runner) -> Measured:
    ours = one_way_ns(runner, ONE_HOP)
    return Measured(
        ours[8] / 1000,
        "8 B, none of the constants fitted here; half of KARMA'17's round trip on such boards is less than 0.5 us",
        data={"one_way_ns": ours, "two_hops_ns": one_way_ns(runner, TWO_HOPS)},
    )


@experiment("E05", kind="predicted", off=_BELOW_THE_RANGE)
def user_level(runner: Runner) -> Measured:
    """As E01, against the lower end of a range."""
    return Measured(one_way_ns(runner, ONE_HOP)[8] / 1000, "8 B as E01, without MPI; with MPI the later prototype takes P03")


@experiment("E02", kind="predicted", off=_SAME_OFFSET)
def one_hop_full(runner: Runner) -> Measured:
    ours = one_way_ns(runner, ONE_HOP)
    return Measured(ours[256] / 1000, f"E01 and {ours[256] - ours[8]:.0f} ns for 248 B more; see D10 for what makes the slope")


@experiment("D12", kind="calibrated")
def prototype_hop(runner: Runner) -> Measured:
    """A further hop of bare packets, over links with the prototype's constants."""
    ours = one_way_ns(runner, TWO_HOPS)[8] - one_way_ns(runner, ONE_HOP)[8]
    return Measured(ours, "two hops less one of 8 B on trenz-2x2, whose links have the prototype's latency; fixes links.*.latency")


def _taken_away_us(runner: Runner, constant: str) -> float:
    """What a constant of the interface adds to a packet of 16 B."""
    free = f"ni:\n  {constant}: {{value: 0, source: taken away to measure its share, kind: chosen}}"
    return (one_way_ns(runner, ONE_HOP)[16] - one_way_ns(runner, ONE_HOP, free)[16]) / 1000


@experiment("K06", kind="bound")
def read_cost(runner: Runner) -> Measured:
    """Measured by taking away the processor's reading."""
    ours = _taken_away_us(runner, "mailbox_read")
    return Measured(ours, "16 B read from a mailbox in the cache, where KARMA's processor reads the port word by word", holds=ours <= 0.4)


@experiment("K07", kind="bound")
def write_cost(runner: Runner) -> Measured:
    """Measured by taking away the processor's stores."""
    ours = _taken_away_us(runner, "store_word")
    return Measured(ours, "16 B, one word; KARMA's processor writes header and footer as well, three words in 0.077 us", holds=ours < 0.1)


@experiment("D10", kind="predicted")
def slope(runner: Runner) -> Measured:
    ours = one_way_ns(runner, ONE_HOP)
    fitted = line([float(size) for size in SIZES[1:]], [ours[size] for size in SIZES[1:]])
    machine = runner.machine(MACHINE).resolve()
    ni, wire, word_bytes = machine["ni"], machine["links"][0], machine["router"]["word_bits"] // 8
    parts = {
        "processor stores": ni["store_word_ps"] / word_bytes,
        "the wire with its pauses": wire["word_time_ps"] * 8 / wire["word_bits"] * (1 + 1 / wire["pause_every"]),
        "mailbox writes": ni["mailbox_word_ps"] / word_bytes,
        "mailbox reads": ni["mailbox_read_ps"] / 64,
    }
    shown = " + ".join(f"{what} {ps / 1000:.2f}" for what, ps in parts.items())
    return Measured(
        fitted.slope,
        f"store-and-forward at the interface, one after another: {shown} = {sum(parts.values()) / 1000:.2f} ns/B; the wire alone would "
        f"give 0.8. Line over sizes: R² = {fitted.r2:.4f}",
        data={"parts_ns_per_byte": {what: ps / 1000 for what, ps in parts.items()}, "r2": fitted.r2},
        readings=(Reading("(E02 - E01) over 240 B: E01 is of less than 16 B", fitted.slope, 800 / 240),),
    )
