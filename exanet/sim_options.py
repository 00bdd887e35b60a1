# SPDX-License-Identifier: Apache-2.0
"""Which option of `exanet sim` goes with what: one that would say nothing in the run that is asked for is refused."""

from __future__ import annotations

from collections.abc import Iterable

from exanet.errors import InputError

_ABOUT = {
    "traffic": "traffic, which there is none of beside --job: leave one of them out",
    "jobs": "jobs: give --job, or leave it out",
    "packets": "single packets: leave it out, or --message and --level flow",
    "messages": "whole messages: say how long they are as well (--message)",
    "flow": "the flow level: take --level flow, or leave it out",
    "packet": "the packet level: leave it out, or --level flow",
    "burst": "messages that are sent all at once: leave out --load",
    "load": "messages that come at a load, not all at once: give --load, or leave it out",
}

_NEEDS: dict[str, tuple[str, ...]] = {
    "--traffic": ("traffic",),
    "--load": ("traffic",),
    "--message": ("traffic",),
    "--rounds": ("traffic", "messages", "burst"),
    "--sharing": ("traffic", "flow"),
    "--grain": ("traffic", "flow"),
    "--pace": ("traffic", "packet", "messages"),
    "--arrivals": ("traffic", "packets"),
    "--priority": ("traffic", "packets"),
    "--warm-up": ("traffic", "load"),
    "--measure": ("traffic", "load"),
    "--threads": ("traffic", "packets"),
    "--map": ("jobs",),
}


def check(given: Iterable[str], *, of_jobs: bool, of_messages: bool, flow: bool, burst: bool) -> None:
    """Raises InputError, with a message for each option that was `given` and says nothing in such a run."""
    there_is = {
        "jobs" if of_jobs else "traffic",
        "messages" if of_messages else "packets",
        "flow" if flow else "packet",
        "burst" if burst else "load",
    }
    lacking = {option: next((need for need in _NEEDS.get(option, ()) if need not in there_is), None) for option in given}
    problems = [f"{option} is of {_ABOUT[need]}" for option, need in lacking.items() if need is not None]
    if problems:
        raise InputError(problems)
