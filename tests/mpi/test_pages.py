# SPDX-License-Identifier: Apache-2.0
"""Does a program see what pages cost where its machine says that addresses are translated, and the same in every
run?"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from host import tried

from .conftest import PROGRAMS, Finished, Runner, Stack

MACHINE = """\
extends: exanest-ni
name: pages
description: the ExaNeSt prototype, whose interfaces translate addresses
ni: {{pages: {pages}}}
"""
READ_NS = 150  # exanest's memory_read: of one entry of a table, in 24 cycles
CYCLE_NS = 6.4
SIZES = ("64", "4096", "131072", "1048576")


def _run(run: Runner, stack: Stack, folder: Path, pages: str, *options: str, words: tuple[str, ...] = ("uses.py", *SIZES)) -> Finished:
    file = folder / f"{pages.replace(' ', '')}.yaml"
    file.write_text(MACHINE.format(pages=pages))
    program = [stack.python, PROGRAMS / words[0], *words[1:]]
    return run(stack, 4, program, machine=str(file), options=("--compute", "off", "--map", "round-robin", *options))


def _uses(done: Finished) -> dict[int, list[float]]:
    """Of each size, the one-way time of each use."""
    return {int(size): [float(ns) for ns in done.line(size)] for size in SIZES}


def test_a_first_use_waits_for_a_walk_at_each_end(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    physical, small, large = (_run(exanet_run, mpich, tmp_path, pages) for pages in ("0", "4 KiB", "2 MiB"))
    assert physical.summary["page_lookups"] == physical.summary["page_walks"] == 0
    for done, reads in ((small, 4), (large, 3)):
        assert 0 < done.summary["page_walks"] < done.summary["page_lookups"]
        # On one page each. Of a single packet nothing hides the walks at both ends; behind the first of eight the
        # others come meanwhile, which memory then takes twice as quickly as the link has brought them.
        for size, unhidden in ((64, 2), (4096, 1)):
            plain, uses = _uses(physical)[size], _uses(done)[size]
            walks = uses[0] - uses[1] - (plain[0] - plain[1])
            # Each read of a table takes memory's time, and at most two cycles around it; a walk four more.
            assert unhidden * (reads * READ_NS - 4 * CYCLE_NS) <= walks <= unhidden * (reads * (READ_NS + 2 * CYCLE_NS) + 4 * CYCLE_NS)
            # Behind it every packet's page is known: a cycle or two at each of three ports.
            for after, before in zip(uses[1:], plain[1:], strict=True):
                assert 0 < after - before <= 6 * CYCLE_NS
    # 1 MiB has 256 pages, of which each end knows 32: all four walks of each of ten messages. One of 2 MiB is known
    # from its first use on.
    assert small.summary["page_walks"] >= 10 * 2 * 256 and large.summary["page_walks"] < 100


@pytest.mark.parametrize("words", [("uses.py", *SIZES), ("put.py",)])
def test_the_same_messages_in_every_run(exanet_run: Runner, mpich: Stack, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Of programs that keep their buffers: where others get theirs again is up to their allocators."""
    kinds = tried(("packed", "packed", "processes"), ("packed", "processes"))
    runs = [_run(exanet_run, mpich, tmp_path, "4 KiB", "--ranks-as", ranks_as, words=words) for ranks_as in kinds]
    first, *others = (pl.read_parquet(done.folder / "messages.parquet") for done in runs)
    assert len(first) > 0 and all(other.equals(first) for other in others)
    assert len({done.summary["page_walks"] for done in runs}) == 1 and runs[0].summary["page_walks"] > 0


def test_the_same_messages_in_every_run_by_default(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """Of a program that allocates and frees between its calls: its ranks are processes, each with memory of its own."""
    runs = [_run(exanet_run, mpich, tmp_path, "4 KiB", "--ranks-as", "auto", words=("one_sided.py",)) for _ in range(2)]
    first, second = (pl.read_parquet(done.folder / "messages.parquet").with_row_index() for done in runs)
    parted = [(mine, its) for mine, its in zip(first.iter_rows(), second.iter_rows(), strict=False) if mine != its]
    assert len(first) > 0 and first.equals(second), (first.columns, len(first), len(second), parted[:3])
    facts = json.loads((runs[0].folder / "run.json").read_text())
    assert facts["ranks_as"] == "processes" and "'ni.pages'" in facts["not_packed"]


@pytest.mark.parametrize("program", ["one_sided.py", "two_sided.py"])
def test_programs_get_right_answers(exanet_run: Runner, stack: Stack, tmp_path: Path, program: str) -> None:
    done = _run(exanet_run, stack, tmp_path, "64 KiB", words=(program,))
    assert 0 < done.summary["page_walks"] < done.summary["page_lookups"]
