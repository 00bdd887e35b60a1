# SPDX-License-Identifier: Apache-2.0
"""Runs the simulator and the ranks together, and decides how the run has ended.

One thread (the simulator's, in C++) advances virtual time; this one serves the ranks' processes, shows progress,
watches for ranks that stand still, and judges every end of a rank. The first thing that goes wrong gives the run its
reason; what follows from it (ranks that lose their network, a launcher that cleans up) is not reported again.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from exanet.mpi.phases import Phases
from exanet.progress import Progress
from exanet.run.launch import Event, HostEnded, LauncherEnded, RankAborted, RankEnded, RankFault, Session
from exanet.run.watchdog import DeadlockWatch, Watchdog, by_call, calls_of, early_end, want_of_buffering, want_of_progress

_POLL_S = 0.2
_GRACE_S = 1.0  # between asking the ranks to end and ending them
# for mpirun to see a rank end; after that it cleans up by itself, and crashes when it is signalled meanwhile
_MPIRUN_OWN_S = 1.0
_SETTLE_S = 10.0  # for the simulator to notice that all ranks have ended
_MPIRUN_GRACE_S = 3.0  # mpirun itself gives its ranks a second
_LOST_NETWORK = 75  # what a rank exits with when the simulator has stopped (runtime/lib/ni.h)
_NO_RANK_GOES_ON = ("deadlock", "no rank can go on")  # how such a reason of the simulator begins
_ABORTED = re.compile(r"rank (\d+) called MPI_Abort\((-?\d+)\)")  # how the simulator says it
_EXITED = re.compile(r"rank (\d+) exited with code (\d+) without calling ")
_PROCESS = re.compile(r" \(pid \d+\)")
_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
STOP_SIGNALS = {
    signal.SIGINT: "interrupted by Ctrl-C",
    signal.SIGTERM: "asked to end by SIGTERM",
    signal.SIGHUP: "the terminal was closed (SIGHUP)",
}


class Simulator(Protocol):
    """The part of exanet._core.Simulator that is used here."""

    def run(self) -> None: ...
    def stop(self, reason: str) -> None: ...
    def failure(self) -> str: ...
    def rank_exited(self, rank: int, status: int) -> None: ...
    def host_ended(self) -> None: ...
    def progress(self) -> dict[str, Any]: ...
    def rank_states(self) -> list[dict[str, Any]]: ...
    def blocked_sends(self) -> dict[str, Any]: ...
    def results(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `reason` is empty when all ranks ended by themselves; `used_network` is false when no rank
    ever joined."""

    exit_code: int
    reason: str
    used_network: bool


class Supervisor:
    """One run, from the start of its ranks to the end of the last. Call `run` once, from the main thread."""

    def __init__(
        self,
        simulator: Simulator,
        session: Session,
        *,
        ranks: int,
        program: str,
        progress: Progress,
        mpirun: bool,
        phases: Phases,
        waits_for_progress: bool = False,
        python: bool = False,
        faults: str = "",
    ) -> None:
        self._simulator = simulator
        self._session = session
        self._ranks = ranks
        self._program = program
        self._progress = progress
        self._watchdog = Watchdog(progress.note, instead_of_loops=phases.instead_of_loops)
        self._deadlock = DeadlockWatch(progress.note, faults=faults)
        self._mpirun = mpirun
        self._phases = phases
        self._waits_for_progress = waits_for_progress  # its library does, in passive-target communication
        self._python = python  # an interpreter runs the program
        self._mpirun_aborts = False  # a rank has ended in a way that mpirun ends the others for
        self._asked_since: float | None = None
        self._thread = threading.Thread(target=self._simulate, name="simulator", daemon=True)
        self._crash = ""
        self._signal = 0
        self._reason = ""
        self._exit_code = 0
        self._code_of_rank = ranks  # the first rank that has ended well, but with a code: it gives the run its own
        self._stopping_since: float | None = None
        self._killed = False
        self._ended: set[int] = set()
        self._without_mpi: set[int] = set()

    def run(self, *, meanwhile: Callable[[], None]) -> Outcome:
        """Runs the ranks to their end, and `meanwhile` in a thread beside them. Both have ended on return.

        With one processor for all, `meanwhile` goes first: ranks are not disturbed then in what they measure.
        """
        beside = threading.Thread(target=meanwhile, name="meanwhile")
        handlers = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        before = signal.set_wakeup_fd(self._session.wake_fd, warn_on_full_buffer=False)
        try:
            alone = len(os.sched_getaffinity(0)) == 1
            if alone:
                meanwhile()
            self._thread.start()
            self._session.start()
            if not alone:
                beside.start()
            self._serve()
        except BaseException:
            self._simulator.stop("the run's own process failed")
            raise
        finally:
            signal.set_wakeup_fd(before)
            self._thread.join(_SETTLE_S)  # where the simulator is in the ranks' host, before that is ended
            self._session.close()
            self._progress.hide()
            if self._thread.is_alive():
                self._fail("the simulator did not end with the ranks; this is a defect of exanet", 1)
                self._simulator.stop(self._reason)
                self._thread.join(_SETTLE_S)
            if beside.ident:
                beside.join()
            for number, handler in handlers.items():
                signal.signal(number, handler)
        if self._crash and not self._reason:
            self._fail(self._crash, 1)
        if not self._reason and (failure := self._simulator.failure()):
            if self._exit_code:
                self._progress.note(f"the program ended with code {self._exit_code}; what had failed first on the network: {failure}")
            else:
                self._progress.note(f"the program has gone on after a failure on the network: {failure}")
        if not self._reason and (dead := self._dead()):
            self._exit_code = self._exit_code or 1
            all_died = all(state["died"] for state in self._simulator.rank_states())
            self._progress.note(f"{dead}; {'no rank is left' if all_died else 'all other ranks have ended by themselves'}")
        used = self._simulator.progress()["attached"] > 0
        return Outcome(self._exit_code, self._reason, bool(used))

    # -- the loop ------------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while self._session.alive:
            events = self._session.poll(_POLL_S)
            self._obey_signal()
            if events:
                self._judge(events)
            progress = self._simulator.progress()
            self._check_joined(progress)
            self._check_simulator()
            if self._stopping_since is None:
                self._watchdog.look(progress, self._simulator.rank_states)
                self._progress.update(progress)
                if deadlock := self._deadlock.look(progress, self._simulator.rank_states):
                    self._simulator.stop(deadlock)
                    self._thread.join(_SETTLE_S)
                    self._fail(deadlock + self._advice(), 1)
            else:
                self._press(time.monotonic())

    def _simulate(self) -> None:
        try:
            self._simulator.run()
        except Exception:
            self._crash = f"the simulator failed; this is a defect of exanet:\n{traceback.format_exc()}"
        finally:
            self._session.wake()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._signal:
            self._session.kill()  # the second time the user means it
        self._signal = number

    def _obey_signal(self) -> None:
        if self._signal and self._stopping_since is None:
            self._interrupt(self._signal)

    def _interrupt(self, number: int) -> None:
        self._fail(STOP_SIGNALS[signal.Signals(number)], 128 + number)

    def _fail(self, reason: str, exit_code: int) -> None:
        """The run has failed, for this reason: ends everything."""
        if self._reason:
            return
        if failure := self._simulator.failure():
            reason = f"{reason}; what had failed first on the network: {failure}"
        self._reason, self._exit_code = _PROCESS.sub("", reason), exit_code  # the same in every run
        self._stopping_since = time.monotonic()
        self._simulator.stop(reason)
        self._press(self._stopping_since)
        self._progress.note(reason)

    def _press(self, now: float) -> None:
        """Makes the processes of a failed run end: first asks, then does not ask. (Ranks that wait for the network
        have ended by then.)"""
        if self._stopping_since is None or self._killed:
            return
        if self._asked_since is None:
            if not self._mpirun or now - self._stopping_since >= _MPIRUN_OWN_S:
                self._asked_since = now
                if not self._mpirun_aborts:
                    self._session.terminate()
        elif now - self._asked_since > (_MPIRUN_GRACE_S if self._mpirun else _GRACE_S):
            self._killed = True
            self._session.kill()

    def _check_simulator(self) -> None:
        """The simulator may end the run itself: MPI_Abort, or a state from which no rank can go on."""
        if self._stopping_since is not None or self._thread.is_alive():
            return
        if self._crash:
            self._fail(self._crash, 1)
        elif len(self._ended) < self._ranks and not (self._dead() and not self._simulator_reason()):
            self._fail_as(self._simulator_reason() or "the simulator ended before the ranks")

    def _fail_as(self, reason: str) -> None:
        """The simulator has ended the run, for this reason."""
        if aborted := _ABORTED.fullmatch(reason):
            code = int(aborted[2])
            self._fail(f"{self._name(int(aborted[1]))} called {self._phases.abort}({code})", self._code_of_abort(code))
        elif exited := _EXITED.match(reason):
            code = int(exited[2])
            self._fail(f"{self._name(int(exited[1]))} exited with code {code} without calling {self._phases.end}", code or 1)
        else:
            self._fail(reason, _code_of(reason))

    def _simulator_reason(self) -> str:
        """Why the simulator has ended the run; of a deadlock also who waits where."""
        reason = str(self._simulator.results()["summary"]["reason"])
        if self._without_mpi and reason.startswith("a rank exited before virtual time began"):
            return self._never_began()
        reason = reason.replace("MPI_Finalize", self._phases.end)
        waiting = by_call(calls_of(self._simulator.rank_states()))
        return f"{reason}: {waiting}{self._advice()}" if reason.startswith(_NO_RANK_GOES_ON) and waiting else reason

    def _dead(self) -> str:
        """Which ranks have died with their hosts, and when, the first few; "" where none has."""
        dead = [state for state in self._simulator.rank_states() if state["died"]]
        shown = [
            f"rank {state['rank']} on node {state['node']} died with its host at {state['clock_ps'] / 1e6:.3f} us" for state in dead[:4]
        ]
        return "; ".join(shown) + (f"; and {len(dead) - 4} more" if len(dead) > 4 else "")

    def _advice(self) -> str:
        """Of a deadlock: which ranks ended early, and what would have let the others go on: buffering in MPI_Send, or
        progress of windows."""
        if self._thread.is_alive():
            return ""
        blocked = self._simulator.blocked_sends()
        calls = calls_of(self._simulator.rank_states())
        text = early_end(calls, python=self._python) + want_of_buffering(calls, **blocked)
        return text + (want_of_progress(calls) if self._waits_for_progress else "")

    def _check_joined(self, progress: Mapping[str, Any]) -> None:
        """A rank that ended without beginning virtual time keeps the others waiting in their MPI_Init for ever."""
        if not self._without_mpi or self._stopping_since is not None:
            return
        if self._phases.optional:
            waits = any(state["initialized"] for state in self._simulator.rank_states())
        else:
            waits = progress["attached"] > 0 or bool(self._session.waiting_in_launcher())
        if waits:
            self._fail(self._never_began(), 1)

    def _never_began(self) -> str:
        name = self._name(min(self._without_mpi))
        return f"{name} exited with code 0 without calling {self._phases.begin}, in which the other ranks wait for it"

    # -- judging -------------------------------------------------------------------------------------------------------

    def _judge(self, events: list[Event]) -> None:
        states: list[dict[str, Any]] | None = None
        # First the host of packed ranks, with which they all end.
        for event in sorted(events, key=lambda event: not isinstance(event, HostEnded)):
            if isinstance(event, RankEnded):
                # One look for a batch of ends: with hundreds of ranks they come together.
                states = states or self._simulator.rank_states()
                self._judge_end(event, states[event.rank])
            elif isinstance(event, RankAborted):
                self._judge_abort(event)
            elif isinstance(event, RankFault):
                self._fail(f"{self._name(event.rank)}: {event.text}", 1)
            elif isinstance(event, LauncherEnded):
                self._judge_launcher(event)
            elif isinstance(event, HostEnded):
                self._judge_host(event)

    def _name(self, rank: int) -> str:
        pid = self._session.pid(rank)
        return f"rank {rank} (pid {pid})" if pid else f"rank {rank}"

    def _judge_abort(self, event: RankAborted) -> None:
        # MPICH also comes here by itself after a fatal error, which it has then explained on stderr.
        self._fail(f"{self._name(event.rank)} called {self._phases.abort}({event.code})", self._code_of_abort(event.code))

    def _code_of_abort(self, code: int) -> int:
        """OpenSHMEM's ends a program that has done its work, too."""
        return code & 0xFF or int(self._phases.abort == "MPI_Abort")

    def _judge_end(self, event: RankEnded, state: Mapping[str, Any]) -> None:
        name, status = self._name(event.rank), event.status
        self._ended.add(event.rank)
        if state["died"]:  # in virtual time; its process stays for as long as the run
            return
        self._mpirun_aborts |= bool(status) or (state["initialized"] and not state["finalized"])
        # An exit code after MPI_Finalize is the program's own affair: everything has been measured.
        # mpirun ends the others when one has left with a code, by SIGTERM, then SIGKILL. After MPI_Finalize that is no
        # failure of theirs.
        swept = self._mpirun and status in (-signal.SIGTERM, -signal.SIGKILL) and state["finalized"]
        self._simulator.rank_exited(event.rank, 0 if swept or (state["finalized"] and status > 0) else status)
        if swept:
            return
        if self._stopping_since is not None:
            return
        if status >= 0 and state["initialized"] and not state["finalized"]:
            self._judge_stopped(status)
        if event.exec_errno:
            self._fail(f"{name}: {self._program} could not be started: {os.strerror(event.exec_errno)}", status)
        elif status == -signal.SIGINT and self._signal == signal.SIGINT:
            self._interrupt(signal.SIGINT)
        elif status < 0:
            self._fail(f"{name} was killed by {_signal_text(-status)}{self._when(state)}", 128 - status)
        elif not state["initialized"]:
            if status:
                self._fail(f"{name} exited with code {status} before it had called {self._phases.begin}", status)
            else:
                self._without_mpi.add(event.rank)
        elif not state["finalized"]:
            self._fail(f"{name} exited with code {status} without calling {self._phases.end}", status or 1)
        elif status and event.rank < self._code_of_rank:
            self._exit_code, self._code_of_rank = status, event.rank

    def _when(self, state: Mapping[str, Any]) -> str:
        if state["finalized"]:
            return f" after {self._phases.end}"
        if not state["initialized"]:
            return f" before {self._phases.begin} had ended"
        return f" in {state['mpi_call']}" if state.get("mpi_call") else ""

    def _judge_stopped(self, status: int) -> None:
        """The rank has called MPI_Abort, or the simulator has ended the run: either way the simulator is about to
        say so."""
        self._thread.join(2)
        if self._thread.is_alive():
            return
        reason = self._crash or self._simulator_reason()
        if _ABORTED.fullmatch(reason) or _EXITED.match(reason) or (status == _LOST_NETWORK and reason):
            self._fail_as(reason)

    def _judge_host(self, event: HostEnded) -> None:
        self._simulator.host_ended()
        if any(self._session.pid(rank) for rank in range(self._ranks)):
            how = f"was killed by {_signal_text(-event.status)}" if event.status < 0 else f"ended with code {event.status}"
            hint = "; a rank that writes where it should not can do that: try --ranks-as processes" if -event.status in _FAULTS else ""
            self._fail(f"the host of the packed ranks {how}{hint}", 1)

    def _judge_launcher(self, event: LauncherEnded) -> None:
        if self._stopping_since is not None:
            return
        code = _exit_code(event.status)
        states = self._simulator.rank_states()
        silent = sorted(set(range(self._ranks)) - self._ended)
        if not all(states[rank]["finalized"] or states[rank]["died"] for rank in silent):
            self._fail(f"mpirun ended with code {code} before all ranks had ended", code or 1)
            return
        for rank in silent:  # mpirun, when it ended the others, has killed its wrapper before that could report
            self._judge_end(RankEnded(rank, -signal.SIGKILL), states[rank])
        if code and not self._exit_code and not self._dead():
            self._exit_code = code


def _code_of(reason: str) -> int:
    """2 where the program asks for what only another option gives."""
    return 2 if reason.endswith("--mpi-calls library") else 1


def _exit_code(status: int) -> int:
    return 128 - status if status < 0 else status & 0xFF


def _signal_text(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    meaning = signal.strsignal(number)
    return f"{name} ({meaning.lower()})" if meaning else name
