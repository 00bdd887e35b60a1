# SPDX-License-Identifier: Apache-2.0
"""Finds ranks that stand still in the real world while virtual time waits for them.

Virtual time goes on only when every rank waits for the network. A rank that reads from a terminal, a full pipe or a
dead file server is not in the network, so the whole machine stands still, and nothing says why. Such a rank is known by
three signs together: the simulator counts it as running, it has used no processor time for a while, and no event has
happened meanwhile.

A deadlock of the program looks different, because an MPI library polls for ever: virtual time runs on, while not one
packet is sent and every rank stays in one MPI call that waits. Where a thread of a rank sleeps in a loop beside that
call nobody can know that it will never send anything: the user is warned once, and the run goes on.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOK_EVERY_S = 0.25
QUIET_S = 2.5
"""So long without processor time and without an event makes a rank suspicious."""

SPINS_S = 10.0
"""So long without an event makes a rank suspicious that computes."""

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_LITTLE_CPU_S = 0.03

# System calls that a program is often found in, by their numbers on x86-64.
_CALLS = {0: "read", 1: "write", 7: "poll", 23: "select", 35: "sleep", 61: "wait for a child process", 230: "sleep", 232: "epoll_wait"}
_CALLS |= {42: "connect", 43: "accept", 45: "receive", 72: "a lock on a file", 73: "a lock on a file", 202: "a lock", 270: "select"}


@dataclass
class _Watch:
    since: float
    cpu_s: float
    warned: bool = False


# Calls that come back by themselves, or that wait for something besides the network.
_NO_WAIT = re.compile(r"MPI_(I|.*[Tt]est|File_|Wtime|Request_get_status|Session_|T_)")
_DEADLOCK_VIRTUAL_PS = 10**12
"""Longer than any message is on its way."""
_SLEEPS_VIRTUAL_PS = 10**13
"""Longer than most programs let a thread sleep before it sends what others wait for."""


class DeadlockWatch:
    """Contract: call `look` as often as you like; it returns what to report to the user once all ranks have waited for
    nothing long enough.

    Ranks of which a thread sleeps meanwhile may yet go on: of these it warns, once.
    """

    def __init__(self, warn: Callable[[str], None], clock: Callable[[], float] = time.monotonic, *, faults: str = "") -> None:
        """`faults`: the file of --faults, where there is one."""
        self._warn = warn
        self._warned = False
        self._faults = faults
        self._clock = clock
        self._traffic = (-1, -1)
        self._since = self._last_look = clock()
        self._virtual_ps = 0
        self._calls: list[str] = []
        self._sleeping: set[int] = set()

    def look(self, progress: Mapping[str, Any], states: Callable[[], Sequence[Mapping[str, Any]]]) -> str:
        now = self._clock()
        if now - self._last_look < LOOK_EVERY_S:
            return ""
        self._last_look = now
        traffic = (int(progress["messages"]), int(progress["packets"]))
        if traffic != self._traffic or progress["phase"] != "running":
            self._traffic = traffic
            self._begin(now, progress, [])
            return ""
        ranks = states()
        calls = calls_of(ranks)
        waiting = [call for call, state in zip(calls, ranks, strict=True) if not state.get("died")]
        if calls != self._calls or not all(call and not _NO_WAIT.match(call) for call in waiting):
            self._begin(now, progress, calls)
        # Not only now: the thread may be up for the moment.
        self._sleeping |= {int(state["rank"]) for state in ranks if state.get("timed_sleep")}
        waited_ps = int(progress["virtual_ps"]) - self._virtual_ps
        if now - self._since < QUIET_S or waited_ps <= (_SLEEPS_VIRTUAL_PS if self._sleeping else _DEADLOCK_VIRTUAL_PS):
            return ""
        if not self._sleeping:
            return f"deadlock: every rank waits and {self._why()}: {by_call(calls)}"
        if not self._warned:
            self._warned = True
            self._warn(
                f"every rank has waited for {waited_ps / 1e12:.0f} s of virtual time, and no message is under way: {by_call(calls)}; "
                f"only threads of {_name(sorted(self._sleeping))} sleep and wake: unless one of them is to send something, "
                "this is a deadlock; end it with Ctrl-C"
            )
        return ""

    def _why(self) -> str:
        if not self._faults:
            return "no message is under way"
        return (
            f"no message arrives any more, with --faults {self._faults}; cycle-accurate interfaces retransmit for ever where "
            "the machine does not say ni.tries"
        )

    def _begin(self, now: float, progress: Mapping[str, Any], calls: list[str]) -> None:
        self._since, self._virtual_ps, self._calls = now, int(progress["virtual_ps"]), calls
        self._sleeping = set()


def calls_of(states: Sequence[Mapping[str, Any]]) -> list[str]:
    """The MPI call that each rank is in; "" where there is none, and of ranks that have died."""
    return ["" if state.get("died") else str(state.get("mpi_call") or "") for state in states]


def by_call(calls: Sequence[str]) -> str:
    """Names the ranks of each call, a few of them where they are many; first those that have ended early."""
    parts = []
    for call in sorted(dict.fromkeys(call for call in calls if call), key=lambda call: call != "MPI_Finalize"):
        parts.append(f"{_name([rank for rank, each in enumerate(calls) if each == call])} in {call}")
    return "; ".join(parts[:6])


def early_end(calls: Sequence[str], *, python: bool) -> str:
    """Of a deadlock: advice where some ranks have reached MPI_Finalize and others wait for them.

    mpi4py calls MPI_Finalize when the interpreter ends, and the exception is not known there. For programs of Python
    (`python`) the advice therefore says where its traceback is.
    """
    early = [rank for rank, call in enumerate(calls) if call == "MPI_Finalize"]
    if not early or len(early) == len(calls):
        return ""
    text = f"; {_name(early)} ended first: {'it' if len(early) == 1 else 'they'} called MPI_Finalize while the others wait"
    if python:
        text += (
            "; mpi4py also calls MPI_Finalize when an exception ends a rank: look for its traceback above, "
            "or start the program with python -m mpi4py, which ends the run at the exception"
        )
    return text


def _name(ranks: Sequence[int]) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:4]) + (f" and {len(ranks) - 4} more" if len(ranks) > 4 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}"


def want_of_buffering(
    calls: Sequence[str], *, sends: Sequence[tuple[int, int]], eager_max_bytes: int, envelope_bytes: int, packet_limit_bytes: int
) -> str:
    """Of a deadlock: which ranks buffering would let go on, and how much of it; "" when there are none.

    `calls`: the MPI call of each rank; `sends`: rank and bytes of each message that waits for its receive, longer than
    `eager_max_bytes`; `packet_limit_bytes`: the most that envelope and payload of an eager message can have together,
    on any machine.
    """
    waiting = [(rank, size) for rank, size in sends if calls[rank] == "MPI_Send"]
    if not waiting:
        return ""
    ranks, sizes = sorted({rank for rank, _ in waiting}), {size for _, size in waiting}
    largest, packet = max(sizes), envelope_bytes + max(sizes)
    if packet <= packet_limit_bytes:
        help_ = f"a machine file with eager_max: {largest} B (and packet_max: {packet} B) or more would let the program continue"
    else:
        help_ = f"no machine file helps, since an eager message is one packet, of {packet_limit_bytes} B at most with its envelope"
    return (
        f"; the cause is missing buffering: {_name(ranks)} sent {'up to ' if len(sizes) > 1 else ''}{largest} B, "
        "more than this machine's eager_max "
        f"of {eager_max_bytes} B, and MPI_Send then returns only when the message is received; {help_}; MPI promises no buffering: "
        "use MPI_Sendrecv, MPI_Isend or MPI_Bsend"
    )


_OF_A_WINDOW = re.compile(r"MPI_(Win_.+|R?([Pp]ut|([Gg]et_)?[Aa]ccumulate|[Gg]et)|Fetch_and_op|Compare_and_swap)")


def want_of_progress(calls: Sequence[str]) -> str:
    """Of a deadlock over Open MPI 4's mtl/ofi: advice where ranks wait for a window; `calls`: the MPI call of each
    rank."""
    waiting = [rank for rank, call in enumerate(calls) if _OF_A_WINDOW.fullmatch(call)]
    if not waiting:
        return ""
    return (
        f"; {_name(waiting)} may wait for another rank's window: over mtl/ofi, Open MPI 4 serves none while a rank waits in a call; "
        "try OMPI_MCA_pml=ob1 exanet run ..."
    )


class Watchdog:
    """Contract: call `look` as often as you like; it warns once for each time that a rank stands still, and once
    when it goes on.

    `instead_of_loops`: it also warns, once, where ranks compute for long, since they may wait in a loop that reads
    memory alone; this is what to do about such loops.
    """

    def __init__(self, warn: Callable[[str], None], clock: Callable[[], float] = time.monotonic, *, instead_of_loops: str = "") -> None:
        self._warn = warn
        self._instead_of_loops = instead_of_loops
        self._clock = clock
        self._last_look = clock()
        self._events = -1
        self._event_at = self._last_look
        self._watches: dict[int, _Watch] = {}

    def look(self, progress: Mapping[str, Any], states: Callable[[], Sequence[Mapping[str, Any]]]) -> None:
        now = self._clock()
        if now - self._last_look < LOOK_EVERY_S:
            return
        self._last_look = now
        events = int(progress["events"])
        moved, self._events = events != self._events, events
        if moved or progress["phase"] != "running":
            self._event_at = now
            self._forget()
            return
        running = {int(s["rank"]): s for s in states() if s["state"] == "running" and s["initialized"] and not s["finalized"] and s["pid"]}
        for rank in [rank for rank in self._watches if rank not in running]:
            del self._watches[rank]
        for rank, state in running.items():
            self._look_at(rank, int(state["pid"]), str(state.get("mpi_call") or ""), now)
        if self._instead_of_loops and now - self._event_at >= SPINS_S:
            self._look_for_loops(running)

    def _look_for_loops(self, running: Mapping[int, Mapping[str, Any]]) -> None:
        computing = [rank for rank in running if rank in self._watches and not self._watches[rank].warned]
        if computing:
            self._warn(
                f"{_name(computing)} {'have' if len(computing) > 1 else 'has'} computed for {SPINS_S:.0f} s without using the network, and "
                "virtual time cannot advance meanwhile; if this is a loop that waits for a value in memory, the run does not end: "
                f"{self._instead_of_loops}"
            )
            self._instead_of_loops = ""

    def _forget(self) -> None:
        for rank, watch in self._watches.items():
            if watch.warned:
                self._warn(f"rank {rank} continues")
        self._watches.clear()

    def _look_at(self, rank: int, pid: int, call: str, now: float) -> None:
        stat = _stat(pid)
        if stat is None:
            return
        state, cpu_s = stat
        watch = self._watches.get(rank)
        if watch is None or cpu_s - watch.cpu_s > _LITTLE_CPU_S:
            self._watches[rank] = _Watch(now, cpu_s, watch.warned if watch else False)
        elif now - watch.since >= QUIET_S and not watch.warned:
            watch.warned = True
            where = f" in {call}" if call else ""
            self._warn(
                f"rank {rank} (pid {pid}) has made no progress{where} for {now - watch.since:.0f} s{_doing(pid, state)}; "
                "all other ranks wait for it, because virtual time cannot advance without it"
            )


def _stat(pid: int) -> tuple[str, float] | None:
    """State letter and processor time of a process, all threads together; None when it is gone."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return words[0], (int(words[11]) + int(words[12])) * _TICK_S
    except (OSError, ValueError, IndexError):
        return None


def _doing(pid: int, state: str) -> str:
    """Reason why the process waits, as far as the system reports it."""
    if state in "Tt":
        return " (it is stopped; send it SIGCONT)"
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = Path(f"/proc/{pid}/syscall").read_text(encoding="utf-8", errors="replace").split()
        number = int(words[0])
        if os.uname().machine == "x86_64" and number in _CALLS:
            of = f" of {os.readlink(f'/proc/{pid}/fd/{int(words[1], 16)}')}" if number in (0, 1) else ""
            return f" (in {_CALLS[number]}{of})"
    with contextlib.suppress(OSError):
        where = Path(f"/proc/{pid}/wchan").read_text(encoding="utf-8", errors="replace").strip()
        if where not in ("", "0"):
            return f" (the kernel says: {where})"
    return ""
