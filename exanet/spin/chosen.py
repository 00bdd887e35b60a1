# SPDX-License-Identifier: Apache-2.0
"""Handlers that a run gives its interfaces (`--handlers`), and options that they do not go with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exanet.errors import InputError

if TYPE_CHECKING:
    from exanet.machine import Machine
    from exanet.run.options import Options


_SHIPPED = Path(__file__).parent / "handlers"


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


def file_of(name: str) -> Path:
    """The file that --handlers names: one of a path, or one that comes with the package, by its name alone."""
    shipped = _SHIPPED / f"{name}.c"
    return shipped if name.isidentifier() and shipped.is_file() else Path(name)


def resolved(source: str | None) -> dict[str, Any]:
    """The handlers as a key of the resolved machine; none without a file. Raises InputError."""
    if source is None:
        return {}
    from exanet.spin import build

    return {"handlers": build.program(file_of(source))}
