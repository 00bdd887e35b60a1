# SPDX-License-Identifier: Apache-2.0
"""Damages files of traces of every format, and reads them: is each refused by one message, or read?

usage: python tools/fuzz_traces.py [--seconds 60] [--first 0] [--count N] [--formats
streams,text,goal,goal-binary,about]

There is also the format otf2, which is not among those by default: its library may take long over a damaged archive.
With it what is read is written as an archive and read again, too.

A case's number is the seed of everything about it: the same number is the same case. What is read is used as a trace
is: its calls, its statistics, a part of it, itself twice, other formats, a short replay. A case fails when something
else than InputError comes out, when the process dies, or when it takes more than a minute of processor time; each is
reported with its number, and the exit status is then 1. The streams under AddressSanitizer: `EXANET_FUZZ_SECONDS=60
build/sanitized/core_tests -tc="fuzz:*"`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from exanet import replay
from exanet.errors import InputError
from exanet.trace import convert, folder, formats, parts, statistics
from exanet.trace.write import Writer, number

# What the trace is first made into.
CONVERTED = {name: f"trace{each.suffix}" for name, each in formats.formats().items() if each.read and each.write}
RANKS = 4
LIMIT_S = 60
AT_ONCE = 2000  # cases of a process
MOST_BYTES, MOST_CALLS = 50_000, 2000  # of what is replayed
# what the process that runs cases leaves in a file: the case under way, how many were refused, and read
_PROGRESS = struct.Struct("<QQQ")


def program(directory: Path) -> Path:
    """Calls of most forms, which all ranks can go through."""
    with Writer(directory, RANKS, {"program": ["fuzz"]}) as streams:
        for rank, stream in enumerate(streams):
            after, before = (rank + 1) % RANKS, (rank - 1) % RANKS
            stream.call("Comm_dup", 1, 3, 2, 0, 0)
            stream.call("Comm_split", 1, 4, 0, 2, rank % 2, rank % 2 + 2, 0)
            stream.call("Recv_init", 1, before + 2, 6, 40, 7)
            stream.call("Send_init", 1, after + 2, 6, 40, 8)
            stream.call("Startall", 7, 8)
            stream.wait(7, 8)
            for name in ("Barrier", "Bcast", "Allgather", "Alltoall", "Allreduce", "Reduce", "Scan"):
                stream.collective(name, 64, 64, element=8)
            stream.call("Alltoallv", 3, 0, 0, 3, 1, 0, 0, 4, 8, 8, 8, 8, 4, 8, 8, 8, 8)
            stream.call("Ibcast", 4, 1, 5, 3, 8, 64, 64, 0, 0)
            stream.wait(5)
            stream.message("Irecv", before, 700, request=1)
            stream.message("Isend", after, 700, request=2, compute_ps=1000)
            stream.wait(1, 2)
            stream.call("Sendrecv", 1, after + 2, 6, 8, before + 2, 6, 8)
            stream.call("Iprobe", 1, 1, 0, 0)
            around = (2, before + 2, 0, 2, 8, 8), (2, after + 2, 0, 2, 8, 8)
            stream.call("Neighbor_alltoallv", 1, 0, *around[0], *around[1])
            stream.call("Ineighbor_allgather", 1, 3, *around[0], *around[1])
            stream.wait(3)
            stream.call("Win_allocate", 1, 1, 4096)
            stream.call("Win_fence", 1, 0, 0, 0)
            stream.call("Put", 1, after + 2, 0, 1, 700, 0)
            stream.call("Rget", 1, after + 2, 4, 1, 0, 64)
            stream.wait(4)
            stream.call("Win_fence", 1, 0, 0, 0)
            stream.call("Win_lock", 1, after + 2, 1, 0)
            stream.call("Get_accumulate", 1, after + 2, 0, 1, 8, 8)
            stream.call("Win_unlock", 1, after + 2, 0, 0)
            stream.call("Win_lock_all", 1, 0, 2, 0)
            stream.call("Rput", 1, after + 2, 4, 0, 64, 0)
            stream.call("Win_flush", 1, after + 2, 0, 0)
            stream.call("Win_flush_all", 1, 0, 0, 0)
            stream.wait(4)
            stream.call("Win_unlock_all", 1, 0, 0, 0)
            stream.call("Win_post", 1, 0, 0, 1, before)
            stream.call("Win_start", 1, 0, 0, 1, after)
            stream.call("Win_complete", 1, 0, 0, 0)
            stream.call("Win_wait", 1, 0, 0, 0)
            stream.call("Win_free", 1, 0, 0, 0)
            stream.collective("Barrier", 0)
            stream.end()
    return directory


class Cases:
    """Whole files to start from, made once; and a case of them by its number."""

    def __init__(self, place: Path, formats: list[str]) -> None:
        self.place, self.formats = place, formats
        trace = program(place / "trace")
        self.whole: dict[str, dict[str, bytes]] = {}
        for name in formats:
            source = trace
            if name in CONVERTED:
                source = place / CONVERTED[name]
                convert.convert(trace, source, {})
            files = [file for file in sorted(source.rglob("*")) if file.is_file()] if source.is_dir() else [source]
            self.whole[name] = {str(file.relative_to(source.parent)): file.read_bytes() for file in files}

    def run(self, case: int) -> bool:
        """Whether the case becomes a trace; False where it is refused. Raises whatever else comes out, then or when
        the trace is used."""
        draw = random.Random(case)
        name = draw.choice(self.formats)
        with tempfile.TemporaryDirectory(dir=self.place) as kept:
            here = Path(kept)
            self._write(name, here, draw)
            read = False
            try:
                trace, place = self._read(name, here)
                read = True
                use(trace, place, here, archives="otf2" in self.formats)
            except InputError as refusal:
                for message in refusal.messages:
                    assert message and "\n" not in message, message
            return read

    def _write(self, name: str, here: Path, draw: random.Random) -> None:
        files = self.whole[name]
        suspects = [file for file in files if not (name == "streams" and not file.endswith(".calls")) and not file.endswith(".parquet")]
        if name == "about":
            suspects = ["trace/trace.json"]
        chosen = draw.sample(suspects, min(len(suspects), draw.choice((1, 1, 2))))
        for file, content in files.items():
            (here / file).parent.mkdir(parents=True, exist_ok=True)
            (here / file).write_bytes(damaged(content, draw, NUMBERS.get(name, text_number)) if file in chosen else content)
        if name == "streams" and draw.random() < 0.8:  # else the description is as before
            (here / "trace" / "trace.json").unlink()
            (here / "trace" / "calls.parquet").unlink(missing_ok=True)

    def _read(self, name: str, here: Path) -> tuple[folder.Trace, Path]:
        place = here / "trace"
        if name in CONVERTED:
            place = here / "read"
            convert.convert(here / CONVERTED[name], place, {})
        elif name == "streams" and not (place / "trace.json").exists():
            folder.finish(place, RANKS, {})
        return folder.load(place), place


def text_number(value: int) -> bytes:
    return str(value).encode()


def word(value: int) -> bytes:
    return (value % (1 << 32)).to_bytes(4, "little")


NUMBERS = {"streams": number, "otf2": number, "goal-binary": word}


def damaged(content: bytes, draw: random.Random, written: Callable[[int], bytes]) -> bytes:
    """A few changes of bytes; of text also of its numbers and lines. Numbers are put between, but where all have one
    length in place."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(6)
        if kind == 0:
            data[at : at + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            del data[at : at + draw.randrange(1, 20)]
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            value = draw.getrandbits(draw.randrange(1, 70))
            data[at : at + (4 if written is word else 0)] = written(value)
        elif kind == 4:
            source = draw.randrange(len(data) + 1)
            data[at:at] = data[source : source + draw.randrange(1, 60)]
        else:
            data[at : at + 1] = draw.choice((b"\0", b"\xff", b"1", b"-", b"\n", b" ", b"=any", b"\x80\x80", b"\xe9", b"[", b'"', b"rank 0"))
        if not data:
            data += b"\0"
    return bytes(data)


def use(trace: folder.Trace, place: Path, here: Path, *, archives: bool) -> None:
    """What commands do with a trace. Raises InputError where one of them refuses it, when all have been tried."""
    last: InputError | None = None
    tried: list[Callable[[], object]] = [
        lambda: statistics.statistics(trace),
        *(partial(convert.convert, place, here / f"out{each.suffix}", {}) for each in formats.written() if each.name != "OTF2"),
        lambda: parts.cut(place, here / "part", after=1, until=3),
        lambda: parts.merge([place, place], here / "twice"),
        lambda: short_replay(trace, place),
    ]
    if archives:
        tried += [lambda: convert.convert(place, here / "out.otf2", {}), lambda: convert.convert(here / "out.otf2", here / "back", {})]
    for attempt in tried:
        try:
            attempt()
        except InputError as refusal:
            last = refusal
    try:
        if last is not None:
            raise last
    finally:
        # else it keeps this frame, and this frame keeps it: what the calls below held would live until the next
        # collection
        last = None


def short_replay(trace: folder.Trace, place: Path) -> None:
    """A replay of what does not take long."""
    calls = trace.calls()
    total = sum(int(calls[column].clip(0, 1 << 30).sum()) for column in ("bytes", "receive_bytes"))
    if total <= MOST_BYTES and len(calls) <= MOST_CALLS:
        replay.replay(replay.Options((place,), "torus-2x2x2"))


# -- processes ---------------------------------------------------------------------------------------------------------


def batch(cases: Cases, first: int, count: int, until: float, progress: Path) -> int:
    """Runs cases, and says in the file where it is; 1 where one failed."""
    refused = read = 0
    with progress.open("r+b", buffering=0) as shared:
        for case in range(first, first + count):
            os.pwrite(shared.fileno(), _PROGRESS.pack(case, refused, read), 0)
            signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
            try:
                if cases.run(case):
                    read += 1
                else:
                    refused += 1
            except Exception:
                sys.stderr.write(f"case {case} failed:\n{traceback.format_exc()}")
                return 1
            if time.monotonic() > until:
                break
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.pwrite(shared.fileno(), _PROGRESS.pack(case + 1, refused, read), 0)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="read damaged traces")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 62)
    parser.add_argument("--formats", default="streams,text,goal,goal-binary,about")
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)  # of a process that runs a part of the cases
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="exanet-fuzz-") as kept:
        if arguments.progress:
            cases = Cases(Path(kept), arguments.formats.split(","))
            return batch(cases, arguments.first, arguments.count, until, arguments.progress)
        return run(arguments, until, Path(kept) / "progress")


def run(arguments: argparse.Namespace, until: float, progress: Path) -> int:
    """All cases, in one process after the other: what kills one is reported, and the next one goes on behind it."""
    totals: Counter[str] = Counter()
    case, end = arguments.first, arguments.first + arguments.count
    while case < end and (left := until - time.monotonic()) > 0:
        progress.write_bytes(_PROGRESS.pack(case, 0, 0))
        words = ["--first", str(case), "--count", str(min(AT_ONCE, end - case)), "--seconds", str(left), "--formats", arguments.formats]
        status = subprocess.call([sys.executable, __file__, *words, "--progress", str(progress)], stdout=subprocess.DEVNULL)
        at, refused, read = _PROGRESS.unpack(progress.read_bytes())
        totals.update(cases=at - case, refused=refused, read=read)
        if status != 0:
            totals.update(cases=1, failed=1)
            print(f"case {at} failed: {'it took too long' if status == -signal.SIGPROF else f'status {status}'}", flush=True)
        case = at + (status != 0)
    counts = ", ".join(f"{totals[what]} {what}" for what in ("refused", "read", "failed"))
    print(f"{totals['cases']} cases from number {arguments.first} on: {counts}")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
