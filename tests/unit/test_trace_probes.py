# SPDX-License-Identifier: Apache-2.0
"""Probes that found nothing cost a replay what they cost a run: a step of MPI_Test, and what the library pays for
the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import exanet
from exanet.trace.layout import WORLD
from exanet.trace.write import Writer

# Of machines/exanest.yaml: test_step, library_receive, mailbox_read.
PROBE_PS = 100_000 + 114_350 + 13_300


def taken_ps(trace: Path, call: str, probes: int) -> int:
    with Writer(trace, 2, {}) as streams:
        for _ in range(probes):
            streams[0].call(call, WORLD, 1 + 2, 99 + 1, 0)
        streams[0].message("Send", 1, 8)
        streams[1].message("Recv", 0, 8)
        for stream in streams:
            stream.end()
    return int(exanet.replay(trace, "exanest", mapping="round-robin").summary["virtual_ps"])


@pytest.mark.parametrize("call", ["Iprobe", "Improbe"])
def test_each_probe_that_found_nothing_costs_what_it_costs_a_run(call: str, tmp_path: Path) -> None:
    without = taken_ps(tmp_path / "0", call, 0)
    for probes in (1, 3, 10):
        assert taken_ps(tmp_path / str(probes), call, probes) - without == probes * PROBE_PS
