# SPDX-License-Identifier: Apache-2.0
"""Do programs with ranks on two networks that gateways join give right answers, and does what crosses take the time of
both networks and of the gateways?"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from host import LONG

from exanet import machine, replay

from .conftest import PROGRAMS, Finished, Runner, Stack
from .test_applications import run_lammps, smaller, thermo

ROOT = Path(__file__).parents[2]
MACHINE = ROOT / "examples/machines/two-networks.yaml"
SECOND = MACHINE.with_name("bxi-100.yaml")
MESSAGE_PS, RATE, FRAGMENT = 10**6, 10e9, 64 << 10  # of the gateways there
ACROSS = ("--compute", "off", "--map", "networks")


PROGRAM_NAMES = ("two_sided", "one_sided", pytest.param("collectives", marks=pytest.mark.long))


@pytest.mark.parametrize("program", PROGRAM_NAMES)
def test_programs_on_both_networks(exanet_run: Runner, stack: Stack, program: str) -> None:
    done = exanet_run(stack, 4, [stack.python, PROGRAMS / f"{program}.py"], machine=str(MACHINE), options=ACROSS)
    assert done.line("ok") == ["4"]
    assert sum(row["messages_from_first"] for row in done.summary["gateways"]) > 10


@pytest.mark.long
@pytest.mark.parametrize("options", [("--level", "flow"), ("--mpi-calls", "simulated"), ("--ranks-as", "processes"), ("--timeline",)])
def test_programs_on_both_networks_in_other_ways(exanet_run: Runner, mpich: Stack, options: tuple[str, ...]) -> None:
    name = "collectives" if "simulated" in options else "two_sided"
    done = exanet_run(mpich, 4, [mpich.python, PROGRAMS / f"{name}.py"], machine=str(MACHINE), options=(*ACROSS, *options))
    assert done.line("ok") == ["4"]


@pytest.mark.long
@pytest.mark.parametrize("gateware", ["first", "second"])
def test_programs_where_one_networks_interfaces_take_the_gatewares_cycles(
    exanet_run: Runner, mpich: Stack, tmp_path: Path, gateware: str
) -> None:
    """With tables of pages there."""
    (tmp_path / "ni.yaml").write_text("extends: exanest-ni\nname: ni\ntopology: {shape: [1, 1, 1]}\npackaging: []\nni: {pages: 4 KiB}\n")
    first, second = ("ni.yaml", "exanest-mezzanine") if gateware == "first" else ("exanest-mezzanine", "ni.yaml")
    gateways = f"network: {second}, nodes: [[0, 0], [1, 1]], message: 1 us, rate: 10 Gb/s, fragment: 64 KiB, choice: least-busy"
    (tmp_path / "both.yaml").write_text(f"extends: {first}\nname: both\ngateway: {{{gateways}}}\n")
    for program in ("two_sided", "one_sided", "collectives"):
        words = [mpich.python, PROGRAMS / f"{program}.py"]
        assert exanet_run(mpich, 4, words, machine=str(tmp_path / "both.yaml"), options=ACROSS).line("ok") == ["4"], program


@pytest.mark.long
def test_a_replay_takes_the_time_of_its_run(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    words = [mpich.python, PROGRAMS / "two_sided.py"]
    done = exanet_run(mpich, 4, words, machine=str(MACHINE), options=(*ACROSS, "--record", str(trace)))
    replayed = replay(str(trace), MACHINE, mapping="networks")
    assert replayed.summary["virtual_ps"] == pytest.approx(done.summary["virtual_ps"], rel=0.01)
    passed = ("messages_from_first", "messages_from_second", "bytes_from_first", "bytes_from_second")
    for here, there in zip(replayed.summary["gateways"], done.summary["gateways"], strict=True):
        assert [here[key] for key in passed] == [there[key] for key in passed]


def ping_pong(exanet_run: Runner, stack: Stack, on: str, nodes: tuple[int, int], sizes: list[int], folder: Path) -> dict[int, float]:
    """ps of a message one way, by size."""
    (folder / "map").write_text(f"{nodes[0]}\n{nodes[1]}\n")
    words = [stack.python, PROGRAMS / "pingpong.py", *map(str, sizes)]
    done = exanet_run(stack, 2, words, machine=on, options=("--compute", "off", "--map", str(folder / "map")))
    return {int(size): float(ns) * 1e3 for size, ns in (line.split() for line in done.output.splitlines())}


def gateway_ps(size: int) -> float:
    return MESSAGE_PS + size * 8e12 / RATE


class Processors:
    """What those of a network's ranks take of a message within it."""

    def __init__(self, own: dict[str, Any]) -> None:
        self.ni, self.word = own["ni"], own["router"]["word_bits"] // 8

    def store(self, stored: int) -> float:
        return float(self.ni["store_word_ps"] * -(-stored // self.word))

    def times(self, *keys: str) -> float:
        return float(sum(self.ni[f"{key}_ps"] for key in keys))

    def sends(self, size: int) -> float:
        eager = size <= self.ni["eager_max_bytes"]
        return self.times("mpi_send", "library_send") + self.store(self.ni["envelope_bytes"] + (size if eager else 0))

    def receives(self, size: int) -> float:
        receive = self.times("mailbox_read", "library_receive")
        if size <= self.ni["eager_max_bytes"]:
            return receive + self.times("mpi_receive")  # of one line of the mailbox
        asks = receive + self.times("library_send") + self.store(64)
        answers = receive + self.times("library_send") + self.store(self.ni["envelope_bytes"])
        return asks + self.times("dma_completion") + answers + self.times("mailbox_read", "mpi_receive")

    def between(self) -> float:
        """From the acknowledgement of a long message to the next one's envelope."""
        return self.times("mailbox_read", "mpi_receive") + self.sends(1 << 20)


def across_ps(alone: list[dict[int, float]], ranks: list[Processors], size: int) -> float:
    """The closed form of docs/gateway.md, as the mean of both directions of a ping-pong."""
    first, second = alone
    # Of each network the sender is missing in one direction, the receiver in the other.
    spared = sum(own.sends(size) + own.times("packetizer") + own.receives(size) for own in ranks) / 2
    if size <= ranks[0].ni["eager_max_bytes"]:
        return first[size] + second[size] - spared + gateway_ps(32 + size)
    part, parts = min(size, FRAGMENT), -(-size // FRAGMENT)
    slowest = 0.0
    if parts > 1:
        slowest = max(gateway_ps(FRAGMENT), *((own[size] - own[FRAGMENT]) / (parts - 1) for own in alone))
    behind = sum(max(0.0, gateway_ps(32) - own.between()) for own in ranks) / 2
    passed = gateway_ps(32) + behind + gateway_ps(16) + gateway_ps(part)
    return first[part] + second[part] - spared + passed + (parts - 1) * slowest


def test_a_message_across_takes_both_networks_and_the_gateway(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    sizes = [0, 32, 64, 1024, 16384, 65536, 1 << 20]
    alone = [
        ping_pong(exanet_run, mpich, "exanest-mezzanine", (2, 0), sizes, tmp_path),
        ping_pong(exanet_run, mpich, str(SECOND), (0, 2), sizes, tmp_path),
    ]
    across = ping_pong(exanet_run, mpich, str(MACHINE), (2, 16 + 2), sizes, tmp_path)
    ranks = [Processors(machine.load(name).resolve()) for name in ("exanest-mezzanine", SECOND)]
    for size in sizes:
        assert across[size] == pytest.approx(across_ps(alone, ranks, size), rel=0.05), size


PAGE = (ROOT / "docs/gateway.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^exanet run -m (\S+) -n (\d+) (.*) -o (\S+) -- python (\S+) (.*)$", re.MULTILINE)


@pytest.fixture
def on_the_page(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> Callable[..., Finished]:
    """Runs the page's command that leaves a folder of this name, with these arguments or its own."""
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "across.map").write_text("2\n18\n")
    for text in re.findall(r"^```yaml\n(extends: examples/.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        (tmp_path / f"{re.search(r'^name: ([a-z]+)-', text, re.MULTILINE)[1]}.yaml").write_text(text)  # type: ignore[index]

    def run(folder: str, *arguments: str) -> Finished:
        [(on, ranks, options, _, program, own)] = [found for found in COMMAND.findall(PAGE) if found[3] == folder]
        words = [mpich.python, program, *(arguments or own.split())]
        return exanet_run(mpich, int(ranks), words, machine=on, options=options.split(), cwd=tmp_path)

    return run


def rows(heading: str) -> list[list[str]]:
    """Cells of the table below a heading of the page."""
    lines = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| \d", line)]


def number(text: str) -> float:
    return float(text.split()[0])


def test_latency_on_the_page(on_the_page: Callable[..., Finished]) -> None:
    done = on_the_page("across")
    for size, _, _, across, closed, _ in rows("Latency"):
        assert float(done.line(size)[0]) / 1e3 == pytest.approx(number(across), rel=0.01), size
        assert number(across) == pytest.approx(number(closed), rel=0.05), size


@pytest.mark.long
def test_throughput_on_the_page(on_the_page: Callable[..., Finished]) -> None:
    done = on_the_page("bandwidth")
    for size, *_, across in rows("Throughput"):
        assert float(done.line(size)[0]) == pytest.approx(number(across), rel=0.01), size
    _, first, second, across = rows("Throughput")[-1]
    assert number(across) == pytest.approx(min(number(first), number(second), FRAGMENT / gateway_ps(FRAGMENT) * 1e6), rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize("gateways", [1, 2, 4])
def test_several_gateways_on_the_page(on_the_page: Callable[..., Finished], gateways: int) -> None:
    done = on_the_page(f"gateways-{gateways}")
    [row] = [row for row in rows("Several gateways, and congestion") if row[0] == str(gateways)]
    assert float(done.line("262144")[0]) == pytest.approx(number(row[1]), rel=0.01)
    assert number(row[1]) == pytest.approx(number(row[2]), rel=0.05)
    assert number(row[2]) == pytest.approx(gateways * passed_on(1 << 18) * 1e6, rel=0.001)
    table = pl.read_parquet(done.folder / "gateways.parquet")
    assert table["use_percent"].mean() == pytest.approx(number(row[3]), rel=0.01)
    assert table["longest_wait_ps"].max() == pytest.approx(number(row[5]) * 1e9, rel=0.01)


def passed_on(size: int) -> float:
    """Bytes a ps of a gateway, of messages by rendezvous in whole fragments."""
    return size / (size // FRAGMENT * gateway_ps(FRAGMENT) + 2 * gateway_ps(32) + gateway_ps(16))


@pytest.mark.parametrize("window", [0, 2])
def test_a_gateway_that_is_full(exanet_run: Runner, mpich: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    """Three pairs: more than it carries. Its queue is in all tables; a window bounds it, and takes no time."""
    monkeypatch.setenv("WINDOWS_MESSAGES", "8")
    monkeypatch.setenv("WINDOWS_ROUNDS", "2")
    gateway = f"nodes: [[0, 0]], choice: least-busy{f', window: {window}' if window else ''}"
    (tmp_path / "one.yaml").write_text(f"extends: {MACHINE}\nname: one\ngateway: {{{gateway}}}\n")
    words = [mpich.python, PROGRAMS / "windows.py", str(2 * FRAGMENT)]
    done = exanet_run(mpich, 6, words, machine=str(tmp_path / "one.yaml"), options=ACROSS)
    assert float(done.line(str(2 * FRAGMENT))[0]) == pytest.approx(passed_on(2 * FRAGMENT) * 1e6, rel=0.05)
    table = pl.read_parquet(done.folder / "gateways.parquet")
    assert len(table) == 1 and table["use_percent"][0] > 95
    if window:
        assert table["most_queue_bytes"][0] < 3 * window * FRAGMENT + 4096
    else:
        assert table["most_queue_bytes"][0] > 8 * FRAGMENT and table["longest_wait_ps"][0] > 8 * gateway_ps(FRAGMENT)
    links = pl.read_parquet(done.folder / "links.parquet").filter(pl.col("port_name") == "gateway")
    assert links["busy_ps"].sum() == table["busy_ps"][0] and links["waited_ps"].sum() == table["waited_ps"][0]


def test_lammps_on_both_networks_is_identical_to_one(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    melt = smaller("in.lj", tmp_path, steps=100 if LONG else 10, box="0.5")
    on_one = run_lammps(exanet_run, mpich, 4, melt)
    lmp = Path(mpich.python).parent / "lmp"
    on_both = exanet_run(mpich, 4, [lmp, "-in", melt, "-log", "none"], machine=str(MACHINE), options=ACROSS)
    assert thermo(on_both.output) == thermo(on_one.output)
    assert on_both.summary["virtual_ps"] > on_one.summary["virtual_ps"]


@pytest.mark.long
def test_the_time_of_lammps_is_that_of_the_messages_on_its_critical_path(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    sizes = [0, 32, 64, 1024, 16384, 65536]
    alone = [
        ping_pong(exanet_run, mpich, "exanest-mezzanine", (2, 0), sizes, tmp_path),
        ping_pong(exanet_run, mpich, str(SECOND), (0, 2), sizes, tmp_path),
    ]
    ranks = [Processors(machine.load(name).resolve()) for name in ("exanest-mezzanine", SECOND)]
    (tmp_path / "map").write_text("2\n18\n")
    lmp = Path(mpich.python).parent / "lmp"
    words = [lmp, "-in", smaller("in.lj", tmp_path, steps=20, box="0.5"), "-log", "none"]
    options = ("--compute", "off", "--map", str(tmp_path / "map"), "--timeline")
    done = exanet_run(mpich, 2, words, machine=str(MACHINE), options=options)
    path = pl.read_parquet(done.folder / "critical_path.parquet")
    messages = path.filter(pl.col("kind") == "message")

    def expected(size: int) -> float:
        """From posting to delivery."""
        like = [own for own in sizes if (own <= 32) == (size <= 32)]
        here = [{at: float(np.interp(at, like if at == size else sizes, [own[each] for each in (like if at == size else sizes)]))
                 for at in (size, FRAGMENT)} for own in alone]  # fmt: skip
        eager = size <= ranks[0].ni["eager_max_bytes"]
        ends = sum(own.sends(size) + (own.receives(size) if eager else own.times("mailbox_read", "mpi_receive")) for own in ranks) / 2
        return across_ps(here, ranks, size) - ends

    took = int((messages["end_ps"] - messages["begin_ps"]).sum())
    assert took > 0.95 * done.summary["virtual_ps"]
    assert sum(map(expected, messages["bytes"])) == pytest.approx(took, rel=0.05)
