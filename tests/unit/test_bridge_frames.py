# SPDX-License-Identifier: Apache-2.0
"""Frames of Linux's own network stack across a simulated torus, between two network namespaces.

Needs root and /dev/net/tun. With --slow 1000 the host's part of a time is small beside the network's.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from host import wait_for

from exanet.bridge import namespaces, taps
from exanet.errors import InputError

try:
    taps.check()
    WITHOUT = ""
except InputError as error:
    WITHOUT = str(error)
WITHOUT = WITHOUT or ", ".join(f"{name} is not installed" for name in ("ip", "ping") if shutil.which(name) is None)
pytestmark = [pytest.mark.skipif(bool(WITHOUT), reason=WITHOUT), pytest.mark.slow]

ROOT = Path(__file__).parents[2]
MACHINE = "torus-2x2x2"
CYCLE_NS = 6.4
STEPS_NS = 300 + 40 + 150 + 100 + 100
"""Of the interface: dma_start, translation, memory_read, memory_write, dma_completion (machines/exanest.yaml)."""
LINK_NS = 243.2


def model_ns(frame: int, hops: int) -> float:
    """Of a frame across torus-2x2x2, by arithmetic (docs/calibration.md): the interface's steps; its words on a link;
    two routers, the link's buffer, register and receiver; what each further hop adds."""
    return STEPS_NS + (11 + link_words(frame)) * CYCLE_NS + LINK_NS + (hops - 1) * (11 * CYCLE_NS + LINK_NS)


def link_words(frame: int) -> int:
    """Of 64 bits: with padding and check in packets of 256 bytes, each with header, footer and two words of framing."""
    whole, rest = divmod(max(frame, 60) + 4, 256)
    return sum(2 * (2 + -(-payload // 16)) + 2 for payload in [256] * whole + [rest] * (rest > 0))


class Bridge:
    """One that runs, with its interfaces a and b."""

    def __init__(
        self, folder: Path, *options: str, nodes: tuple[int, int] = (0, 7), keys: str = "", taps: Sequence[str] = (), machine: str = MACHINE
    ) -> None:
        self.folder = folder / "results"
        given = taps or [f"{node}=x{os.getpid() % 100000}{end}{keys}" for node, end in zip(nodes, "ab", strict=True)]
        self.taps = [re.split("[=,]", tap)[1] for tap in given]
        options = (*(f"--tap={tap}" for tap in given), "-o", str(self.folder), *options)
        command = [sys.executable, "-P", "-m", "exanet", "bridge", "-m", machine, *options]
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        wait_for(lambda: "The bridge is up" in self.log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def inside(self, end: int, *command: str, limit_s: float = 60) -> str:
        done = subprocess.run(
            ["ip", "netns", "exec", f"exanet-{self.taps[end]}", *command], capture_output=True, text=True, timeout=limit_s, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextlib.contextmanager
    def server(self, end: int, *command: str) -> Iterator[None]:
        process = subprocess.Popen(
            ["ip", "netns", "exec", f"exanet-{self.taps[end]}", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()

    def end(self, by: int = signal.SIGINT) -> dict[str, Any]:
        self.process.send_signal(by)
        assert self.process.wait(30) == 0, self.log.read_text()
        assert not any(namespaces.exists(f"exanet-{tap}") for tap in self.taps)
        found: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return found

    def frames(self) -> pl.DataFrame:
        return pl.read_parquet(self.folder / "frames.parquet")


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Any]:
    started: list[Bridge] = []

    def start(*options: str, **more: Any) -> Bridge:
        started.append(Bridge(tmp_path, *options, **more))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
    namespaces.clean()


def ping_ms(output: str) -> list[float]:
    return [float(ms) for ms in re.findall(r"icmp_seq=\d+ ttl=\d+ time=([0-9.]+) ms", output)]


@pytest.mark.parametrize(("nodes", "hops"), [((0, 1), 1), ((0, 7), 3)])
def test_ping_takes_the_models_time(bridge: Any, nodes: tuple[int, int], hops: int) -> None:
    """Of each frame in the network's time, and as ping sees it in the host's: slower by the factor."""
    running = bridge("--slow", "1000", nodes=nodes)
    times = ping_ms(running.inside(0, "ping", "-c", "10", "-i", "0.2", "10.77.0.2"))
    running.end()
    assert len(times) == 10
    echoes = running.frames().filter(pl.col("bytes") == 98)
    assert len(echoes) == 20
    expected = model_ns(98, hops)
    for took in (echoes["taken_ps"] - echoes["sent_ps"]).to_list():
        assert took / 1e3 == pytest.approx(expected, rel=0.02)
    assert min(times) >= 2 * expected * 1e-3
    assert min(times) == pytest.approx(2 * expected * 1e-3, abs=1)


@pytest.mark.parametrize("mtu", [1500, 9000])
def test_large_frames_and_ipv6_pass(bridge: Any, mtu: int) -> None:
    running = bridge(keys=f",mtu={mtu}")
    large = ("-c", "3", "-i", "0.05", "-M", "do", "-s", str(mtu - 28))
    assert len(ping_ms(running.inside(0, "ping", *large, "10.77.0.2"))) == 3
    for end, tap in enumerate(running.taps):
        namespaces.ip("-n", f"exanet-{tap}", "address", "add", f"fd00:77::{end + 1}/64", "dev", tap, "nodad")
    assert len(ping_ms(running.inside(0, "ping", "-6", "-c", "3", "-i", "0.05", "fd00:77::2"))) == 3
    running.end()
    assert (running.frames()["bytes"] == mtu + 14).sum() == 6


SEND = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
    s.bind((sys.argv[1], 0))
    s.send(bytes.fromhex(sys.argv[2]))
"""


@pytest.mark.parametrize("destination", ["026578610002", "ffffffffffff", "01005e000001"])
def test_vlan_tags_and_groups_pass(bridge: Any, tmp_path: Path, destination: str) -> None:
    """Behind the tag of VLAN 5 (IEEE 802.1Q) is a payload of no known protocol."""
    frame = bytes.fromhex(destination + "026578610001" + "81000005" + "88b5") + bytes(range(200))
    running = bridge("--capture", str(tmp_path / "all.pcap"))
    running.inside(0, sys.executable, "-c", SEND, running.taps[0], frame.hex())
    time.sleep(0.3)
    running.end()
    for tap in running.taps:
        assert [got for _, got in packets(tmp_path / f"all-{tap}.pcap")].count(frame) == 1


def packets(file: Path) -> list[tuple[float, bytes]]:
    """Those of a capture: time in ns and frame."""
    content = file.read_bytes()
    assert struct.unpack("<I", content[:4])[0] == 0xA1B23C4D
    found, at = [], 24
    while at < len(content):
        seconds, ns, length, _ = struct.unpack("<4I", content[at : at + 16])
        found.append((1e9 * seconds + ns, content[at + 16 : at + 16 + length]))
        at += 16 + length
    return found


def test_http_and_the_same_frames_at_both_ends(bridge: Any, tmp_path: Path) -> None:
    content = os.urandom(300_000)
    (tmp_path / "file").write_bytes(content)
    running = bridge("--capture", str(tmp_path / "all.pcap"))
    with running.server(1, sys.executable, "-m", "http.server", "8000", "--directory", str(tmp_path)):
        get = "import sys, urllib.request; open(sys.argv[2], 'wb').write(urllib.request.urlopen(sys.argv[1], timeout=20).read())"
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(AssertionError):
                running.inside(0, sys.executable, "-c", get, "http://10.77.0.2:8000/file", str(tmp_path / "got"))
                break
            assert time.monotonic() < deadline
    running.end()
    assert (tmp_path / "got").read_bytes() == content
    ends = [packets(tmp_path / f"all-{tap}.pcap") for tap in running.taps]
    frames = running.frames()
    assert len(frames) == len(ends[0]) == len(ends[1])
    assert sorted(frame for _, frame in ends[0]) == sorted(frame for _, frame in ends[1])
    assert sum(len(frame) for _, frame in ends[0]) > 300_000
    assert abs(ends[0][0][0] - ends[1][0][0]) < 1e6, "times of one clock"


def test_a_full_ring_drops_and_a_moderated_interface_interrupts_less(bridge: Any) -> None:
    running = bridge("--ring", "2", "--interrupts", "5 ms")
    running.inside(0, "ping", "-q", "-c", "200", "-l", "100", "-i", "0.002", "-W", "1", "-s", "1000", "10.77.0.2")
    running.end()
    counts = pl.read_parquet(running.folder / "interfaces.parquet")
    assert counts["transmit_drops"].sum() + counts["receive_drops"].sum() > 0
    assert 0 < counts["interrupts"].sum() < counts["received"].sum()


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed: apt install iperf3")
def test_iperf3_reaches_the_links_rate(bridge: Any) -> None:
    """In the network's time: datagrams of 1472 bytes in frames of 1514, and more of them than the link carries."""
    running = bridge("--slow", "2000", nodes=(0, 1))
    with running.server(1, "iperf3", "-s", "-1"):
        wait_for(lambda: ":5201" in running.inside(1, "ss", "-tln"))
        client = ("iperf3", "-c", "10.77.0.2", "-u", "-b", "5M", "-l", "1472", "-t", "4", "-J")
        found = json.loads(running.inside(0, *client))
    running.end()
    assert found["end"]["sum"]["packets"] > 1000
    full = running.frames().filter(pl.col("bytes") == 1514)
    first, last = full["taken_ps"].quantile(0.2), full["taken_ps"].quantile(0.8)
    between = full.filter(pl.col("taken_ps").is_between(first, last))
    apart_ns = (last - first) / 1e3 / (len(between) - 1)  # type: ignore[operator]
    assert apart_ns == pytest.approx(link_words(1514) * CYCLE_NS, rel=0.02)


def test_loaded_links_delay_frames(bridge: Any) -> None:
    running = bridge("--slow", "2000", "--background", "uniform,load=0.4,bytes=4KiB")
    running.inside(0, "ping", "-q", "-c", "20", "-i", "0.1", "10.77.0.2")
    found = running.end()
    echoes = running.frames().filter(pl.col("bytes") == 98)
    took = (echoes["taken_ps"] - echoes["sent_ps"]).to_numpy() / 1e3
    assert took.min() >= 0.98 * model_ns(98, 3)
    assert took.mean() > 1.02 * model_ns(98, 3)
    assert found["background"]["arrived"] > 100


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left(bridge: Any, by: int) -> None:
    running = bridge()
    running.end(by)
    links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    assert not any(tap in links for tap in running.taps)
    assert not (namespaces.RECORDS / f"exanet-{running.taps[0]}").exists()


def test_a_killed_bridge_leaves_no_interface_and_the_next_start_removes_the_rest(bridge: Any) -> None:
    running = bridge()
    names = [f"exanet-{tap}" for tap in running.taps]
    running.process.kill()
    running.process.wait()
    for name, tap in zip(names, running.taps, strict=True):
        wait_for(lambda name=name, tap=tap: tap not in subprocess.run(["ip", "-n", name, "link"], capture_output=True, text=True).stdout)
    subprocess.run([sys.executable, "-P", "-m", "exanet", "bridge", "--clean"], check=True)
    assert not any(namespaces.exists(name) for name in names)


def test_a_namespace_of_somebody_else_stays(bridge: Any, tmp_path: Path) -> None:
    tap = f"x{os.getpid() % 100000}a"
    name = f"exanet-{tap}"
    namespaces.ip("netns", "add", name)
    try:
        command = [sys.executable, "-P", "-m", "exanet", "bridge", "-m", MACHINE, f"--tap=0={tap}", "--tap=1=other", "-o", "results"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 2
        assert f"there is a network namespace {name} already" in done.stderr
        assert namespaces.exists(name)
    finally:
        namespaces.ip("netns", "delete", name)


def test_an_interface_in_another_namespace_is_a_gateway(bridge: Any, tmp_path: Path) -> None:
    """Node 7's interface is in a namespace that has another address, too, as the host's is with netns=host."""
    other, tap = f"exanet-other{os.getpid()}", f"x{os.getpid() % 100000}"
    namespaces.ip("netns", "add", other)
    try:
        namespaces.ip("-n", other, "link", "set", "lo", "up")
        namespaces.ip("-n", other, "address", "add", "10.99.0.1/32", "dev", "lo")
        running = Bridge(tmp_path, taps=(f"0={tap}a", f"7={tap}b,netns={other}"))
        try:
            namespaces.ip("-n", f"exanet-{tap}a", "route", "add", "default", "via", "10.77.0.2")
            assert len(ping_ms(running.inside(0, "ping", "-c", "3", "-i", "0.05", "10.99.0.1"))) == 3
        finally:
            running.end()
        assert namespaces.exists(other)
        assert tap not in subprocess.run(["ip", "-n", other, "link"], capture_output=True, text=True, check=True).stdout
    finally:
        namespaces.ip("netns", "delete", other)


def test_the_example_fetches_files(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/large").write_bytes(bytes(200_000))
    (tmp_path / "files/small").write_text("hello\n")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [ROOT / "examples/bridge/web.sh", tmp_path / "files", "-o", tmp_path / "results"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^large 200000 bytes [0-9.]+ ms$", done.stdout, re.MULTILINE)
    assert re.search(r"^small 6 bytes [0-9.]+ ms$", done.stdout, re.MULTILINE)
    assert pl.read_parquet(tmp_path / "results/frame_flows.parquet")["frames"].min() > 5  # type: ignore[operator]
