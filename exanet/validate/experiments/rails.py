# SPDX-License-Identifier: Apache-2.0
"""Bandwidth between two nodes with four interfaces each, against one."""

from __future__ import annotations

from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import Runner

_MACHINE, _NODES, _WINDOW, _SIZES = "fat-tree-64", (0, 63), 4, (16384, 1 << 20)
_RAILS = {1: "", 4: "topology: {rails: 4}\nni: {rail_policy: round-robin, rail_stripe: 8 KiB}"}
"""Changes of the machine by the number of its interfaces. MPC cuts messages above 8 kB over all of them."""


@experiment("R05", kind="predicted", needs=("mpich",))
def four_interfaces(runner: Runner) -> Measured:
    """The windowed bandwidth of P06, of messages of 1 MiB."""
    rates = {rails: runner.run("bandwidth", _MACHINE, _NODES, _WINDOW, *_SIZES, changes=text)["gbps"] for rails, text in _RAILS.items()}
    gains = {size: rates[4][str(size)] / rates[1][str(size)] for size in _SIZES}
    return Measured(
        gains[_SIZES[-1]],
        f"two nodes of {_MACHINE}, {rates[1][str(_SIZES[-1])]:.2f} Gb/s with one interface; 16 KiB {gains[16384]:.2f} times. Messages "
        "above 8 KiB are cut over all interfaces",
        data={"gbps": rates},
    )
