# SPDX-License-Identifier: Apache-2.0
"""Do UDP sockets between ranks take the time of the simulated network (`--sockets fabric`)?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, Finished, Runner
from .test_sockets_fabric import EXAMPLES, SOCKETS, one_way_ns

IP_HOST_NS = 1700
AROUND_A_FRAGMENT, BUFFER = 576, 212_992
UDP_HEADERS, TCP_HEADERS = 28, 52


@pytest.fixture(scope="session")
def udp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("sockets") / "udp"
    subprocess.run(["cc", "-O2", "-Wall", "-o", program, PROGRAMS / "udp.c"], check=True)
    return program


@pytest.fixture
def run(exanet_run: Runner, udp: Path) -> Callable[..., Finished]:
    def start(*words: object, options: tuple[str, ...] = (), code: int = 0) -> Finished:
        return exanet_run(None, 2, [udp, *map(str, words)], options=(*SOCKETS, *options), code=code, timeout=60)

    return start


@pytest.mark.parametrize("payload", [1, 1000])
def test_latency(run: Callable[..., Finished], payload: int) -> None:
    """That of a segment of TCP whose headers are 28 bytes instead of 52."""
    done = run("pingpong", payload)
    assert float(done.line("latency")[0]) == pytest.approx(one_way_ns(payload - TCP_HEADERS + UDP_HEADERS), rel=0.02)
    summary = done.summary
    assert summary["datagrams"] == summary["segments"] == 2 * 21
    assert summary["datagrams_dropped"] == 0
    assert summary["stream_bytes"] == 2 * 21 * payload


def test_a_long_datagram_goes_in_fragments(run: Callable[..., Finished]) -> None:
    """45 of 1480 bytes at most, which the processors take one by one: the sender's time, then that of the last one."""
    done = run("pingpong", 65507)
    fragments = -(-(65507 + 8) // 1480)
    last = 65507 + 8 - (fragments - 1) * 1480
    expected = (fragments - 1) * IP_HOST_NS + one_way_ns(last + 20 - TCP_HEADERS)
    assert float(done.line("latency")[0]) == pytest.approx(expected, rel=0.02)
    assert done.summary["segments"] == 2 * 21 * fragments


def test_calls(run: Callable[..., Finished]) -> None:
    """poll, select, epoll, peeking, what is cut off, several at once, names, a port where nobody is, and limits."""
    assert run("calls").output == "calls are right\n"


@pytest.mark.parametrize("size", [100, 1400])
def test_a_full_buffer_drops_and_counts(run: Callable[..., Finished], size: int) -> None:
    """It holds datagrams and what Linux has around each; one more comes in while there is any space."""
    done = run("flood", 400, size)
    holds = BUFFER // (size + AROUND_A_FRAGMENT) + 1
    assert int(done.line("got")[0]) == holds
    assert done.summary["datagrams"] == 401
    assert done.summary["datagrams_dropped"] == 400 - holds
    assert [rank["datagrams_dropped"] for rank in done.summary["ranks"]] == [400 - holds, 0]
    assert float(done.line("sent")[0]) == pytest.approx(400 * IP_HOST_NS / 1000, rel=0.02)


def test_what_a_link_loses_is_lost(run: Callable[..., Finished], tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text('events:\n  - {at: 100 us, down: "qfdb(0,0,0).F2 F1", for: 50 us}\n')
    done = run("flood", 120, 1000, options=("--faults", str(faults)))
    lost = 120 - int(done.line("got")[0])
    assert 1 <= lost <= done.summary["lost_packets"], "what was on the link; the rest waits or takes another way"
    assert done.summary["datagrams_dropped"] == 0
    assert done.summary["virtual_ps"] < 10e9, "nothing is sent again"


def test_the_same_twice(run: Callable[..., Finished]) -> None:
    def outcome() -> tuple[list[str], dict[str, object]]:
        done = run("flood", 300, 3000)
        return sorted(done.output.splitlines()), {key: value for key, value in done.summary.items() if key not in ("run", "wall_s")}

    assert outcome() == outcome()


SYMMETRIC = """
import os, socket
peer = 1 - int(os.environ["EXANET_RANK"])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
s.sendto(bytes(20000), (f"rank{peer}", 5000))
data, (host, port) = s.recvfrom(65536)
assert (len(data), host, port) == (20000, f"127.77.0.{1 + peer}", 5000)
s.sendto(b"myself", ("localhost", 5000))
assert s.recv(10) == b"myself"
s.settimeout(0.01 * (1 + peer))
try:
    s.recv(10)
except TimeoutError:
    print("nothing more", flush=True)
s.settimeout(LIMIT)
while peer == 1:
    try:
        s.recv(10)
    except (TimeoutError, BlockingIOError):
        pass
"""


@pytest.mark.parametrize("limit", ["None", "0.01", "0"])
@pytest.mark.parametrize("nodes", ["0\n1\n", "0\n0\n"])
def test_two_that_send_to_each_other(exanet_run: Runner, tmp_path: Path, nodes: str, limit: str) -> None:
    """A limit of time ends a wait, also when the other rank has ended. Rank 0 then goes on for ever, and is ended."""
    mapping = tmp_path / "map"
    mapping.write_text(nodes)
    program = SYMMETRIC.replace("LIMIT", limit)
    options = ("--compute", "off", "--map", str(mapping), "--sockets", "fabric", "--mpi", "none")
    assert exanet_run(None, 2, [sys.executable, "-c", program], options=options, timeout=30).output == 2 * "nothing more\n"


def test_clocks_by_asyncio(exanet_run: Runner) -> None:
    """docs/sockets.md shows what this prints. A question has 48 bytes, and its way back is as long."""
    options = (*SOCKETS, "--mpi", "none")
    done = exanet_run(None, 3, [sys.executable, EXAMPLES / "sockets/clock.py"], options=options, timeout=60)
    found = re.findall(r"rank \d: ([0-9.]+) us there and back, (-?[0-9.]+) us apart", done.output)
    assert len(found) == 2
    there_and_back = 2 * one_way_ns(48 - TCP_HEADERS + UDP_HEADERS) / 1000
    for delay, apart in found:
        assert float(delay) == pytest.approx(there_and_back, rel=0.15), "and a look of each host"
        assert abs(float(apart)) < 0.5


@pytest.fixture
def iperf3(exanet_run: Runner, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed: apt install iperf3")

    def measure(*options: str, machine: str | Path = "exanest") -> dict[str, Any]:
        script, report = tmp_path / "iperf.sh", tmp_path / "report.json"
        client = f"iperf3 -c rank0 -J --logfile {report} {' '.join(options)}"
        report.unlink(missing_ok=True)
        script.write_text(f"#!/bin/sh\ncase $EXANET_RANK in\n0) exec iperf3 -s -1 ;;\n*) exec {client} ;;\nesac\n")
        script.chmod(0o755)
        exanet_run(None, 2, [script], machine=str(machine), options=SOCKETS, timeout=120)
        found: dict[str, Any] = json.loads(report.read_text())
        return found

    return measure


def test_iperf3_at_a_given_rate(iperf3: Callable[..., dict[str, Any]]) -> None:
    """It looks every 50 us whether it is behind, of 16 ms in all."""
    end = iperf3("-u", "-b", "1G", "-n", "2M", "-l", "1400", "--pacing-timer", "50")["end"]["sum"]
    assert end["bits_per_second"] == pytest.approx(1e9, rel=0.02)
    assert end["lost_packets"] == 0


def test_iperf3_as_fast_as_it_can(iperf3: Callable[..., dict[str, Any]]) -> None:
    """The processor takes 1.7 us for a datagram, and so does the receiver's: what is behind it waits in the buffer."""
    end = iperf3("-u", "-b", "0", "-n", "1M", "-l", "1400")["end"]["sum"]
    assert end["bits_per_second"] == pytest.approx(1400 * 8 / 1.7e-6, rel=0.02)


@pytest.mark.parametrize(
    ("words", "bytes_of_host", "segments"),
    [
        (("-n", "20M"), 8 * 8948, 9),
        (("-n", "20M", "-l", "64K"), 65536, 9),
        (("-u", "-b", "0", "-l", "8900", "-n", "20M"), 8900, 1),
    ],
)
def test_iperf3_over_100_gbps(iperf3: Callable[..., dict[str, Any]], words: tuple[str, ...], bytes_of_host: int, segments: int) -> None:
    """At least 80 % of the link but for writes of 64 KiB: docs/sockets.md has the same figures."""
    end = iperf3(*words, machine=EXAMPLES / "machines/bxi-100-ip.yaml")["end"]
    received = end.get("sum_received") or end["sum"]
    assert received["bits_per_second"] == pytest.approx(8e9 * bytes_of_host / (segments * 745), rel=0.02)
