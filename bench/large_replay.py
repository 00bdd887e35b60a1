# SPDX-License-Identifier: Apache-2.0
"""Replays a long trace of many ranks, packet by packet: messages a second of processor time, and the memory that it
took.

usage: python bench/large_replay.py [--ranks 16384] [--messages 100000000] [--size BYTES] [--folder FOLDER]

The trace is written, not recorded: rounds of a halo of persistent messages to four neighbours on a periodic square, as
it is, or with --pattern pingpong of messages to and fro between halves. The machine is a torus with a node a rank. Not
a part of `make bench`: as large as by default writing takes some minutes, the replay much longer, and the trace 1 GB in
FOLDER.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from exanet import replay
from exanet.trace import folder
from exanet.trace.write import Stream

MACHINE = """extends: torus-512
name: torus-large
description: A torus with a node a rank.
topology:
  shape: {{value: [{shape}], source: as many nodes as ranks, kind: chosen}}
"""


def halo(stream: Stream, rank: int, side: int, ranks: int, rounds: int, size: int) -> int:
    """Returns how many messages the rank sends."""
    x, y = rank % side, rank // side
    height = ranks // side
    to = [y * side + (x + 1) % side, y * side + (x - 1) % side, (y + 1) % height * side + x, (y - 1) % height * side + x]
    for number, source in enumerate((to[1], to[0], to[3], to[2])):
        stream.message("Recv_init", source, size, tag=number, request=number + 1)
    for number, target in enumerate(to):
        stream.message("Send_init", target, size, tag=number, request=number + 5)
    since = stream.position
    stream.call("Startall", *range(1, 9))
    stream.wait(*range(1, 9))
    stream.again(since, rounds - 1)
    return 4 * rounds


def pingpong(stream: Stream, rank: int, ranks: int, rounds: int, size: int) -> int:
    """Returns how many messages the rank sends."""
    peer = (rank + ranks // 2) % ranks
    since = stream.position
    for name in ("Send", "Recv") if rank < peer else ("Recv", "Send"):
        stream.message(name, peer, size)
    stream.again(since, rounds - 1)
    return rounds


def write(directory: Path, pattern: str, side: int, ranks: int, messages: int, size: int) -> int:
    """The trace. Returns how many messages it has."""
    folder.prepare(directory, "--folder")
    sent = 0
    for rank in range(ranks):
        stream = Stream(directory, rank, ranks)
        if pattern == "halo":
            sent += halo(stream, rank, side, ranks, max(1, -(-messages // (4 * ranks))), size)
        else:
            sent += pingpong(stream, rank, ranks, max(1, -(-messages // ranks)), size)
        stream.end()
        stream.close()
    folder.finish(directory, ranks, {"program": [f"{pattern} of {size} B"]}, option="--folder")
    return sent


def shape(ranks: int) -> tuple[int, str]:
    """The side of the square, and three dimensions of the torus, of a power of two of ranks."""
    power = ranks.bit_length() - 1
    if ranks != 1 << power or power < 6:
        raise SystemExit(f"error: --ranks {ranks}: give a power of two, from 64 on")
    return 1 << (power + 1) // 2, ", ".join(str(1 << (power + more) // 3) for more in range(3))


def peak_mib() -> float:
    """The most memory that this process has had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description="replay a long trace of many ranks")
    parser.add_argument("--ranks", type=int, default=16384)
    parser.add_argument("--messages", type=float, default=1e8, help="at least so many in all (default: 1e8)")
    parser.add_argument("--size", type=int, default=8, help="bytes of each (default: 8)")
    parser.add_argument("--pattern", choices=("halo", "pingpong"), default="halo")
    parser.add_argument("--folder", type=Path, help="where the trace is left; one that is there is taken as it is")
    arguments = parser.parse_args()
    side, dimensions = shape(arguments.ranks)
    with tempfile.TemporaryDirectory() as place:
        trace = arguments.folder or Path(place) / "trace"
        if not (trace / "trace.json").exists():
            began = time.monotonic()
            sent = write(trace, arguments.pattern, side, arguments.ranks, int(arguments.messages), arguments.size)
            print(
                f"written: {sent:,} messages of {arguments.ranks} ranks, {time.monotonic() - began:.0f} s, {peak_mib():,.0f} MiB at most",
                flush=True,
            )
            # In a process of its own, for its memory alone.
            return subprocess.call([sys.executable, __file__, *sys.argv[1:], "--folder", str(trace)])
        machine = Path(place) / "torus-large.yaml"
        machine.write_text(MACHINE.format(shape=dimensions))
        options = replay.Options((trace,), str(machine), mapping="round-robin")
        summary = replay.replay(options)[0]["summary"]
        print(f"replayed: {summary['messages']:,} messages in {summary['virtual_ps'] * 1e-9:,.3f} ms of virtual time")
        rate = summary["messages"] / summary["cpu_s"]
        print(f"{summary['cpu_s']:,.0f} s of processor time: {rate:,.0f} messages/s, {peak_mib():,.0f} MiB at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
