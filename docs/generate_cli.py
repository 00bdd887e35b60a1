# SPDX-License-Identifier: Apache-2.0
"""Prints docs/reference/cli.md from the command line itself: python docs/generate_cli.py > docs/reference/cli.md

tests/unit/test_docs.py fails when the committed page is not what this prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer.main

from exanet.cli import app

_HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Made by docs/generate_cli.py; change the help texts in exanet/, then make it again. -->
# The command line
"""


def page() -> str:
    """The page; every command, argument and option of `exanet`."""
    group = typer.main.get_command(app)
    return "\n".join([_HEAD, *(_command(name, command) for name, command in commands("exanet", group))])


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
    print(page(), end="")
