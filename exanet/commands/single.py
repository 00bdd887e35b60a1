# SPDX-License-Identifier: Apache-2.0
"""A function as an app of one command, which `exanet` reads when the command is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer


def app(command: Callable[..., None], *, examples: str = "", **settings: Any) -> typer.Typer:
    """The app; `settings` are those of the command's context, `examples` lines that its help ends with."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    epilog = f"\b\nExamples:\n{examples}" if examples else None
    alone.command(context_settings=settings, epilog=epilog)(command)
    return alone
