# SPDX-License-Identifier: Apache-2.0
"""Does a program's own clock read the model's time? Ping-pong by MPI_Wtime against the machine's constants, to a tenth
of a nanosecond.

The constants are those of the machine file, not numbers repeated here, except for the published latency of one hop,
which calibrates them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from exanet import machine

from .conftest import PROGRAMS, Runner, Stack

ONE_HOP_NS = 1300.0  # published one-way latency of a small message between neighbours
FIVE_HOPS_NS = 2550.0
TOLERANCE_NS = 0.1


def constants(of: str = "exanest") -> dict[str, Any]:
    return machine.load(of).resolve()


def one_way_ns(exanet_run: Runner, stack: Stack, mapping: str, *sizes: int, on: str = "exanest") -> dict[int, float]:
    words = [stack.python, PROGRAMS / "pingpong.py", *(str(size) for size in sizes)]
    done = exanet_run(stack, 2, words, machine=on, options=("--compute", "off", "--map", mapping))
    return {int(size): float(ns) for size, ns in (line.split() for line in done.output.splitlines() if line)}


def word_ns(config: dict[str, Any], *, hops: int) -> float:
    """Cost of one more 128-bit word of an eager message: stored by the processor, carried by the slowest stage, put
    into the mailbox."""
    link = config["links"][0]
    stage = config["router"]["cycle_ps"] if hops == 0 else config["router"]["word_bits"] // link["word_bits"] * link["word_time_ps"]
    return float(config["ni"]["store_word_ps"] + stage + config["ni"]["mailbox_word_ps"]) / 1000


@pytest.mark.parametrize(("mapping", "hops"), [("linear", 0), ("round-robin", 1)])
def test_eager_messages_cost_what_their_words_cost(exanet_run: Runner, stack: Stack, mapping: str, hops: int) -> None:
    config = constants()
    word_bytes = config["router"]["word_bits"] // 8
    sizes = (0, 1, 8, word_bytes, word_bytes + 1, config["ni"]["eager_max_bytes"])
    found = one_way_ns(exanet_run, stack, mapping, *sizes)
    assert sorted(found) == sorted(sizes)
    for size in sizes:
        wanted = found[0] + math.ceil(size / word_bytes) * word_ns(config, hops=hops)
        assert found[size] == pytest.approx(wanted, abs=TOLERANCE_NS), size
    if hops == 1:
        assert found[8] == pytest.approx(ONE_HOP_NS, abs=TOLERANCE_NS)


def test_what_a_program_does_after_its_last_call_is_shown_apart(exanet_run: Runner, stack: Stack) -> None:
    """It is no part of a run whose program ends MPI itself."""
    words = [stack.python, PROGRAMS / "last_call.py"]
    left_open = exanet_run(stack, 2, words, options=("--compute", "off")).summary
    finalized = exanet_run(stack, 2, [*words, "finalize"], options=("--compute", "off")).summary
    assert left_open["after_last_call_percent"] > 90
    assert finalized["after_last_call_percent"] == 0
    assert left_open["virtual_ps"] - finalized["virtual_ps"] == pytest.approx(5e9, rel=1e-3)
    for rank in left_open["ranks"]:
        assert rank["virtual_ps"] - rank["last_call_ps"] == pytest.approx(5e9, rel=1e-3)


def on_link_ns(on: str, size: int) -> float:
    """What a long message's packets take on the link: payload, header, footer and framing, and the link's pauses."""
    config = constants(on)
    router, link = config["router"], config["links"][0]
    overhead_bytes = (router["header_words"] + router["footer_words"]) * router["word_bits"] // 8
    link_word_bytes = link["word_bits"] // 8
    words = (router["max_payload_bytes"] + overhead_bytes) // link_word_bytes + link["framing_words"]
    packets = size / router["max_payload_bytes"]
    return float(packets * words * (1 + 1 / link["pause_every"]) * link["word_time_ps"] / 1000)


@pytest.mark.parametrize("on", ["exanest", "exanest-ni"])
def test_large_messages_run_at_the_links_rate(exanet_run: Runner, stack: Stack, on: str) -> None:
    """The second half of a message takes its packets' time on the link."""
    sizes = (1 << 19, 1 << 20)
    found = one_way_ns(exanet_run, stack, "round-robin", *sizes, on=on)
    assert found[sizes[1]] - found[sizes[0]] == pytest.approx(on_link_ns(on, sizes[1] - sizes[0]), rel=0.02)


@pytest.mark.parametrize("on", ["exanest", "exanest-ni"])
def test_two_messages_one_each_way_share_no_bandwidth(exanet_run: Runner, stack: Stack, on: str) -> None:
    """The second one begins ten probes (2.3 us) after the first; one after the other they would take twice the time.
    Acknowledgements of the other direction take 1 % of a link, latencies and the probes half of a percent."""
    size = 1 << 20
    words = [stack.python, PROGRAMS / "duplex.py", size, 10]
    done = exanet_run(stack, 2, words, machine=on, options=("--compute", "off", "--map", "round-robin"))
    one_way = on_link_ns(on, size)
    assert one_way < float(done.line("took")[0]) < 1.05 * one_way


def test_messages_in_the_gatewares_cycles_keep_the_published_hops(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    """The interface's cycles take the place of chosen times; what is left to the library keeps the published sums to
    a cycle a hop."""
    found = one_way_ns(exanet_run, stack, "round-robin", 8, 64, on="exanest-ni")
    assert found[8] == pytest.approx(ONE_HOP_NS, abs=6.4)
    assert found[64] > found[8]
    nodes = tmp_path / "five-hops"  # F2 of QFDB (0,0,0) and F3 of QFDB (1,1,1)
    nodes.write_text("1\n86\n")
    far = one_way_ns(exanet_run, stack, str(nodes), 8, on="exanest-ni")
    assert far[8] == pytest.approx(FIVE_HOPS_NS, abs=5 * 6.4)
