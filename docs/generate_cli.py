# SPDX-License-Identifier: Apache-2.0
"""Writes the reference pages of the command line from the command line itself.

usage: python docs/generate_cli.py docs/reference

tests/unit/test_docs.py fails when a committed page is not what this writes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import typer.main

from exanet.cli import app

_HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Made by docs/generate_cli.py; change the help texts in exanet/, then make it again. -->
"""
_SIMULATION = ("exanet sim", "exanet sweep")


def pages() -> dict[str, str]:
    """The text of each page by its file's name. Each command of `exanet` stands in one of them."""
    every = dict(commands("exanet", typer.main.get_command(app)))
    simulation = {name: command for name, command in every.items() if name.startswith(_SIMULATION)}
    programs = {name: command for name, command in every.items() if name not in simulation}
    return {
        "cli.md": _page("The command line", "`exanet sim` and `exanet sweep` have [a page of their own](cli-sim.md).", programs),
        "cli-sim.md": _page("The command line: simulations of networks", "The other commands are [here](cli.md).", simulation),
    }


def _page(title: str, introduction: str, shown: dict[str, object]) -> str:
    return "\n".join([f"{_HEAD}# {title}\n\n{introduction}\n", *(_command(name, command) for name, command in shown.items())])


def commands(name: str, command: object) -> Iterator[tuple[str, object]]:
    """The command and all below it, by what one types for them, in alphabetical order."""
    yield name, command
    for word, below in sorted(getattr(command, "commands", {}).items()):
        yield from commands(f"{name} {word}", below)


def _command(name: str, command: object) -> str:
    rows = [_row(parameter) for parameter in getattr(command, "params", []) if not getattr(parameter, "hidden", False)]
    help_text = (getattr(command, "help", None) or "").strip()
    help_text = re.sub("\b\n((?:.+\n?)+)", r"```\n\1\n```", help_text).strip()  # a paragraph that is not wrapped: lines to type
    table = "\n".join(["| | default | |", "|---|---|---|", *rows]) if rows else ""
    return "\n\n".join(part for part in (f"## {name}", help_text, table) if part) + "\n"


def _row(parameter: object) -> str:
    names = [*getattr(parameter, "opts", []), *getattr(parameter, "secondary_opts", [])]
    if getattr(parameter, "param_type_name", "") == "argument":
        names = [getattr(parameter, "metavar", None) or str(getattr(parameter, "name", "")).upper()]
    default = getattr(parameter, "default", None)
    shown = (
        "required" if getattr(parameter, "required", False) else "" if default in (None, False, ()) or callable(default) else f"`{default}`"
    )
    if default is True and getattr(parameter, "secondary_opts", None):
        shown = f"`{names[0]}`"
    help_text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    return f"| {', '.join(f'`{name}`' for name in names)} | {shown} | {help_text} |"


if __name__ == "__main__":
    for file, text in pages().items():
        (Path(sys.argv[1]) / file).write_text(text, encoding="utf-8")
