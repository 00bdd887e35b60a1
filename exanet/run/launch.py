# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a run, hears from them, and ends them.

Every rank runs below the wrapper `exanet-exec`, which reports its start and end to a socket of ours, whoever started
it: MPICH's ranks and plain libexanet programs are started here, Open MPI's by its own mpirun. Packed ranks are started
by a host, in their wrappers' stead. One thread serves everything: the reports, MPICH's PMI-1 server, the deaths of
children. Nothing that a rank starts survives `Session.close`.

Reports come over a datagram socket in the abstract name space, which vanishes with us; only our own user's are
believed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import select
import selectors
import signal
import socket
import struct
import termios
import time
import tty
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exanet.errors import InputError
from exanet.mpi import settings as mpi_settings
from exanet.mpi.detect import Mpi
from exanet.run import pmi1
from exanet.run.packed import WORKER_THREADS, Packed, worker_threads

_PR_SET_CHILD_SUBREAPER = 36
_PMI_FD = 3
_IGNORED_HERE = [signal.SIGPIPE, signal.SIGXFSZ]  # by Python; a program expects their default
_CREDENTIALS = struct.Struct("iII")
_Action = tuple[int, int, int] | tuple[int, int, str, int, int]  # of posix_spawn


def library_folder() -> Path:
    """The folder of exanet-exec and the libraries: in the installed package, or where EXANET_LIB_DIR says (a build
    tree)."""
    given = os.environ.get("EXANET_LIB_DIR")
    folder = Path(given) if given else Path(__file__).parent.parent / "lib"
    for name in (
        "exanet-exec",
        "libexanet-fi.so",
        "libexanet-sessions.so",
        "libexanet-lists.so",
        "libexanet-persistent.so",
        "libexanet-tolerance.so",
        "libexanet-shmem.so",
        "libexanet-sockets.so",
        "libexanet-gpu.so",
        "libexanet-cpu.so",
        "libexanet-record.so",
        "libexanet-record-lists.so",
        "libexanet-record-persistent.so",
    ):
        if not (folder / name).is_file():
            raise InputError(f"{folder / name} is missing: install the package (pip install .), or set EXANET_LIB_DIR to a build folder")
    if ":" in str(folder) or " " in str(folder):
        raise InputError(f"{folder}: the loader cannot preload a library from a path with a colon or a space; install elsewhere")
    return folder


@dataclass(frozen=True)
class RankEnded:
    """A rank's program is over: `status` as os.waitstatus_to_exitcode has it; `exec_errno` is set when it could not
    be started."""

    rank: int
    status: int
    exec_errno: int = 0


@dataclass(frozen=True)
class RankAborted:
    """A rank asked for the end of the job."""

    rank: int
    code: int
    text: str


@dataclass(frozen=True)
class RankFault:
    """A rank broke the launcher's protocol."""

    rank: int
    text: str


@dataclass(frozen=True)
class LauncherEnded:
    """mpirun is over."""

    status: int


@dataclass(frozen=True)
class HostEnded:
    """The host of packed ranks is over, before its time."""

    status: int


Event = RankEnded | RankAborted | RankFault | LauncherEnded | HostEnded


class Session:
    """The processes of one run.

    Contract: construct, `start`, `poll` until `alive` is false, `close`. `start` must be called by a thread that lives
    as long as the session, because the kernel ends the ranks with it. `terminate` asks everything to end, `kill` ends
    it. The ranks write to our stdout and stderr; where these are terminals and `terminal` is given, it gets what they
    write (and they still see a terminal).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        ranks: int,
        mpi: Mpi,
        region: str,
        record: Path | None = None,
        trap_tsc: bool = False,
        terminal: Callable[[bytes], None] | None = None,
        packed: Packed | None = None,
        order: str = "",
        sockets: bool = False,
        gpus: bool = False,
        environment: Mapping[str, str] | None = None,
        library: Path | None = None,
    ) -> None:
        folder = library_folder()
        self._command = list(packed.command if packed else command)
        self._packed = packed
        self._host: socket.socket | None = None  # its other end shows the host of packed ranks that the run goes on
        self._host_pid = 0
        self._host_library = str(folder / "libexanet-host.so")
        self._order = {"EXANET_SIMULATOR_LIBRARY": str(folder / "libexanet-simulator.so"), "EXANET_ORDER": order} if order else {}
        self._ranks = ranks
        self._mpi = mpi
        self._wrapper = str(folder / "exanet-exec")
        self._events: list[Event] = []
        self._pids: dict[int, int] = {}
        self._ended: set[int] = set()
        self.counts: dict[int, list[int]] = {}  # of emulated processors, by rank (exanet.results.processors)
        self._children: dict[int, int] = {}  # process started here -> its rank, or -1 for mpirun
        self._others: set[int] = set()  # children that somebody else has started before, as in a notebook
        self._selector = selectors.DefaultSelector()
        self._status = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"exanet-{os.getpid()}-{os.urandom(8).hex()}"
        self._status.bind(f"\0{name}")
        self._status.setblocking(False)
        self._status.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._selector.register(self._status, selectors.EVENT_READ, None)
        self._wake_in, self._wake_out = socket.socketpair()
        for each in (self._wake_in, self._wake_out):
            each.setblocking(False)
        self._selector.register(self._wake_in, selectors.EVENT_READ, None)
        self._output = _Terminal(terminal) if terminal else None
        if self._output:
            self._selector.register(self._output.ours, selectors.EVENT_READ, self._output)
        self._pmi = pmi1.Server(ranks, self._pmi_error, self._pmi_abort) if mpi.kind in ("mpich", "openshmem") else None
        self._environment = mpi_settings.environment(
            mpi, region=region, status=f"@{name}", library=library or folder / "libexanet-fi.so", sockets=sockets, gpus=gpus
        )
        self._environment |= environment or {}
        if record:
            self._environment["EXANET_RECORD"] = str(record)
        if trap_tsc:
            self._environment["EXANET_TRAP_TSC"] = "1"

    # -- starting ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts all ranks."""
        # Orphans of a killed wrapper become our children, so that `close` can end them.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._others = set(_children_of_this_process())
        try:
            self._start_all()
        finally:
            if self._output:
                self._output.started()

    def _start_all(self) -> None:
        if self._packed:
            self._start_host(self._packed)
        if self._mpi.kind == "openmpi":
            command = [*mpi_settings.mpirun_command(self._mpi, self._ranks), self._wrapper, "--", *self._command]
            self._spawn(-1, [self._wrapper, "--guard", "--", *command], self._environment, [])
            return
        _allow_files(2 * self._ranks + 128)
        for rank in range(self._ranks):
            env = {**self._environment, "EXANET_RANK": str(rank)}
            actions: list[_Action] = []
            if rank > 0:
                actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
            if self._pmi:
                env["EXANET_PMI_TABLE"] = self._pmi.table.path
                env |= {"PMI_RANK": str(rank), "PMI_SIZE": str(self._ranks), "PMI_FD": str(_PMI_FD), "PMI_SPAWNED": "0"}
                actions.append((os.POSIX_SPAWN_DUP2, self._pmi.open(rank), _PMI_FD))
            self._spawn(rank, [self._wrapper, "--", *self._command], env, actions)
            if self._pmi:
                self._pmi.started(rank)
                self._selector.register(self._pmi.sock(rank), selectors.EVENT_READ, rank)

    def _start_host(self, packed: Packed) -> None:
        """Starts the host of packed ranks: their own program, held before its first line by what is preloaded into
        it."""
        _allow_files(2 * self._ranks + 128)
        name = f"exanet-host-{os.getpid()}-{os.urandom(8).hex()}"
        self._host, theirs = socket.socketpair()
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listens:
            listens.bind(f"\0{name}")
            listens.listen(self._ranks)
            for each in (listens, theirs):
                each.set_inheritable(True)
            env = {name: value for name, value in self._environment.items() if name != "EXANET_STATUS"}
            env |= {"LD_PRELOAD": self._host_library, "EXANET_HOST_FILES": f"{listens.fileno()},{theirs.fileno()}", **self._order}
            if asked := worker_threads():
                env[WORKER_THREADS] = asked
            null: _Action = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
            try:
                self._host_pid = os.posix_spawn(
                    packed.program, packed.command, env, file_actions=[null], setsigdef=_IGNORED_HERE, setsigmask=[]
                )
            except OSError as error:
                raise InputError(f"program {str(packed.program)!r} could not be started: {error.strerror}") from None
        self._environment["EXANET_HOST"] = f"@{name}"

    def _spawn(self, rank: int, arguments: list[str], env: dict[str, str], actions: list[_Action]) -> None:
        if self._output:
            actions += self._output.actions()
        pid = os.posix_spawn(self._wrapper, arguments, env, file_actions=actions, setsigdef=_IGNORED_HERE, setsigmask=[])
        self._children[pid] = rank

    # -- hearing -------------------------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether anything started here still runs."""
        return bool(self._children)

    def pid(self, rank: int) -> int | None:
        """The process of the rank's program, once it has started."""
        return self._pids.get(rank)

    def waiting_in_launcher(self) -> list[int]:
        """Ranks that wait for others inside MPI_Init, before the simulated network knows them. Known for MPICH only."""
        return self._pmi.waiting_ranks() if self._pmi else []

    def wake(self) -> None:
        """Makes `poll` return soon. Any thread may call it, and signal handlers."""
        with contextlib.suppress(OSError):  # full: it wakes anyway; closed: nobody polls any more
            self._wake_out.send(b"\0")

    @property
    def wake_fd(self) -> int:
        """For signal.set_wakeup_fd."""
        return self._wake_out.fileno()

    def poll(self, timeout_s: float) -> list[Event]:
        """Serves everything for at most so long; returns what happened, in order."""
        for key, _ in self._selector.select(timeout_s):
            if key.fileobj is self._status:
                self._read_reports()
            elif key.fileobj is self._wake_in:
                with contextlib.suppress(BlockingIOError):
                    self._wake_in.recv(4096)
            elif key.data is self._output:
                if not self._output.read():
                    self._selector.unregister(self._output.ours)
            elif self._pmi and not self._pmi.readable(key.data):
                self._selector.unregister(key.fileobj)
                self._pmi.close(key.data)
        self._reap()
        if any(isinstance(event, RankEnded) and event.status == -signal.SIGKILL for event in self._events):
            self._await_host()
        events, self._events = self._events, []
        return events

    def _await_host(self) -> None:
        """Ranks are killed while their host's first thread ends; its end is reported when all its threads have ended:
        waits for that.

        A rank that was killed by somebody else is reported a moment later, therefore.
        """
        began = time.monotonic()
        while self._host_pid and time.monotonic() - began < (1.0 if _is_zombie(self._host_pid) else 0.1):
            time.sleep(0.002)
            self._reap()

    def _pmi_error(self, rank: int, text: str) -> None:
        self._events.append(RankFault(rank, text))

    def _pmi_abort(self, rank: int, code: int, text: str) -> None:
        self._events.append(RankAborted(rank, code, text))

    def _read_reports(self) -> None:
        while True:
            try:
                line, ancillary, _, _ = self._status.recvmsg(512, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                return
            uids = [_CREDENTIALS.unpack(data)[1] for _, kind, data in ancillary if kind == socket.SCM_CREDENTIALS]
            if uids == [os.geteuid()]:
                self._report(line.decode(errors="replace").split())

    def _report(self, words: list[str]) -> None:
        try:
            what, rank, *numbers = words[0], *(int(word) for word in words[1:])
        except (IndexError, ValueError):
            return
        if not 0 <= rank < self._ranks:
            self._events.append(RankFault(rank, f"it reported itself as rank {rank} of {self._ranks}"))
        elif what == "started" and len(numbers) == 1:
            self._pids[rank] = numbers[0]
        elif what == "ended" and len(numbers) == 2:
            self._end(RankEnded(rank, numbers[1]))
        elif what == "counted":
            self.counts[rank] = numbers
        elif what == "failed" and len(numbers) == 1:
            self._end(RankEnded(rank, 127 if numbers[0] == errno.ENOENT else 126, exec_errno=numbers[0]))

    def _end(self, event: RankEnded) -> None:
        if event.rank not in self._ended:
            self._ended.add(event.rank)
            self._events.append(event)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = self._ended_child()
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._host_pid:
                self._host_pid = 0
                self._events.append(HostEnded(os.waitstatus_to_exitcode(status)))
                continue
            rank = self._children.pop(pid, None)
            if rank is None:
                continue  # an orphan that came to us
            # The wrapper's last words on the rank are in the socket by now.
            self._read_reports()
            code = os.waitstatus_to_exitcode(status)
            if rank < 0:
                self._events.append(LauncherEnded(code))
            else:
                # Only a wrapper that was killed itself has said nothing; its program died with it.
                self._end(RankEnded(rank, code))

    def _ended_child(self) -> tuple[int, int]:
        """A child of the run that has ended, with its status, as os.waitpid has it; 0 where none has. Raises
        ChildProcessError where there are none left."""
        if not self._others:
            return os.waitpid(-1, os.WNOHANG)
        left = [pid for pid in _children_by_parents() if pid in self._children or pid not in self._others]
        for pid in left:
            ended = os.waitpid(pid, os.WNOHANG)
            if ended[0]:
                return ended
        if not left:
            raise ChildProcessError
        return 0, 0

    # -- ending --------------------------------------------------------------------------------------------------------

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def close(self) -> None:
        """Ends whatever is left of the run, orphans too, and gives everything back."""
        self.kill()
        if self._host:
            self._host.close()
        limit = time.monotonic() + 5
        while time.monotonic() < limit:
            try:
                if self._ended_child()[0]:
                    continue
            except ChildProcessError:
                break
            for pid in set(_children_of_this_process()) - self._others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
        self._children.clear()
        if self._output:
            self._output.close()
        if self._pmi:
            self._pmi.close_all()
        self._selector.close()
        for each in (self._status, self._wake_in, self._wake_out):
            each.close()


class _Terminal:
    """A pseudo-terminal between the ranks and the terminal, so that what they write and a line of ours do not run
    into each other."""

    def __init__(self, show: Callable[[bytes], None]) -> None:
        self._show = show
        self.ours, self._theirs = os.openpty()
        os.set_blocking(self.ours, False)
        tty.setraw(self._theirs)  # the real terminal turns \n into \r\n
        with contextlib.suppress(termios.error):
            termios.tcsetwinsize(self._theirs, termios.tcgetwinsize(2))

    def actions(self) -> list[_Action]:
        return [(os.POSIX_SPAWN_DUP2, self._theirs, fd) for fd in (1, 2) if os.isatty(fd)]

    def started(self) -> None:
        os.close(self._theirs)

    def read(self) -> bool:
        """Shows what has come; false when nobody writes any more."""
        try:
            data = os.read(self.ours, 65536)
        except BlockingIOError:
            return True
        except OSError:  # EIO: all ends of the ranks are closed
            return False
        self._show(data)
        return bool(data)

    def close(self) -> None:
        while select.select([self.ours], [], [], 0)[0] and self.read():
            continue
        os.close(self.ours)


def _is_zombie(pid: int) -> bool:
    """Whether the first thread of the process has ended, and nobody has taken its status yet."""
    try:
        return Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def _children_of_this_process() -> list[int]:
    """From the kernel's lists, or from all processes' parents where it has none (CONFIG_PROC_CHILDREN).

    A list can lack a child while another one is waited for by somebody else, as in a notebook.
    """
    with contextlib.suppress(OSError):
        return [int(pid) for task in os.listdir("/proc/self/task") for pid in _words(f"/proc/self/task/{task}/children")]
    return _children_by_parents()


def _words(file: str) -> list[str]:
    with open(file, encoding="ascii") as opened:
        return opened.read().split()


def _children_by_parents() -> list[int]:
    found: list[int] = []
    me = os.getpid()
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                # The parent is the second word after the name, which stands in parentheses and may hold anything.
                if int(Path("/proc", entry, "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]) == me:
                    found.append(int(entry))
    return found


def _allow_files(count: int) -> None:
    """Raises the limit of open files to what so many connections need; no further, since some programs close every
    possible one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise InputError(f"this run needs {count} open files and the limit is {hard}; raise it (ulimit -Hn), or use fewer ranks")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
