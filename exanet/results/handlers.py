# SPDX-License-Identifier: Apache-2.0
"""What handlers on the interfaces did, in the results of a run with --handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exanet.quantity import bytes_text, count_text, counted


def totals(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The simulator's counts, and two figures of them: cycles of a payload handler, and the rate at which packets were
    done with, from the arrival of the first one to the end of the last one's handler."""
    found: dict[str, Any] = {key: int(value) for key, value in counts.items()}
    lasted = found["last_packet_ps"] - found["first_ps"]
    found["cycles_per_packet"] = found["payload_cycles"] / found["payloads"] if found["payloads"] else 0.0
    found["gbit_per_s"] = found["bytes"] * 8000 / lasted if lasted > 0 else 0.0
    return found


def line(total: Mapping[str, Any]) -> str:
    """These as a line for the terminal."""
    return (
        f"handlers: {counted(total['messages'], 'message')}, {count_text(total['packets'])} packets, {bytes_text(total['bytes'])} at "
        f"{total['gbit_per_s']:.4g} Gb/s; {total['cycles_per_packet']:.4g} cycles a packet; "
        f"{bytes_text(total['dma_bytes'])} to and from host memory"
    )


def note(total: Mapping[str, Any], packet_memory: int) -> str:
    """What is to be said where packets needed more memory than there is; "" otherwise."""
    if total["most_packet_bytes"] <= packet_memory:
        return ""
    return (
        f"--handlers: up to {bytes_text(total['most_packet_bytes'])} of packets waited for their handlers at one interface, which has "
        f"memory for {bytes_text(packet_memory)} (hpu.packet_memory): a real one would have had the network wait"
    )
