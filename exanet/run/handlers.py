# SPDX-License-Identifier: Apache-2.0
"""Runs whose interfaces have handlers of packets: what they need of the machine, and options that they do not go
with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exanet.errors import InputError
from exanet.run.options import Options

if TYPE_CHECKING:
    from exanet.machine import Machine


def check(options: Options, described: Machine) -> None:
    """Raises InputError where handlers cannot run."""
    if options.handlers is None:
        return
    if described.model.hpu is None:
        raise InputError(
            f"--handlers {options.handlers}: the interfaces of '{described.name}' have no HPUs; take a machine with a section hpu, "
            "e.g. pspin (docs/spin.md)"
        )
    for option, given, why in (
        ("--level flow", options.level == "flow", "handlers take packets, and flows have none"),
        ("--fabric gateware", options.fabric == "gateware", "the gateware has no HPUs"),
        ("--record", options.record is not None, "a trace does not say what handlers do"),
        ("--timeline", options.timeline, "the critical path that it looks for does not know of handlers"),
        (
            "--mpi-calls simulated",
            options.mpi_calls == "simulated",
            "messages of calls that the simulator carries out have no handlers yet",
        ),
    ):
        if given:
            raise InputError(f"{option} and --handlers do not go together: {why}; leave one of them out")
