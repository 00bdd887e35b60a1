# SPDX-License-Identifier: Apache-2.0
"""The formats that a trace is converted to and from: a file each, which is found by being here.

Problem: `exanet trace convert`, its help, the documentation and the tests each need to know all formats. Model: a
module of this package says in FORMAT what a format is called, who reads it, what it cannot hold, and how it is written
and read; everybody goes through `formats()`, which is in the order of the modules' names. Limit: help texts come from
here, so a module imports what does its work when it works, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exanet.trace.folder import Trace

LeftOut = dict[str, int]
"""What a format does not hold, by what that is; counts of 0 say nothing."""


@dataclass(frozen=True)
class Choices:
    """How collectives become messages: algorithms by collective, and the rules for the others."""

    collectives: Mapping[str, str] = field(default_factory=dict)
    rules: str = ""


@dataclass(frozen=True)
class Format:
    """One format.

    Contract: `write` makes the file that it is given, or fills the folder that it is given; `read` makes a trace of a
    source in a folder that is not there. Both return what is left out, and raise InputError on what they cannot take,
    or OSError. `found` says by its content whether a file or folder is of the format, and what it is opened by.
    """

    suffix: str  # of a target; "" where the format is only read
    name: str
    title: str  # in the sentence that begins "Convert a trace, to and from ..."
    read_by: str  # programs that the file is for, as the help's example says
    becomes: str = ""  # what a trace becomes, for the page of formats
    cannot_hold: str = ""  # what is left out or refused, for the same page
    write: Callable[[Trace, Path, Choices], LeftOut] | None = None
    remark: str = ""  # behind the suffix in the help
    is_folder: bool = False
    is_schedule: bool = False  # collectives are messages of their algorithms, so that the recording must be whole
    holds_graphs: bool = False  # and operations of a graph, in their order or in none
    found: Callable[[Path], Path | None] = lambda place: None
    read: Callable[[Path, Path], LeftOut] | None = None
    source: str = ""  # what is read, e.g. "a GOAL schedule"
    read_from: str = ""  # what becomes of one, for the page of formats
    read_example: str = ""  # a source's name, for the help
    takes_any: bool = False  # also files that no format recognises: its reader says what is wrong with them


@cache
def formats() -> dict[str, Format]:
    """All of them, by the names of their modules."""
    names = sorted(found.name for found in iter_modules(__path__) if found.name != "__main__")
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}").FORMAT for name in names}


def written() -> list[Format]:
    """Those that a trace is converted to."""
    return [each for each in formats().values() if each.write is not None]


def of_target(target: Path) -> Format | None:
    """The format that a target's suffix asks for."""
    return next((each for each in written() if each.suffix == target.suffix), None)


def of_source(source: Path) -> tuple[Format, Path] | None:
    """The format of a file or folder that is no trace, and what it is opened by. Raises OSError."""
    readable = [each for each in formats().values() if each.read is not None]
    for each in readable:
        if (opened := each.found(source)) is not None:
            return each, opened
    if source.is_file():
        return next(each for each in readable if each.takes_any), source
    return None


# -- sentences about them ----------------------------------------------------------------------------------------------


def joined(words: Iterable[str], last: str = "or") -> str:
    """Each once: "a, b or c"."""
    kept = list(dict.fromkeys(words))
    return f" {last} ".join(filter(None, (", ".join(kept[:-1]), kept[-1])))


def schedules(last: str = "or") -> str:
    """The names of those that have collectives as messages."""
    return joined((each.name for each in formats().values() if each.is_schedule), last)


def targets() -> tuple[str, str]:
    """The suffixes of files and of folders, with what is to be said of them."""
    said = [(each.is_folder, each.suffix + (f" ({each.remark})" if each.remark else "")) for each in written()]
    return joined(text for is_folder, text in said if not is_folder), joined(text for is_folder, text in said if is_folder)


def sources() -> str:
    """What is read."""
    return joined(["the folder of a trace", *(each.source for each in formats().values() if each.read)])


def help_text() -> str:
    """The help of `exanet trace convert`."""
    both, to, source = (
        "; ".join(dict.fromkeys(e.title for e in formats().values() if (bool(e.read), bool(e.write)) == can))
        for can in ((True, True), (False, True), (True, False))
    )
    whole = wrap(f"Convert a trace, to and from {both}; to {to}; and from {source}.", 130)
    examples = [(f"trace trace{each.suffix}", each.read_by) for each in written()]
    examples += [(f"{each.read_example} trace", "exanet replay") for each in formats().values() if each.read_example]
    width = max(len(words) for words, _ in examples)
    lines = [f"exanet trace convert {words:<{width}}  # for {whom}" for words, whom in examples]
    return "\n".join([*whole, "", "\b", *lines])


def page() -> str:
    """The reference page."""
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "<!-- Generated: python -m exanet.trace.formats -->", "# Formats of traces", ""]
    out += [
        "`exanet trace convert FROM TO` says what the other format does not hold, a line each.",
        "",
        "| from | to | what becomes of it |",
    ]
    out.append("|---|---|---|")
    for each in formats().values():
        name = f"`{'FOLDER' if each.is_folder else 'FILE'}{each.suffix}`"
        if each.write:
            out.append(f"| trace | {name} | {each.becomes} {each.cannot_hold} |")
        if each.read_from:
            out.append(f"| {each.source} | trace | {each.read_from} |")
    return "\n".join([*out, ""])
