# SPDX-License-Identifier: Apache-2.0
"""`exanet sim`: the group of modes, and which of them is meant where none is named.

`exanet sim --job ...` is `exanet sim jobs --job ...`; `--message` or `--level flow` mean messages; anything else means
packets at a load. An option of another mode is refused with the mode that it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exanet.commands import single
from exanet.commands.sim import jobs, load, messages
from exanet.errors import InputError

_ABOUT = {
    "load": "exanet sim load, which sends single packets: leave it out, or use that mode",
    "messages": "exanet sim messages: use that mode, for example by --message SIZE, or leave the option out",
    "jobs": "exanet sim jobs: use that mode, by --job PROGRAM, or leave the option out",
}
"""Where an option of another mode belongs, and what to do."""


@dataclass(frozen=True)
class _Given:
    """An option on the command line: its long name, its value ("" for a flag), and its place among the words."""

    option: str
    value: str
    words: slice


class _Modes(single.Group):
    """Hands the words of the command line to the mode that they are of."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in single.SETTINGS["help_option_names"]:
            return super().parse_args(ctx, args[:1])  # what else there is may be of a mode
        if args and args[0].startswith("-"):
            args = self._with_mode(args)
        if args and args[0] in self.commands:
            self._refuse(args[0], self._given(args[1:]))
        return super().parse_args(ctx, args)

    def _given(self, args: list[str]) -> list[_Given]:
        """The options in `args` that any mode has; a word that is an option's value is none itself."""
        options = {name: option for mode in self.commands.values() for option in mode.params for name in option.opts}
        found = []
        place = 0
        while place < len(args) and args[place] != "--":
            name, equals, value = args[place].partition("=")
            first, place = place, place + 1
            if name not in options:
                continue
            if not equals and not getattr(options[name], "is_flag", False):
                value = args[place] if place < len(args) else ""
                place += 1
            found.append(_Given(options[name].opts[0], value, slice(first, place)))
        return found

    def _with_mode(self, args: list[str]) -> list[str]:
        """`args` behind the mode that they mean."""
        from exanet import level as levels

        given = {option.option: option for option in self._given(args)}
        if "--job" in given:
            return ["jobs", *args]
        level = given["--level"].value if "--level" in given else "packet"
        levels.check(level)
        if "--message" in given or level == "flow":
            return ["messages", *args]
        for option in reversed(self._given(args)):  # packets have no other level
            if option.option == "--level":
                args = args[: option.words.start] + args[option.words.stop :]
        return ["load", *args]

    def _refuse(self, mode: str, given: list[_Given]) -> None:
        """Raises InputError with a message for each option of another mode, and for each that would say nothing in
        this run."""
        own = {name for option in self.commands[mode].params for name in option.opts}
        problems = []
        for option in dict.fromkeys(option.option for option in given):
            if option in own:
                continue
            if mode == "jobs":
                about = "traffic (exanet sim load, exanet sim messages), and jobs have none: leave it out, or leave out --job"
            else:
                owner = next(name for name, other in self.commands.items() if any(option in each.opts for each in other.params))
                about = _ABOUT[owner]
            problems.append(f"{option} belongs to {about}")
        if mode == "messages":
            problems += messages.idle({option.option: option.value for option in given})
        if problems:
            raise InputError(problems)


def _describe() -> None:
    """Simulate a machine's network without programs, in one of three modes.

    Without the name of a mode, --job means jobs, --message or --level flow mean messages, and anything else means
    packets at a load.

    \b
    exanet sim -m torus-512 --traffic tornado --load 0.3
    exanet sim -m torus-512 --message 1MiB --level flow
    exanet sim -m torus-512 --job stencil-3d:bytes=4KiB,rounds=10
    exanet sim load --help
    """


app = single.group(_describe, cls=_Modes)
app.command(name="load", context_settings=single.SETTINGS)(load.command)
app.command(name="messages", context_settings=single.SETTINGS)(messages.command)
app.command(name="jobs", context_settings=single.SETTINGS)(jobs.command)
