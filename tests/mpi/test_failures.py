# SPDX-License-Identifier: Apache-2.0
"""Does an MPI program learn of what the network has lost, by an error of its call, or by an end that names what
failed?"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Finished, Runner, Stack

# Switches of whole packets that drop what joins a queue of so many words, under interfaces that send nothing again.
MACHINE = """\
extends: bxi-256-portals
name: dropping
description: a fat tree whose switches drop packets
router: {{queue_action: drop, queue_threshold: {words} words}}
"""
WHOLE = 1 << 20  # words that no queue ever has
FIRST = re.compile(
    r"what had failed first on the network: rank \d+ on node \d+(, in MPI_\w+)? at \d+\.\d{3} us: "
    r"(send to|receive from) rank \d+, \d+ bytes, failed: a packet of it was lost"
)
Incast = Callable[..., Finished]


@pytest.fixture
def incast(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> Incast:
    """Twelve ranks on as many nodes, of which all send to the first: `incast(words, bytes, mode)`."""

    def run(words: int, size: int, mode: str, *, code: int | None = 0) -> Finished:
        file = tmp_path / f"dropping-{words}.yaml"
        file.write_text(MACHINE.format(words=words))
        command = [compiled("incast"), str(size), mode]
        options = ("--compute", "off", "--map", "round-robin")
        return exanet_run(stack, 12, command, machine=str(file), options=options, code=code, timeout=120)

    return run


def left_behind(program: str) -> list[str]:
    commands = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [command for command in commands if program in command]


@pytest.mark.parametrize(("words", "size"), [(1, 64), (64, 100_000)], ids=["eager", "rendezvous"])
def test_errors_that_are_returned_have_a_class_and_a_text(incast: Incast, stack: Stack, words: int, size: int) -> None:
    """MPICH takes what its network reports for fatal, whatever the handler: it says why, and calls MPI_Abort with a
    code of its own."""
    mpich = stack.name == "mpich"
    done = incast(words, size, "return", code=None if mpich else 5)
    assert done.code not in (0, 9)
    if mpich:
        assert re.search(r"Other MPI error, error stack:\n(.*\n)*.*OFI poll failed \(.*: Input/output error\)", done.errors), done.errors
    else:
        failed = [line.split(maxsplit=4) for line in done.output.splitlines() if line.startswith("failed ")]
        assert failed and all(kind == "MPI_ERR_INTERN" and text for _, _, _, kind, text in failed), done.output
    assert FIRST.search(done.errors), done.errors


def test_by_default_the_run_ends_and_says_what_failed_first(incast: Incast, compiled: Callable[..., Path], tmp_path: Path) -> None:
    done = incast(64, 100_000, "fatal", code=None)
    assert done.code not in (0, 9)
    said = [line for line in done.errors.splitlines() if line.startswith("exanet: rank ")]
    assert len(said) == 1, done.errors
    assert FIRST.search(said[0])
    assert done.summary["complete"] is False and FIRST.search(done.summary["reason"])
    assert not left_behind(str(compiled("incast")))


def test_where_nothing_is_lost_nothing_fails(incast: Incast) -> None:
    done = incast(WHOLE, 100_000, "fatal")
    assert done.output.strip() == "whole"
    assert "failed" not in done.errors
