# SPDX-License-Identifier: Apache-2.0
"""Full-duplex bandwidth: two neighbours of every machine send each other a long message, and each direction gets what
the constants say.

The second one begins while the data of the first one move, so that what controls it (envelope, request,
acknowledgements) must pass them. Model: a full packet takes the time of its words on the slowest link; at packet level
a link also carries an acknowledgement for each block of the other direction. The rate is the one between two lengths,
so that latencies drop out.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from exanet import replay
from exanet.machine import load
from exanet.trace.layout import WORLD
from exanet.trace.write import Writer

SHORT, LONG = 512 << 10, 1024 << 10
MACHINES = sorted(file.stem for file in (Path(__file__).parents[2] / "machines").glob("*.yaml"))
TAKES_SECONDS = {"dragonfly-114582"}  # to build its topology


def both_ways(folder: Path, size: int) -> Path:
    with Writer(folder, 2, {"program": ["made"]}) as streams:
        for rank, stream in enumerate(streams):
            stream.message("Irecv", 1 - rank, size, request=1)
            if rank == 1:
                stream.message("Recv", 0, 16, tag=1)  # behind the other one's envelope: this one's data are asked for
            stream.message("Isend", 1 - rank, size, request=2)
            if rank == 0:
                stream.message("Send", 1, 16, tag=1)
            stream.wait(1)
            stream.wait(2)
            stream.end()
    return folder


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    return {size: both_ways(tmp_path_factory.mktemp("duplex") / str(size), size) for size in (SHORT, LONG)}


def words_on(link: Mapping[str, Any], router: Mapping[str, Any], payload: int) -> int:
    """Of a packet with so much payload."""
    words = router["header_words"] + -(-payload * 8 // router["word_bits"]) + router["footer_words"]
    return int(-(-words * router["word_bits"] // link["word_bits"]) + link["framing_words"])


def payload_gbps(resolved: Mapping[str, Any], level: str) -> float:
    """What one direction of the slowest link carries of payload while the other one does, too."""
    router, payload = resolved["router"], resolved["router"]["max_payload_bytes"]
    # of one for each packet
    acks = Fraction(payload, resolved["ni"]["dma_block_bytes"]) if level == "packet" else Fraction(0)
    packet_ps = []
    for link in resolved["links"]:
        pauses = Fraction(link["pause_every"] + 1, link["pause_every"]) if link["pause_every"] else Fraction(1)
        packet_ps.append(link["word_time_ps"] * pauses * (words_on(link, router, payload) + acks * words_on(link, router, 0)))
    return float(payload * 8000 / max(packet_ps))


def took_ps(trace: Path, machine: str, level: str) -> int:
    found, _ = replay.replay(replay.Options([trace], machine, "round-robin", level=level))
    return int(found["summary"]["virtual_ps"])


@pytest.mark.parametrize("level", ["packet", "flow"])
@pytest.mark.parametrize("machine", [pytest.param(m, marks=pytest.mark.long if m in TAKES_SECONDS else ()) for m in MACHINES])
def test_both_directions_at_once_have_the_bandwidth_of_the_constants(traces: dict[int, Path], machine: str, level: str) -> None:
    resolved = load(machine).resolve()
    if level == "flow" and resolved["ni"].get("messages") == "gateware":
        pytest.skip("interfaces in the gateware's cycles have no flow level")
    short, long = (took_ps(traces[size], machine, level) for size in (SHORT, LONG))
    assert (LONG - SHORT) * 8000 / (long - short) == pytest.approx(payload_gbps(resolved, level), rel=0.02)


# Of machines/exanest.yaml: test_step, library_receive, mailbox_read.
PROBE_PS = 100_000 + 114_350 + 13_300


def answered_later(folder: Path, first: int, probes: int) -> Path:
    """As `both_ways`, but one of the two makes probes that find nothing before it sends."""
    with Writer(folder, 2, {"program": ["made"]}) as streams:
        for rank, stream in enumerate(streams):
            stream.message("Irecv", 1 - rank, LONG, request=1)
            for _ in range(probes if rank != first else 0):
                stream.call("Iprobe", WORLD, 1 - rank + 2, 99 + 1, 0)
            stream.message("Isend", 1 - rank, LONG, request=2)
            stream.wait(1, 2)
            stream.end()
    return folder


@pytest.mark.parametrize("probes", [10, 1000])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("level", ["packet", "flow"])
def test_who_sends_later_ends_as_much_later(tmp_path: Path, level: str, first: int, probes: int) -> None:
    """Not later than that: what asks for its data does not wait for those of the first one, which are in flight."""
    resolved, delay = load("exanest").resolve(), probes * PROBE_PS
    alone, beside = (LONG * 8000 / payload_gbps(resolved, acks) for acks in ("flow", "packet"))
    took = took_ps(answered_later(tmp_path / "trace", first, probes), "exanest", level)
    assert alone + delay < took < 1.02 * (beside + delay)
