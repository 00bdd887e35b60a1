# SPDX-License-Identifier: Apache-2.0
"""Writes traces that no program has made: streams of calls (docs/reference/trace.md), and the folder around them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from exanet.trace import folder
from exanet.trace.layout import CALLS, HEADER, MAGIC, VERSION, WORLD

CODES = {name: code for code, name in sorted((code, name) for calls in CALLS.values() for name, code in calls.items())}
_CHUNK = 1 << 20


def number(value: int) -> bytes:
    """A whole number in groups of seven bits (LEB128)."""
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


class Stream:
    """The calls of one rank, in their order. Times are picoseconds, peers ranks of MPI_COMM_WORLD."""

    def __init__(self, directory: Path, rank: int, ranks: int, *, mpi: int = 1) -> None:
        self._path = folder.stream(directory, rank)
        self._closed = False
        self._written = 0
        self._bytes = bytearray(HEADER.pack(MAGIC, VERSION, mpi, rank, ranks, 0))

    def call(self, name: str, *fields: int, compute_ps: int = 0, inside_ps: int = 0, took_ps: int = 0) -> None:
        """Any call, by its name without MPI_ and the fields of its form."""
        body = b"".join(map(number, (compute_ps, inside_ps, took_ps, *fields)))
        self._bytes.append(CODES[name])
        self._bytes += number(len(body)) + body
        if len(self._bytes) >= _CHUNK:
            self._flush()

    def message(self, name: str, peer: int, size: int, *, tag: int = 0, request: int = 0, compute_ps: int = 0) -> None:
        """A send or receive: Send, Isend, Recv, Irecv, ... A nonblocking one has a `request` from 1 on, and `peer`
        -1 is any."""
        self.call(name, WORLD, peer + 2, tag + 1, size, request, compute_ps=compute_ps)

    def wait(self, *requests: int, compute_ps: int = 0) -> None:
        """Waits for all of these."""
        self.call("Waitall", *requests, compute_ps=compute_ps)

    def operation(
        self,
        kind: str,
        peer: int = -2,
        size: int = 0,
        *,
        tag: int = 0,
        after: Sequence[int] = (),
        beside: Sequence[int] = (),
        compute_ps: int = 0,
    ) -> None:
        """An operation of a graph: "send", "receive" (`peer` and `tag` may be -1 for any) or "compute".

        Operations that follow each other make one graph, which is over before the next call begins. Each waits for the
        ends of `after` and the starts of `beside`, which say how many operations earlier in the graph those stand: 1 is
        the one before.
        """
        self.call(kind, peer + 2, 0 if kind == "compute" else tag + 1, size, len(after), *after, *beside, compute_ps=compute_ps)

    def collective(self, name: str, sent: int, received: int = 0, *, root: int = 0, element: int = 1, compute_ps: int = 0) -> None:
        """A blocking collective on MPI_COMM_WORLD without sizes by rank; reductions are by an operation of MPI's
        own."""
        self.call(name, WORLD, root, 0, 3, element, sent, received, 0, 0, compute_ps=compute_ps)

    def again(self, since: int, times: int) -> None:
        """The calls since a `position` so many times more. Raises ValueError where they are no longer at hand: up to
        1 MiB is."""
        begin = since - self._written
        if begin < 0:
            raise ValueError(f"position {since} has been written; repeat shorter parts")
        self._bytes += bytes(self._bytes[begin:]) * times
        if len(self._bytes) >= _CHUNK:
            self._flush()

    def end(self, compute_ps: int = 0) -> None:
        """The program's end."""
        self.call("Finalize", compute_ps=compute_ps)

    @property
    def position(self) -> int:
        """Where the next call will begin in the stream."""
        return self._written + len(self._bytes)

    def _flush(self) -> None:
        # Opened for each chunk: there may be more ranks than a process may have open files.
        with self._path.open("ab" if self._written else "wb") as file:
            file.write(self._bytes)
        self._written += len(self._bytes)
        self._bytes.clear()

    def close(self) -> None:
        """Writes what is left; a second time it does nothing."""
        if not self._closed:
            self._flush()
        self._closed = True


class Writer:
    """A trace being written: `streams` by rank, all of which end before the `with` does.

    Raises InputError where the folder cannot be had.
    """

    def __init__(self, directory: str | os.PathLike[str], ranks: int, run: Mapping[str, Any], option: str = "-o") -> None:
        self._directory, self._run, self._option = folder.prepare(Path(directory), option), run, option
        self.streams: Sequence[Stream] = [Stream(self._directory, rank, ranks) for rank in range(ranks)]

    def __enter__(self) -> Sequence[Stream]:
        return self.streams

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            folder.release(self._directory)
        else:
            for stream in self.streams:
                stream.close()
            folder.finish(self._directory, len(self.streams), self._run, option=self._option)
