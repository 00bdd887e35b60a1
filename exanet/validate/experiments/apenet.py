# SPDX-License-Identifier: Apache-2.0
"""The links of APEnet+ (machines/apenet.yaml): what one carries when packets stand ready for it all the time.

The lanes' rate is what the machine is given (A02, and so "calibrated"); how much of it payload gets follows from
packets and framing, which are ExaNet's (A05). Latencies of APEnet+ rest on PCI Express and firmware that nobody
published, and are left out.
"""

from __future__ import annotations

from typing import Any

from exanet.machine import located
from exanet.validate.full_link import full_link, full_link_of
from exanet.validate.registry import Measured, Reading, experiment
from exanet.validate.runner import Runner

_PACKET_BYTES = 512  # the largest of ExaNet (KARMA'17 section 3.2)
_LANES = 4
_LANE_DESIGNED_GBPS, _LANE_GBPS = 8.5, 7.0  # A01, A02
_CODING = 10 / 8  # 8b/10b: bits on the lanes for each bit of a link word
_DESIGNED_WORD_BITS = 136  # takes whole picoseconds at 27.2 Gb/s, and 32 are a packet of 512 B with header and footer


def loaded_link(runner: Runner, payload: int) -> dict[str, Any]:
    """What a full link carries, and what its lanes do for that."""
    found = full_link(runner, "apenet", payload)
    return found | {"raw_gbps": found["gbps"] * _CODING}


@experiment("A01", kind="structural")
def lanes_as_designed(runner: Runner) -> Measured:
    """A full link of four lanes of 8.5 Gb/s, on the torus of apenet."""
    changes = {
        "links.link.rate": f"{_LANES * _LANE_DESIGNED_GBPS / _CODING:g} Gb/s",
        "links.link.word": f"{_DESIGNED_WORD_BITS} bit",
        "links.link.pause_every": "0 words",
        "links.link.framing": "0 words",
        "links.link.latency": "10 ns",  # so short that buffers never hold up packets
        "router.clock": "2 GHz",
    }
    found = full_link_of(runner.machine("apenet", located.values(changes, "exanet validate")), _PACKET_BYTES)
    run = loaded_link(runner, _PACKET_BYTES)
    return Measured(
        (found["links"], found["gbps"] * _CODING),
        f"words on a full link of {_LANES} lanes of {_LANE_DESIGNED_GBPS:g} Gb/s, with their 8b/10b code, and a node's links; "
        f"apenet's own lanes have the {_LANE_GBPS:g} Gb/s at which they ran (A02)",
        data=found,
        readings=(Reading("lanes as they ran", (run["links"], run["raw_gbps"]), (6, _LANES * _LANE_DESIGNED_GBPS)),),
    )


@experiment("A02", kind="calibrated")
def lanes_as_run(runner: Runner) -> Measured:
    found = loaded_link(runner, _PACKET_BYTES)
    return Measured(
        found["raw_gbps"],
        f"words on a full link with their 8b/10b code: {_LANES} lanes of {found['raw_gbps'] / _LANES:.2f} Gb/s. This figure fixes the "
        "machine's links.link.rate and pause_every",
        data=found,
    )


@experiment("A05", kind="predicted")
def sustained(runner: Runner) -> Measured:
    found, smaller = loaded_link(runner, _PACKET_BYTES), loaded_link(runner, _PACKET_BYTES // 2)
    share, slower = found["payload_gbytes_per_s"] * 8 / found["raw_gbps"], smaller["payload_gbytes_per_s"]
    return Measured(
        found["payload_gbytes_per_s"],
        f"payload of {found['packet_bytes']} B packets on a full link, {share:.1%} of what its lanes carry; {slower:.2f} GB/s "
        f"with {smaller['packet_bytes']} B. Theirs are not known. A receiver here has {found['buffer_bytes'] / 1024:.0f} KiB of FIFOs",
        data=[smaller, found],
        readings=(
            Reading("lanes at 8.5 Gb/s, as designed", found["payload_gbytes_per_s"] * _LANE_DESIGNED_GBPS / _LANE_GBPS, 2.6),
            Reading("packets of 256 B", slower, 2.6),
        ),
    )


@experiment("D15", kind="predicted")
def efficiency(runner: Runner) -> Measured:
    """Payload of a full link, in percent of what its lanes carry."""
    found, smaller = loaded_link(runner, _PACKET_BYTES), loaded_link(runner, _PACKET_BYTES // 2)
    ours, small = (100 * one["payload_gbytes_per_s"] * 8 / one["raw_gbps"] for one in (found, smaller))
    return Measured(
        ours,
        f"packets of {_PACKET_BYTES} B; 8b/10b coding alone leaves 80 %",
        readings=(Reading("packets of 256 B", small, 76), Reading("of the 28 Gb/s at which the lanes ran (A02)", ours, 100 * 2.6 * 8 / 28)),
    )
