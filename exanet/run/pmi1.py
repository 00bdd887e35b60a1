# SPDX-License-Identifier: Apache-2.0
"""A PMI-1 server: how the ranks of an MPICH program find each other when they start.

Problem: MPICH learns its rank and the other ranks' addresses from a process manager, over a file descriptor, in a
protocol of text lines (`cmd=put kvsname=... key=... value=...`). MPICH's own manager starts helpers of its own and
hangs with many ranks on one host.

Model: one socket pair a rank, all of them served by whoever runs the event loop (see `exanet.run.launch`); a key-value
space and a barrier. Every rank is given that it sits on a node of its own, so that MPICH moves nothing through real
shared memory behind the virtual clock. Each rank then asks for what each other one has put. So all that was put before
a barrier is also written into a file in memory, where `runtime/clock/pmi_table.c` answers these questions in the rank
itself.

Limits: version 1.1 of the protocol, one job, no spawn (it is refused, as the protocol allows). A rank that sends
anything else breaks the protocol: the server says so, naming the rank, and the run ends.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_NAME_MAX = 256
_KEY_MAX = 64
_VALUE_MAX = 4096
_LINE_MAX = _NAME_MAX + _KEY_MAX + _VALUE_MAX + 256
_LENGTH = struct.Struct("=Q")
_TABLE_BYTES = 16 << 20
"""As in runtime/clock/pmi_table.c: the length of the lines, then the lines, `key value`."""


class ProtocolError(Exception):
    """A rank sent what the protocol does not allow."""


@dataclass
class _Client:
    rank: int
    sock: socket.socket
    child: socket.socket | None
    buffer: bytearray = field(default_factory=bytearray)
    in_barrier: bool = False
    spoke: bool = False
    in_spawn: bool = False


def parse(line: str) -> dict[str, str]:
    """Takes `cmd=put key=a value=b` apart. The value of `value` and `message` runs to the end of the line and may
    hold spaces."""
    words: dict[str, str] = {}
    rest = line
    while rest := rest.lstrip(" "):
        name, equals, rest = rest.partition("=")
        if not equals or not name or " " in name:
            raise ProtocolError(f"not NAME=VALUE: {line[:80]!r}")
        if name in ("value", "message", "error_msg"):
            words[name] = rest
            break
        words[name], _, rest = rest.partition(" ")
    if "cmd" not in words:
        raise ProtocolError(f"no cmd=: {line[:80]!r}")
    return words


class Table:
    """What has been put, for ranks to read from a file in memory; where there is no space for it they ask the server.

    Contract: `path` is readable by processes of this user while the table is open; empty if there is none.
    """

    def __init__(self) -> None:
        self.path = ""
        self._file = -1
        self._length = 0
        try:
            self._file = os.memfd_create("exanet-pmi", os.MFD_CLOEXEC)
            os.truncate(self._file, _TABLE_BYTES)
        except OSError:
            self.close()
        else:
            self.path = f"/proc/{os.getpid()}/fd/{self._file}"

    def add(self, values: Mapping[str, str]) -> None:
        """Adds lines, in the order in which MPICH asks for them: names, and by number those that differ in a number
        alone."""
        text = "".join(f"{key} {values[key]}\n" for key in sorted(values, key=_by_number)).encode("ascii")
        if self._file < 0 or _LENGTH.size + self._length + len(text) > _TABLE_BYTES:
            return
        try:
            written = os.pwrite(self._file, text, _LENGTH.size + self._length)
            if written == len(text):
                self._length += written
                os.pwrite(self._file, _LENGTH.pack(self._length), 0)
        except OSError:
            return  # no memory for it

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _by_number(key: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", key)]


class Server:
    """The server of one job.

    Contract: `open(rank)` is the descriptor to give to the rank as PMI_FD, closed here with `started(rank)`; the owner
    of the event loop calls `readable(rank)` when `sock(rank)` has something to read. `on_error(rank, text)` is called
    when a rank breaks the protocol, `on_abort(rank, code, text)` when one asks for the job's end. None of them is
    called twice for one event, and neither raises.
    """

    def __init__(self, ranks: int, on_error: Callable[[int, str], None], on_abort: Callable[[int, int, str], None]) -> None:
        self._ranks = ranks
        # MPICH names files in /dev/shm after it: two runs on one host must not have the same.
        self._space = f"exanet-{os.getpid()}-{os.urandom(6).hex()}"
        self._on_error = on_error
        self._on_abort = on_abort
        self._values: dict[str, str] = {"PMI_process_mapping": f"(vector,(0,{ranks},1))"}
        self._new: dict[str, str] = {}  # since the last barrier
        self.table = Table()
        self._ports: dict[str, str] = {}  # of MPI_Publish_name
        self._clients: dict[int, _Client] = {}
        self._waiting = 0
        self._commands: Mapping[str, Callable[[_Client, dict[str, str]], str | None]] = {
            "init": self._init,
            "get_maxes": lambda c, w: f"cmd=maxes rc=0 kvsname_max={_NAME_MAX} keylen_max={_KEY_MAX} vallen_max={_VALUE_MAX}",
            "get_appnum": lambda c, w: "cmd=appnum rc=0 appnum=0",
            "get_my_kvsname": lambda c, w: f"cmd=my_kvsname rc=0 kvsname={self._space}",
            "get_universe_size": lambda c, w: f"cmd=universe_size rc=0 size={self._ranks}",
            "put": self._put,
            "get": self._get,
            "barrier_in": self._barrier,
            "finalize": self._finalize,
            "abort": self._abort,
            "publish_name": self._publish_name,
            "unpublish_name": self._unpublish_name,
            "lookup_name": self._lookup_name,
            "spawn": lambda c, w: "cmd=spawn_result rc=1 errcodes=1 msg=not_supported",
        }

    # -- connections ---------------------------------------------------------------------------------------------------

    def open(self, rank: int) -> int:
        """Makes the rank's connection and returns the descriptor to hand to it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        self._clients[rank] = _Client(rank, ours, theirs)
        return theirs.fileno()

    def sock(self, rank: int) -> socket.socket:
        return self._clients[rank].sock

    def started(self, rank: int) -> None:
        """The rank has its own copy of the descriptor now."""
        client = self._clients[rank]
        if client.child:
            client.child.close()
            client.child = None

    def close(self, rank: int) -> None:
        client = self._clients.pop(rank, None)
        if client is None:
            return
        if client.in_barrier:
            self._waiting -= 1
        client.sock.close()
        if client.child:
            client.child.close()

    def close_all(self) -> None:
        for rank in list(self._clients):
            self.close(rank)
        self.table.close()

    def waiting_ranks(self) -> list[int]:
        """Ranks that stand in a barrier which not all have reached."""
        return [c.rank for c in self._clients.values() if c.in_barrier]

    def readable(self, rank: int) -> bool:
        """Serves what the rank has sent. False: its end is closed, or it broke the protocol; take the socket out of
        the loop."""
        client = self._clients.get(rank)
        if client is None:
            return False
        try:
            data = client.sock.recv(65536)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            return False
        client.buffer += data
        try:
            self._serve_lines(client)
        except ProtocolError as error:
            self._on_error(rank, f"the process-manager protocol (PMI-1) was broken: {error}")
            return False
        return True

    def _serve_lines(self, client: _Client) -> None:
        while (end := client.buffer.find(b"\n")) >= 0:
            line = bytes(client.buffer[:end])
            del client.buffer[: end + 1]
            try:
                text = line.decode("ascii")
            except UnicodeDecodeError:
                raise ProtocolError(f"not ASCII: {line[:80]!r}") from None
            # Only spawn comes in several lines: "mcmd=spawn", its arguments, "endcmd".
            client.in_spawn = client.in_spawn or text.startswith("mcmd=spawn")
            if client.in_spawn and text != "endcmd":
                continue
            words = {"cmd": "spawn"} if client.in_spawn else parse(text)
            client.in_spawn = False
            handler = self._commands.get(words["cmd"])
            if handler is None:
                raise ProtocolError(f"unknown command {words['cmd'][:40]!r}")
            if not client.spoke and words["cmd"] not in ("init", "abort"):
                raise ProtocolError(f"{words['cmd']!r} before init")
            answer = handler(client, words)
            if answer is not None:
                self._send(client, answer)
        if len(client.buffer) > _LINE_MAX:
            raise ProtocolError(f"a line longer than {_LINE_MAX} bytes")

    def _send(self, client: _Client, line: str) -> None:
        # An answer is a few hundred bytes, to a peer that waits for it: it always fits the socket's buffer, unless the
        # peer floods us.
        try:
            client.sock.sendall(line.encode() + b"\n")
        except BlockingIOError:
            raise ProtocolError("answers are not read") from None
        except OSError:
            return  # It has ended; its exit is reported elsewhere.

    # -- commands ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _init(client: _Client, words: dict[str, str]) -> str:
        client.spoke = True
        ok = words.get("pmi_version") == "1"
        return f"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc={0 if ok else -1}"

    @staticmethod
    def _need(words: dict[str, str], name: str, limit: int) -> str:
        value = words.get(name)
        if value is None:
            raise ProtocolError(f"{words['cmd']} without {name}=")
        if len(value) > limit:
            raise ProtocolError(f"{name}= longer than {limit} bytes")
        return value

    def _put(self, client: _Client, words: dict[str, str]) -> str:
        self._need(words, "kvsname", _NAME_MAX)
        key, value = self._need(words, "key", _KEY_MAX), self._need(words, "value", _VALUE_MAX)
        if key in self._values:
            return f"cmd=put_result rc=-1 msg=duplicate_key_{key}"
        self._values[key] = self._new[key] = value
        return "cmd=put_result rc=0 msg=success"

    def _get(self, client: _Client, words: dict[str, str]) -> str:
        self._need(words, "kvsname", _NAME_MAX)
        key = self._need(words, "key", _KEY_MAX)
        value = self._values.get(key)
        if value is None:
            return f"cmd=get_result rc=-1 msg=key_{key}_not_found value=unknown"
        return f"cmd=get_result rc=0 msg=success value={value}"

    def _publish_name(self, client: _Client, words: dict[str, str]) -> str:
        service, port = self._need(words, "service", _VALUE_MAX), self._need(words, "port", _VALUE_MAX)
        if service in self._ports:
            return "cmd=publish_result rc=1 msg=published_already"
        self._ports[service] = port
        return "cmd=publish_result rc=0 msg=success"

    def _unpublish_name(self, client: _Client, words: dict[str, str]) -> str:
        known = self._ports.pop(self._need(words, "service", _VALUE_MAX), None) is not None
        return f"cmd=unpublish_result {'rc=0 msg=success' if known else 'rc=1 msg=not_published'}"

    def _lookup_name(self, client: _Client, words: dict[str, str]) -> str:
        port = self._ports.get(self._need(words, "service", _VALUE_MAX))
        return "cmd=lookup_result rc=1 msg=not_published" if port is None else f"cmd=lookup_result rc=0 port={port}"

    def _barrier(self, client: _Client, words: dict[str, str]) -> None:
        if client.in_barrier:
            raise ProtocolError("barrier_in twice")
        group = words.get("group", "WORLD")
        if group not in ("WORLD", "all"):
            raise ProtocolError(f"a barrier over the group {group[:40]!r}, which version 1.1 does not have")
        client.in_barrier = True
        self._waiting += 1
        if self._waiting == self._ranks:
            self._waiting = 0
            self.table.add(self._new)
            self._new.clear()
            for each in self._clients.values():
                each.in_barrier = False
                self._send(each, "cmd=barrier_out rc=0")

    @staticmethod
    def _finalize(client: _Client, words: dict[str, str]) -> str:
        return "cmd=finalize_ack rc=0"

    def _abort(self, client: _Client, words: dict[str, str]) -> None:
        try:
            code = int(words.get("exitcode", "1"))
        except ValueError:
            raise ProtocolError(f"exitcode={words['exitcode'][:40]!r}") from None
        self._on_abort(client.rank, code, words.get("message", words.get("error_msg", "")))
