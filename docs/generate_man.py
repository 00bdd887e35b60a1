# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages, one a command, from the command line itself: python docs/generate_man.py docs/man

`exanet` becomes exanet.1, `exanet sim load` exanet-sim-load.1, which `man exanet sim load` finds. The pages are made of
the help texts, as docs/reference/cli*.md are. They are committed, because a wheel is built without what the command
line imports. tests/unit/test_man.py fails when a committed page is not what this writes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import typer.main
from generate_cli import commands

from exanet.cli import app

_HEAD = '.\\" SPDX-License-Identifier: Apache-2.0\n.\\" Made by docs/generate_man.py from the help texts in exanet/.\n'


def pages() -> dict[str, str]:
    """The text of each page by its file's name."""
    every = dict(commands("exanet", typer.main.get_command(app)))
    return {f"{name.replace(' ', '-')}.1": _page(name, command, list(every)) for name, command in every.items()}


def roff(text: str) -> str:
    """Escapes what roff would interpret: backslashes, hyphens that people type, and a control character at a line's
    start.

    What the page does not write in ASCII is named by its code point, so that it does not depend on the reader's locale.
    """
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    text = re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)


def _page(name: str, command: Any, every: list[str]) -> str:
    title = name.replace(" ", "-")
    text = (command.help or "").strip()
    summary = _summary(text)
    sections = [
        f'{_HEAD}.TH "{title.upper()}" "1" "" "ExaNet" "ExaNet manual"\n.nh',
        f".SH NAME\n{roff(title)} \\- {roff(summary)}",
        f".SH SYNOPSIS\n.B {roff(name)}\n{roff(_usage(command))}",
        f".SH DESCRIPTION\n{_paragraphs(text)}",
    ]
    if below := getattr(command, "commands", None):
        rows = [f".TP\n\\fB{roff(word)}\\fR\n{roff(_summary(below[word].help or ''))}." for word in sorted(below)]
        sections.append("\n".join([".SH COMMANDS", *rows]))
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    options = [parameter for parameter in shown if parameter.param_type_name == "option"]
    if arguments:
        sections.append("\n".join([".SH ARGUMENTS", *map(_parameter, arguments)]))
    sections.append("\n".join([".SH OPTIONS", *map(_parameter, options), ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow the help and exit."]))
    if command.epilog:
        head, _, lines = command.epilog.lstrip("\b\n").partition("\n")
        sections.append(f".SH {head.strip(':').upper()}\n{_lines(lines)}")
    sections.append(f".SH SEE ALSO\n{_see_also(name, every)}")
    return "\n".join(sections) + "\n"


def _summary(text: str) -> str:
    """The first sentence of a help text, or the part before its first comma or colon where that is long."""
    sentence = " ".join(text.strip().split("\n\n")[0].split()).partition(". ")[0].rstrip(".:")
    return sentence if len(sentence) <= 100 else re.split("[,:]", sentence)[0]


def _usage(command: Any) -> str:
    words = ["[OPTIONS]"]
    words += [_argument(parameter) for parameter in command.params if parameter.param_type_name == "argument"]
    return " ".join([*words, "COMMAND [ARGS]..."] if getattr(command, "commands", None) else words)


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _parameter(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        head = f"\\fI{roff(_argument(parameter))}\\fR"
    else:
        value = "" if getattr(parameter, "is_flag", False) else f" \\fI{roff(parameter.metavar or 'VALUE')}\\fR"
        names = [f"\\fB{roff(option)}\\fR" for option in [*parameter.opts, *parameter.secondary_opts]]
        head = ", ".join(names) + value
    text = " ".join((parameter.help or "").split())
    default = parameter.default
    if parameter.required:
        text += " Required."
    elif default not in (None, False, True, (), []) and not callable(default):
        text += f" Default: {default}."
    elif default is True and parameter.secondary_opts:
        text += f" Default: {parameter.opts[0]}."
    return f".TP\n{head}\n{roff(text)}"


def _paragraphs(text: str) -> str:
    """A help text. A paragraph behind \\b has lines to type, which are not filled."""
    parts = [part.strip("\n") for part in text.split("\n\n")]
    made = [_lines(part.lstrip("\b\n")) if part.startswith("\b") else roff(" ".join(part.split())) for part in parts]
    return "\n.PP\n".join(made)


def _lines(text: str) -> str:
    return "\n".join([".nf", *(roff(line.strip()) for line in text.strip("\n").split("\n")), ".fi"])


def _see_also(name: str, every: list[str]) -> str:
    """The group that the command belongs to, and the commands right below it."""
    above = name.rpartition(" ")[0]
    near = [other for other in every if other == above or other.rpartition(" ")[0] == name]
    return ",\n".join(f"\\fB{roff(other.replace(' ', '-'))}\\fR(1)" for other in near)


def main(folder: Path) -> None:
    made = pages()
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/generate_man.py FOLDER")
    main(Path(sys.argv[1]))
