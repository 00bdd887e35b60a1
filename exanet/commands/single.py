# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common: `-h`, whole sentences in lists of commands, and a function as an app of one
command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from exanet.commands.plain import convert_plainly

SETTINGS = {"help_option_names": ["-h", "--help"]}
"""Of the context of each command and group."""


class _Command(TyperCommand):
    """A command that says where an option belongs that stands behind its program's name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = list(args)
        convert_plainly(self.get_params(ctx))
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            behind = [word for word in words if error.param is not None and word.partition("=")[0] in error.param.opts]
            if behind and not error.message and not ctx.allow_interspersed_args:  # it is missing
                error.message = f"{behind[0]} stands behind the program, where it is the program's; write it before the program and its --."
            raise


class Group(TyperGroup):
    """A group whose list has the first sentence of each command's help, wrapped and not cut."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        convert_plainly(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(command.help or "")) for name, command in commands if command is not None])


def _first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].removesuffix(".") + "."


def app(command: Callable[..., None], *, examples: str = "", **settings: Any) -> typer.Typer:
    """The app, which `exanet` reads when the command is asked for.

    `settings` are those of the command's context, `examples` lines that its help ends with.
    """
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    epilog = f"\b\nExamples:\n{examples}" if examples else None
    alone.command(cls=_Command, context_settings=SETTINGS | settings, epilog=epilog)(command)
    return alone


def group(described: Callable[[], None], **settings: Any) -> typer.Typer:
    """An app of several commands, described by the docstring of `described`."""
    several = typer.Typer(
        **{"cls": Group} | settings, no_args_is_help=True, add_completion=False, rich_markup_mode=None, context_settings=SETTINGS
    )
    several.callback()(described)
    return several
