# SPDX-License-Identifier: Apache-2.0
"""Bandwidth between two nodes with four interfaces each, against one."""

from __future__ import annotations

from exanet.validate.registry import Measured, Off, experiment
from exanet.validate.runner import Runner

_MACHINE, _NODES, _WINDOW, _SIZES = "fat-tree-64", (0, 63), 4, (16384, 1 << 20)
_ONE_RAIL = Off(-0.75, "a pair of nodes uses one of its rails, and no transfer is cut over several, which MPC does")


@experiment("R05", kind="predicted", off=_ONE_RAIL, needs=("mpich",))
def four_interfaces(runner: Runner) -> Measured:
    """The windowed bandwidth of P06, of messages of 1 MiB."""
    changes = {rails: f"topology: {{rails: {rails}}}" if rails > 1 else "" for rails in (1, 4)}
    rates = {rails: runner.run("bandwidth", _MACHINE, _NODES, _WINDOW, *_SIZES, changes=text)["gbps"] for rails, text in changes.items()}
    gains = {size: rates[4][str(size)] / rates[1][str(size)] for size in _SIZES}
    return Measured(
        gains[_SIZES[-1]],
        f"two nodes of {_MACHINE}, {rates[1][str(_SIZES[-1])]:.2f} Gb/s with one interface; 16 KiB {gains[16384]:.2f} times. Nodes "
        "that exchange data with several others use all their interfaces",
        data={"gbps": rates},
    )
