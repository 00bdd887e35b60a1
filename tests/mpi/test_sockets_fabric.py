# SPDX-License-Identifier: Apache-2.0
"""Do TCP sockets between ranks take the time of the simulated network (`--sockets fabric`)?"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exanet.errors import InputError
from exanet.run import options as asked
from exanet.run import program

from .conftest import PROGRAMS, Finished, Runner, Stack

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SOCKETS = ("--compute", "off", "--map", "round-robin", "--sockets", "fabric")
QUICK_HOST = """\
extends: torus-2x2x2
name: quick-host
description: A ring with hosts that are quicker than its links
topology:
  shape: {value: [8], source: test, kind: chosen}
ni:
  ip_mtu: {value: 9000 B, source: test, kind: chosen}
  ip_send: {value: 100 ns, source: test, kind: chosen}
  ip_receive: {value: 100 ns, source: test, kind: chosen}
"""


@pytest.fixture(scope="session")
def tcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("sockets") / "tcp"
    subprocess.run(["cc", "-O2", "-Wall", "-o", program, PROGRAMS / "tcp.c"], check=True)
    return program


@pytest.fixture
def run(exanet_run: Runner, tcp: Path) -> Callable[..., Finished]:
    def start(*words: object, ranks: int = 2, machine: str | Path = "exanest", code: int = 0) -> Finished:
        return exanet_run(None, ranks, [tcp, *map(str, words)], machine=str(machine), options=SOCKETS, code=code, timeout=60)

    return start


@pytest.fixture
def quick_host(tmp_path: Path) -> Path:
    file = tmp_path / "quick-host.yaml"
    file.write_text(QUICK_HOST)
    return file


def one_way_ns(payload: float, latency_ns: float = 242.1, pauses: float = 33 / 32) -> float:
    """Of a segment to a neighbour, on exanest or a machine like it: both hosts, the interface (dma_start, translation,
    memory_read, memory_write, dma_completion), two routers of 4 cycles, the link, and what of its packets the link
    carries behind the first word."""
    frame, ns = payload + 52 + 18, 2 * 1700 + 300 + 40 + 150 + 100 + 100 + 2 * 4 * 6.4 + latency_ns
    while frame > 0:
        words = 2 + -(-min(frame, 256) // 16)
        ns += (2 * words + 2) * 6.4 * pauses if frame > 256 or payload > 256 else 0
        frame -= 256
    return ns


@pytest.mark.parametrize("payload", [1, 1000])
def test_latency(run: Callable[..., Finished], payload: int) -> None:
    done = run("pingpong", payload)
    assert float(done.line("latency")[0]) == pytest.approx(one_way_ns(payload), rel=0.02)
    assert float(done.line("connect")[0]) == pytest.approx(2 * one_way_ns(0) + 1700, rel=0.02), "and the segment behind the round trip"
    summary = done.summary
    assert summary["segments"] == 2 * 21 + 3, "both ways, the one that opens the stream, and two ends"
    assert summary["stream_bytes"] == 2 * 21 * payload
    assert [rank["stream_bytes_sent"] for rank in summary["ranks"]] == [21 * payload] * 2
    assert summary["run"]["sockets"] == "fabric"


def rate(done: Finished) -> float:
    return float(done.line("rate")[0])


def test_rate_is_what_hosts_reach(run: Callable[..., Finished]) -> None:
    """Published: 80 Gb/s over links of 100 Gb/s. Segments of 1500 B in 1.7 us each, and reports of every 64 KiB."""
    assert rate(run("bulk", 20_000_000, 1, machine=EXAMPLES / "machines/bxi-100-ip.yaml")) == pytest.approx(80, rel=0.02)
    assert rate(run("bulk", 2_000_000, 1)) == pytest.approx(8 * 1448 / 1.7e3 * 46 / 47, rel=0.03)


def test_a_small_buffer_bounds_what_is_under_way(run: Callable[..., Finished]) -> None:
    """Eight segments, which take a sender 13.6 us, and then a report of what has been read: 7 us until it is there."""
    assert rate(run("bulk", 200_000, 1, 8 * 1448)) == pytest.approx(8 * 8 * 1.448 / 20.6, rel=0.1)


def test_streams_share_what_they_have_in_common(run: Callable[..., Finished], quick_host: Path) -> None:
    """One has the link, 8.3 Gb/s of which are payload; two from one side of the ring share it."""
    alone = rate(run("bulk", 2_000_000, 1, machine=quick_host))
    assert alone == pytest.approx(8.3, rel=0.02)
    assert rate(run("bulk", 2_000_000, 2, ranks=3, machine=quick_host)) == pytest.approx(alone, rel=0.02)


def test_a_stream_and_a_message_slow_each_other(exanet_run: Runner, mpich: Stack, quick_host: Path) -> None:
    command = [mpich.python, PROGRAMS / "beside_sockets.py"]
    done = exanet_run(mpich, 8, command, machine=str(quick_host), options=SOCKETS, timeout=120)
    for what in ("stream", "message"):
        alone, beside = map(float, done.line(what))
        assert 1.7 < beside / alone < 2.1, what


def test_calls(run: Callable[..., Finished]) -> None:
    """poll, select, epoll, connect without waiting, nobody who listens, small writes, a stream closed in halves."""
    assert run("calls").output == "calls are right\n"


@pytest.mark.parametrize("compute", ["off", "measured"])
def test_who_only_asks_gets_on(exanet_run: Runner, tcp: Path, compute: str) -> None:
    """A look costs 100 ns on exanest, or what the host's processor took."""
    done = exanet_run(None, 2, [tcp, "asks"], options=(*SOCKETS, "--compute", compute), timeout=60)
    looks = int(done.line("looks")[0])
    assert looks == pytest.approx(2000, rel=0.1) if compute == "off" else looks > 0


def test_the_same_twice(run: Callable[..., Finished]) -> None:
    def outcome() -> tuple[str, dict[str, object]]:
        done = run("bulk", 1_000_000, 3, ranks=4)
        return done.output, {key: value for key, value in done.summary.items() if key not in ("run", "wall_s")}

    assert outcome() == outcome()


def test_a_server_that_ends_is_seen(run: Callable[..., Finished]) -> None:
    end, after = re.search(r"end (-?\d+) after ([0-9.]+) ms", run("leaves").output).groups()  # type: ignore[union-attr]
    assert int(end) == 0
    assert float(after) < 1


def test_a_deadlock_is_reported(run: Callable[..., Finished]) -> None:
    assert "deadlock: every rank waits and no message is under way" in run("both-read", code=1).errors


def test_a_killed_server_ends_the_run(exanet_run: Runner) -> None:
    code = (
        "import os, signal, socket, time\n"
        "if os.environ['EXANET_RANK'] == '0':\n"
        "    client, _ = socket.create_server(('', 7001)).accept(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "s = socket.socket(); time.sleep(0.001); s.connect(('rank0', 7001)); s.recv(10)\n"
    )
    done = exanet_run(None, 2, [sys.executable, "-c", code], options=(*SOCKETS, "--mpi", "none"), code=None, timeout=60)
    assert done.code == 137
    assert re.search(r"rank 0 \(pid \d+\) was killed by SIGKILL", done.errors)


def test_a_child_is_refused(exanet_run: Runner) -> None:
    code = (
        "import os, socket, time\n"
        "if os.environ['EXANET_RANK'] == '0':\n"
        "    client, _ = socket.create_server(('', 7001)).accept()\n"
        "    if os.fork() == 0: client.send(b'x')\n"
        "    os.wait(); raise SystemExit\n"
        "s = socket.socket(); time.sleep(0.001); s.connect(('rank0', 7001)); print(s.recv(10))\n"
    )
    done = exanet_run(None, 2, [sys.executable, "-c", code], options=(*SOCKETS, "--mpi", "none"), timeout=60)
    assert "a child of a rank uses a socket of the simulated network" in done.errors
    assert done.output == "b''\n"


def test_what_a_link_loses_goes_again(exanet_run: Runner, tcp: Path, tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text('events:\n  - {at: 1500 us, down: "qfdb(0,0,0).F2 F1", for: 100 us}\n')
    done = exanet_run(None, 2, [tcp, "bulk", "4000000", "1"], options=(*SOCKETS, "--faults", str(faults)), timeout=60)
    assert done.summary["virtual_ps"] > 200e9, "the timer of the sender"
    assert done.summary["lost_packets"] > 0


def test_threads_of_a_rank(exanet_run: Runner) -> None:
    """Four in each rank, whose first sockets come at once."""
    code = (
        "import os, socket, threading\n"
        "def serve(c):\n"
        "    while data := c.recv(100): c.sendall(data)\n"
        "def ask():\n"
        "    with socket.create_connection(('rank0', 7001)) as s:\n"
        "        for _ in range(20): s.sendall(b'x'); assert s.recv(10) == b'x'\n"
        "    print('answered', flush=True)\n"
        "if os.environ['EXANET_RANK'] == '0':\n"
        "    listener = socket.create_server(('', 7001))\n"
        "    for _ in range(4): threading.Thread(target=serve, args=(listener.accept()[0],)).start()\n"
        "else:\n"
        "    for _ in range(4): threading.Thread(target=ask).start()\n"
    )
    done = exanet_run(None, 2, [sys.executable, "-c", code], options=(*SOCKETS, "--mpi", "none"), timeout=60)
    assert done.output == 4 * "answered\n"


def test_a_web_server_on_a_torus(exanet_run: Runner, tmp_path: Path) -> None:
    """docs/sockets.md shows what this prints; the server is ended when its client has."""
    page = (ROOT / "docs/sockets.md").read_text()
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "large").write_bytes(bytes(1_000_000))
    (folder / "small").write_bytes(b"hello\n")
    done = exanet_run(None, 2, [EXAMPLES / "sockets/web.sh", folder], machine="torus-2x2x2", options=SOCKETS, timeout=60)
    for name in ("large", "small"):
        *_, shown, _ = re.search(rf"^{name} .*$", page, re.MULTILINE)[0].split()  # type: ignore[index]
        assert float(done.line(name)[2]) == pytest.approx(float(shown), rel=0.03), name
    assert "GET /small" in done.errors


def test_a_store_by_asyncio(exanet_run: Runner) -> None:
    options = (*SOCKETS, "--mpi", "none")
    outputs = {exanet_run(None, 4, [sys.executable, EXAMPLES / "sockets/store.py", "4"], options=options).output for _ in range(2)}
    assert len(outputs) == 1
    text = outputs.pop()
    assert "60 keys" in text
    assert all(8 < float(us) < 30 for us in re.findall(r"rank \d: ([0-9.]+) us", text))


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed: apt install iperf3")
def test_iperf3(exanet_run: Runner, tmp_path: Path) -> None:
    script = tmp_path / "iperf.sh"
    script.write_text("#!/bin/sh\ncase $EXANET_RANK in\n0) exec iperf3 -s -1 ;;\n*) exec iperf3 -c rank0 -n 4M -J ;;\nesac\n")
    script.chmod(0o755)
    done = exanet_run(None, 2, [script], options=SOCKETS, timeout=60)
    received = re.search(r'"sum_received":\s*{[^}]*"bits_per_second":\s*([0-9.e+]+)', done.output)
    assert received is not None
    assert float(received[1]) == pytest.approx(6.6e9, rel=0.1)


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="Redis is not installed: apt install redis-server")
def test_redis(exanet_run: Runner, tmp_path: Path) -> None:
    """Which handles SIGTERM when its clients have ended. A request takes the server two segments, 3.4 us."""
    script = tmp_path / "redis.sh"
    script.write_text(
        "#!/bin/sh\ncase $EXANET_RANK in\n"
        '0) exec redis-server --save "" --protected-mode no ;;\n'
        "*) exec redis-benchmark -h rank0 -c 4 -n 500 -t set --csv ;;\nesac\n"
    )
    script.chmod(0o755)
    done = exanet_run(None, 2, [script], options=SOCKETS, timeout=60)
    assert "Redis is now ready to exit" in done.output
    assert '"SET"' in done.output
    assert done.summary["segments"] > 2 * 500


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--ranks-as packed", {"ranks_as": "packed"}),
        ("--mpi-calls simulated", {"mpi_calls": "simulated"}),
        ("--record", {"record": Path("trace")}),
        ("--timeline", {"timeline": True}),
        ("--sockets fabrics", {"sockets": "fabrics"}),
    ],
)
def test_what_does_not_go_together(option: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        program.run(asked.Options("exanest", 2, ("true",), **{"sockets": "fabric", **given}))
    assert len(error.value.messages) == 1
    assert option in error.value.messages[0]
