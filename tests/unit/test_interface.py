# SPDX-License-Identifier: Apache-2.0
"""The bench of the network interface, Verilated: are its figures those of the documents, and those of the model?

The library is built once, into the user's cache; the command runs once for all of these tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from browser import charts, in_browser, needs_browser
from ruamel.yaml import YAML

from exanet.karma import interface_model, layouts, stages, streams
from exanet.karma.driver import FENCES, MAILBOX, OWN, TARGET, Driver
from exanet.karma.interface import WAIT_CYCLES, Bench, What, field, pack

pytestmark = pytest.mark.verilated

ROOT = Path(__file__).parents[2]
Found = dict[str, Any]


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", "-m", "exanet", "karma", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the command's results, with what it has printed, and shown on a terminal meanwhile."""
    made = tmp_path_factory.mktemp("interface") / "out"
    stages.message(0, line_cycles=1, memory_cycles=1)  # builds the library, of which the command would print a line
    terminal, shown = os.openpty()
    with os.fdopen(terminal, "rb"), os.fdopen(shown, "wb"):
        command = [sys.executable, "-P", "-m", "exanet", "karma", "--ni", "-o", str(made)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=shown, text=True, check=False)
        said = os.read(terminal, 1 << 16)
    assert done.returncode == 0, said
    (made.parent / "printed").write_text(done.stdout)
    (made.parent / "shown").write_bytes(said)
    return made


@pytest.fixture(scope="module")
def found(folder: Path) -> Found:
    read: Found = json.loads((folder / "summary.json").read_text())
    return read


def measured_in_docs(heading: str) -> dict[str, list[str]]:
    """Cells of a table of the pages of docs/gateware, by the first one of each row; `heading` begins its first line."""
    pages = [path.read_text() for path in (ROOT / "docs/gateware").glob("*.md")]
    (text,) = [page for page in pages if f"| {heading}" in page]
    rows = text[text.index(f"| {heading}") :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip(" *") for cell in row.strip("|").split("|")] for row in rows]
    return {first: rest for first, *rest in cells}


def until(of: Found, stage: str) -> int:
    (row,) = (row for row in of["stages"] if stage in row["stage"])
    return int(row["since_store_cycles"])


def test_what_is_printed_is_in_the_documents(folder: Path) -> None:
    printed = re.sub(" +$", "", (folder.parent / "printed").read_text(), flags=re.M)
    text = (ROOT / "docs/karma.md").read_text()
    shown = re.findall(r"```\n(.*?)```", text[text.index("## The network interface") :], re.S)
    assert len(shown) >= 3
    for block in shown:
        assert block in printed, "docs/karma.md shows another table"


def test_a_terminal_shows_how_far_it_is_and_nothing_of_it_afterwards(folder: Path) -> None:
    *lines, last = (folder.parent / "shown").read_bytes().decode().split("\r\x1b[K")
    shares = [int(re.fullmatch(r"exanet: network interface, ([0-9]+)%", line)[1]) for line in lines if line]  # type: ignore[index]
    assert last == "" and len(shares) >= 30
    assert shares == sorted(shares) and shares[-1] == 100
    assert "network interface, " not in (folder.parent / "printed").read_text()


def test_a_message_takes_the_cycles_of_the_documents(found: Found) -> None:
    table = measured_in_docs("measured (line and memory of 20 cycles)")
    messages = {of["bytes"]: of for of in found["messages"]}
    for column, size in enumerate((0, 16, 64)):
        of = messages[size]
        at = {
            name: until(of, name) for name in ("header at the router", "header at the far", "footer there", "first beat", "in its mailbox")
        }
        at |= {name: until(of, name) for name in ("memory: its answer", "answer at the router", "at the sender", "slot is free")}
        ours = {
            "last store taken to header at the router": at["header at the router"],
            "header at the router to header at the far interface, one link": at["header at the far"] - at["header at the router"],
            "header to footer there": at["footer there"] - at["header at the far"],
            "footer to first beat at memory": at["first beat"] - at["footer there"],
            "first beat to last beat": at["in its mailbox"] - at["first beat"],
            "last store to memory written": at["in its mailbox"],
            "last beat to answer at the router: memory's 20, and": at["answer at the router"] - at["in its mailbox"] - 20,
            "answer back, one link": at["at the sender"] - at["answer at the router"],
            "to a free slot": at["slot is free"] - at["at the sender"],
        }
        assert {name: str(cycles) for name, cycles in ours.items()} == {name: cells[column] for name, cells in table.items()}, size


def test_a_write_takes_the_cycles_of_the_documents(found: Found) -> None:
    tables = measured_in_docs("measured in cycles (lines of 20 cycles; `pages_test.cpp`")
    small = {of["pages"]: of for of in found["transfers"] if of["bytes"] == 64 and not of["read"]}
    for row, stage in (
        ("last store to the first read of memory", "first read"),
        ("... to the last of 64 bytes in the other memory", "all bytes"),
    ):
        hit, _, miss = tables[row][1:4]
        assert [until(small["hit"], stage), until(small["miss"], stage)] == [int(cell.split(",")[1]) for cell in (hit, miss)]
    assert found["descriptor_stores_cycles"][:-1] == [1, 1, 1]
    reads = found["first_read_cycles"]
    assert (reads.count(8), max(reads), len(reads)) == (45, 9, 48), "docs/karma.md says so"
    known, walked = found["first_read_hit_cycles"], found["first_read_walk_cycles"]
    assert [max(known), max(walked), len(known), len(walked)] == [10, 97, 48, 48], "docs/karma.md says so"
    assert set(found["message_header_cycles"]) == {10}


def test_the_model_has_the_same_in_all_of_it(found: Found) -> None:
    measured = found["messages"] + found["transfers"]
    assert [of for of in measured if not of["model_equal"]] == []
    for of in measured:
        reported = [(row["since_store_cycles"], row["model_cycles"]) for row in of["stages"] if row["model_cycles"] is not None]
        assert len(reported) >= 6
        assert all(ours == model for ours, model in reported)
        assert of["compared"] >= 5
    assert sum(row["cycles"] for row in measured[0]["stages"]) == measured[0]["stages"][-1]["since_store_cycles"]


@pytest.mark.parametrize(("line_cycles", "memory_cycles"), [(0, 1), (54, 7), (3, 150)])
def test_the_model_has_the_same_with_other_lines_and_memories(line_cycles: int, memory_cycles: int) -> None:
    at = {"line_cycles": line_cycles, "memory_cycles": memory_cycles}
    assert stages.message(37, **at)["model_equal"]
    for read in (False, True):
        assert stages.transfer(5000, read=read, pages="miss", **at)["model_equal"]


def test_a_model_that_is_a_cycle_late_is_not_equal() -> None:
    with Bench(2) as bench:
        driver = Driver(bench)
        bench.record()
        driver.message(0, 1, b"16 bytes or less")
        bench.run(500)
        events = bench.events()
        ours = sorted(seen for event in events if (seen := interface_model.seen(event)))
        (cycle,) = driver.handed_over(events)
        assert interface_model.by_model(driver, [cycle], bench.cycle) == ours
        assert interface_model.by_model(driver, [cycle + 1], bench.cycle) != ours


def test_streams_leave_nothing_of_the_port_and_next_to_nothing_of_the_link(found: Found) -> None:
    assert {row["payload_bytes"]: row["cycles_a_packet"] for row in found["packetizer"]} == {16: 3, 32: 4, 48: 5, 64: 6}
    assert {row["packets"] for row in found["packetizer"]} == {60}
    streams = [*found["packetizer"], found["small_writes"], *found["large"]]
    assert [row["model_equal"] for row in streams] == [True] * 10 + [None], (
        "all but 64 reads, where nodes keep different numbers of channels"
    )
    assert found["small_writes"]["cycles_a_write"] <= 8
    assert [(row["read"], row["at_a_time"]) for row in found["large"]] == [(read, count) for read in (False, True) for count in (1, 2, 64)]
    for row in found["large"]:
        assert 98 <= row["percent_of_link"] <= 100, row


def test_options_save_what_they_are_said_to(found: Found) -> None:
    link, itself = found["translation"][:3], found["translation"][3:]
    assert all(row["model_equal"] for row in found["translation"])
    for none, known, walks in (link, itself):
        assert none["cycles_a_packet"] == known["cycles_a_packet"] < walks["cycles_a_packet"]
        assert (none["walks_a_packet"], known["walks_a_packet"], walks["walks_a_packet"]) == (0, 0, 2)
    by = {(row["to_itself"], row["memory_cycles"], row["reads"]): row for row in found["reads_ahead"]}
    for itself_too in (False, True):
        for memory in (20, 50, 100, 200):
            one, two, many = (by[itself_too, memory, reads]["cycles"] for reads in (1, 2, 0))
            assert one >= two >= many
    # One read at a time: memory's time, 32 beats, and what the next one takes to be asked for.
    assert by[True, 100, 1]["cycles_a_packet"] == 100 + 32
    for of in found["completions"]:
        assert of["message"] < of["write_and_fence"] < of["end_at_sender"] < of["write_and_message"]
        assert of["end_at_sender"] < of["message_behind_0"] < of["message_behind_32"]
        assert of["message_behind_0"] + 20 < of["message_behind_word"]  # memory's answer


@needs_browser
def test_the_page_is_drawn(folder: Path) -> None:
    elements = in_browser(folder / "report.html")
    assert charts(elements) == 5
    assert len(re.findall(r">The model has each packet, burst and answer in the same cycle as the gateware\.<", elements)) == 5
    assert ">R35<" in elements


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ni", "--line", "-1"), "--line -1: give from 0 to 400 cycles"),
        (("--ni", "--line", "401"), "--line 401: give from 0 to 400 cycles"),
        (("--ni", "--memory", "5000"), "--memory 5000: give from 1 to 400 cycles"),
        (("--ni", "--memory", "0"), "--memory 0: give from 1 to 400 cycles"),
        (("--memory", "5"), "--memory: the network IP has no memory; give --ni too"),
        (("--ni", "--torus", "4x4x4"), "--torus: --ni has no such table; leave one of them out"),
    ],
)
def test_bad_options_are_one_message(arguments: tuple[str, ...], said: str) -> None:
    done = run_command(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_layouts_are_those_of_the_specification() -> None:
    spec = YAML(typ="safe").load(ROOT / "spec/packet.yaml")
    assert {name: bits for name, (bits, _) in layouts.LAYOUTS.items()} == {name: of["bits"] for name, of in spec["layouts"].items()}
    word = pack("message_send", dcid=0x3FFFFF, mailbox=7, length=64)
    assert word == 0x3FFFFF | 7 << 22 | 64 << 38
    assert [field("message_send", name, word) for name in ("dcid", "mailbox", "length")] == [0x3FFFFF, 7, 64]
    with pytest.raises(ValueError, match=r"message_send\.length = 128 does not fit into 7 bits"):
        pack("message_send", length=128)


@pytest.mark.parametrize(
    ("layout", "old", "new"),
    [
        ("ni_config", "patience", "timeout"),
        ("ni_config", "block_patience", "block_timeout"),
        ("ni_config", "read_patience", "read_timeout"),
        ("ni_reduce_config", "patience", "timeout"),
    ],
)
def test_a_field_has_its_earlier_name_for_one_release(layout: str, old: str, new: str) -> None:
    with pytest.warns(FutureWarning, match=rf"{layout}\.{old} is {layout}\.{new} now"):
        word = pack(layout, **{old: 5})
    assert word == pack(layout, **{new: 5}) != 0
    with pytest.warns(FutureWarning):
        assert field(layout, old, word) == 5


def test_a_bench_says_what_has_gone_wrong() -> None:
    with pytest.raises(RuntimeError, match="what was waited for in memory has not come"), Bench(2) as bench:
        bench.wait(0, 0x1000, most=100)
    with pytest.raises(RuntimeError, match="a transfer has failed"), Bench(2) as bench:
        driver = Driver(bench, translate=True)
        driver.map_transfers(0, OWN, 64)  # and not the other node's
        driver.until_ended(0, driver.transfer(0, 1, 64))
    with pytest.raises(RuntimeError, match="has not come"), Bench(2) as bench:
        driver = Driver(bench)
        driver.message(0, 1, b"to a mailbox that is closed", mailbox=MAILBOX + 1)
        bench.wait(1, FENCES, most=2000)


def test_stores_of_eight_bytes_and_loads() -> None:
    with Bench(2) as bench:
        driver = Driver(bench)
        data = bytes(range(100, 164))
        bench.set(0, OWN, data)
        bench.record([What.STORE])
        driver.until_ended(0, driver.transfer(0, 1, 64, narrow=True))
        assert [(event.value & 0xFFF, event.place) for event in bench.events()] == [(0x80 + 8 * i, 8) for i in range(4)]
        assert bench.get(1, TARGET, 64) == data
        assert field("ni_transfer_status", "taken", bench.load(0, 0xD0)) == 1


class _Slow:
    """A bench and a driver of it in one: each transfer ends so many cycles behind the one before."""

    def __init__(self, each: int) -> None:
        self.bench, self.cycle, self.each, self.begun = self, 0, each, 0

    def stores(self, node: int) -> int:
        return 0

    def run(self, cycles: int) -> None:
        self.cycle += cycles * self.each // 16

    def transfer(self, node: int, to: int, count: int, **_: Any) -> int:
        self.begun += 1
        return self.begun * self.each

    def memory(self, address: int) -> int:
        return address

    def wait(self, node: int, *ends: int, most: int) -> None:
        if min(ends) > self.cycle + most:
            self.cycle += most
            raise RuntimeError("what was waited for has not come")
        self.cycle = max(self.cycle, min(ends))

    def ended(self, node: int, end: int) -> bool:
        return self.cycle >= end


def test_a_stream_waits_for_each_transfer_and_not_for_all_together() -> None:
    slow, places = _Slow(WAIT_CYCLES // 2), [(OWN, TARGET)] * 10
    streams.stream(cast(Driver, slow), 1, 64, places, 1)
    assert slow.begun == len(places)
    with pytest.raises(RuntimeError, match="1 of 10 transfers do not end"):
        streams.stream(cast(Driver, _Slow(3 * WAIT_CYCLES)), 1, 64, places, 1)
