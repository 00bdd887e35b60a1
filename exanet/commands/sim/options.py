# SPDX-License-Identifier: Apache-2.0
"""Options that two or three modes of `exanet sim` take."""

from __future__ import annotations

from typing import Annotated

import typer

from exanet import registries

Traffic = Annotated[str, typer.Option("--traffic", help=f"Who sends to whom: {registries.patterns()}.")]
PacketTraffic = Annotated[str, typer.Option("--traffic", help=f"Who sends to whom: {registries.patterns(messages=False)}.")]
Level = Annotated[
    str,
    typer.Option("--level", help="packet (every packet and hop), or flow (messages at fair rates, for up to millions of endpoints)."),
]
PacketBytes = Annotated[
    str | None,
    typer.Option("--packet-bytes", metavar="SIZE", help="Payload of a packet, e.g. 64 or 1KiB; by default the largest of the machine."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all random choices; the same seed gives the same files.")]
