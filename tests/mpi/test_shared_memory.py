# SPDX-License-Identifier: Apache-2.0
"""Does everything cross the simulated network? The host's shared memory would be faster than any network, and free
of virtual time."""

from __future__ import annotations

from .conftest import PROGRAMS, Runner, Stack


def test_one_sided_data_crosses_the_network(exanet_run: Runner, stack: Stack) -> None:
    done = exanet_run(stack, 4, [stack.python, PROGRAMS / "put.py"])
    assert done.line("ok") == ["4"]
    assert done.summary["message_bytes"] >= 4 << 20
    # A megabyte over a link of 10 Gb/s.
    assert done.summary["virtual_ps"] >= 800e6
