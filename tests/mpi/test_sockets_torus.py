# SPDX-License-Identifier: Apache-2.0
"""Are latency and rate of sockets across tori what the model's constants say, by arithmetic, without other traffic?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import PROGRAMS, Finished, Runner
from .test_sockets_fabric import EXAMPLES, one_way_ns
from .test_sockets_udp import IP_HOST_NS, TCP_HEADERS, UDP_HEADERS

CLOCK_NS = 6.4


@dataclass(frozen=True)
class Way:
    machine: str
    nodes: tuple[int, int]
    hops: int
    latency_ns: float  # of a link
    a_pause_in: int | None  # words on a link

    def ns(self, payload: float) -> float:
        """Of a segment of TCP: to a neighbour, and what each further hop adds (docs/calibration.md)."""
        further = (4 + 1 + 4 + 1 + 1) * CLOCK_NS + self.latency_ns
        pauses = 1.0 if self.a_pause_in is None else 1 + 1 / self.a_pause_in
        return one_way_ns(payload, self.latency_ns, pauses) + (self.hops - 1) * further

    def connect_ns(self) -> float:
        """A round trip, and the segment behind it."""
        return 2 * self.ns(0) + IP_HOST_NS


WAYS = [
    Way("torus-2x2x2", (0, 1), hops=1, latency_ns=243.2, a_pause_in=None),
    Way("torus-512", (0, 4 + 4 * 8 + 4 * 64), hops=12, latency_ns=242.1, a_pause_in=32),
]
BY_MACHINE = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.machine)


@pytest.fixture
def run(exanet_run: Runner, tmp_path: Path) -> Callable[..., Finished]:
    def start(way: Way, command: list[object], *more: str) -> Finished:
        mapping = tmp_path / "map"
        mapping.write_text("".join(f"{node}\n" for node in way.nodes))
        options = ("--compute", "off", "--map", str(mapping), "--sockets", "fabric", *more)
        return exanet_run(None, 2, command, machine=way.machine, options=options, timeout=60)

    return start


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name in ("tcp", "udp"):
        subprocess.run(["cc", "-O2", "-Wall", "-o", folder / name, PROGRAMS / f"{name}.c"], check=True)
    return folder


@BY_MACHINE
def test_a_datagram_and_its_echo(run: Callable[..., Finished], programs: Path, way: Way) -> None:
    found = float(run(way, [programs / "udp", "pingpong", "1000"]).line("latency")[0])
    assert found == pytest.approx(way.ns(1000 - TCP_HEADERS + UDP_HEADERS), rel=0.02)


ECHO = """
import os, socket, struct, time
if os.environ["EXANET_RANK"] == "0":
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()  # virtual time begins
    time.sleep(0.001)
    raise SystemExit
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as s:
    s.settimeout(1)
    took = []
    for number in range(5):
        start = time.monotonic()
        s.sendto(struct.pack("!BBHHH", 8, 0, 0, 0, number) + bytes(range(56)), ("rank0", 0))
        data, (host, _) = s.recvfrom(1000)
        took.append(time.monotonic() - start)
        assert host == "127.77.0.1" and data[0] == 0 and data[6:8] == number.to_bytes(2, "big") and data[8:] == bytes(range(56))
        words = struct.unpack("!32H", data)
        assert (sum(words) & 0xffff) + (sum(words) >> 16) == 0xffff
print(f"echo {1e9 * min(took):.1f} ns")
"""


def echo_ns(way: Way) -> float:
    """Of 56 bytes behind ICMP's header, as ping's: both ways, of which each costs two hosts."""
    return 2 * way.ns(20 + 8 + 56 - TCP_HEADERS)


@BY_MACHINE
def test_an_echo(run: Callable[..., Finished], way: Way) -> None:
    assert float(run(way, [sys.executable, "-c", ECHO], "--mpi", "none").line("echo")[0]) == pytest.approx(echo_ns(way), rel=0.02)


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed: apt install iputils-ping")
@BY_MACHINE
def test_ping(run: Callable[..., Finished], tmp_path: Path, way: Way) -> None:
    """It reads its clock in whole microseconds, and its host's calls take no time."""
    script = tmp_path / "ping.sh"
    script.write_text("#!/bin/sh\ncase $EXANET_RANK in\n0) exec python3 -m http.server 8000 ;;\n*) exec ping -c 5 -i 0.01 rank0 ;;\nesac\n")
    script.chmod(0o755)
    output = run(way, [script]).output
    assert "5 packets transmitted, 5 received, 0% packet loss" in output
    times = [float(ms) for ms in re.findall(r"icmp_seq=\d ttl=\d+ time=([0-9.]+) ms", output)]
    assert len(times) == 5
    assert min(times) * 1e6 == pytest.approx(echo_ns(way), abs=1000 + 0.02 * echo_ns(way))


@BY_MACHINE
def test_a_request_and_its_response(run: Callable[..., Finished], programs: Path, way: Way) -> None:
    done = run(way, [programs / "tcp", "pingpong", "1000"])
    assert float(done.line("latency")[0]) == pytest.approx(way.ns(1000), rel=0.02)
    assert float(done.line("connect")[0]) == pytest.approx(way.connect_ns(), rel=0.02)


@BY_MACHINE
def test_http(run: Callable[..., Finished], tmp_path: Path, way: Way) -> None:
    """A connection, a request, and a response: its header, bytes that the server writes 64 KiB at a time, and the end.
    The client reports what it has read once in 64 KiB. All but the first segment wait for the hosts' processors."""
    folder = tmp_path / "files"
    folder.mkdir()
    sizes = {"large": 1_000_000, "small": 6}
    for name, size in sizes.items():
        (folder / name).write_bytes(bytes(size))
    done = run(way, [EXAMPLES / "sockets/web.sh", folder])
    request, header = 120, 190  # bytes, about
    for name, size in sizes.items():
        whole, rest = divmod(size, 65536)
        segments = whole * -(-65536 // 1448) + -(-rest // 1448)
        behind = (segments + whole + 1) * IP_HOST_NS
        expected = way.connect_ns() + way.ns(request) + way.ns(header) + behind
        assert 1000 * float(done.line(name)[2]) == pytest.approx(expected, rel=0.02), name


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed: apt install iperf3")
@BY_MACHINE
def test_iperf3(run: Callable[..., Finished], tmp_path: Path, way: Way) -> None:
    """Segments of 1448 bytes that take a processor 1.7 us each, and a report for every 46 of them."""
    script, report = tmp_path / "iperf.sh", tmp_path / "report.json"
    script.write_text(
        f"#!/bin/sh\ncase $EXANET_RANK in\n0) exec iperf3 -s -1 ;;\n*) exec iperf3 -c rank0 -J --logfile {report} -n 4M ;;\nesac\n"
    )
    script.chmod(0o755)
    run(way, [script])
    found = json.loads(report.read_text())["end"]["sum_received"]["bits_per_second"]
    assert found == pytest.approx(8e9 * 1448 / IP_HOST_NS * 46 / 47, rel=0.02)
