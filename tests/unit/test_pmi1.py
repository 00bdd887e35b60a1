# SPDX-License-Identifier: Apache-2.0
"""The PMI-1 server against clients that speak the protocol, and against some that do not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host import unhurried
from hypothesis import given
from hypothesis import strategies as st

from exanet.run import launch, pmi1


class Job:
    """A server and the ranks' ends of its connections."""

    def __init__(self, ranks: int) -> None:
        self.errors: list[tuple[int, str]] = []
        self.aborts: list[tuple[int, int, str]] = []
        self.server = pmi1.Server(ranks, lambda *event: self.errors.append(event), lambda *event: self.aborts.append(event))
        self.clients: list[socket.socket] = []
        for rank in range(ranks):
            self.clients.append(socket.socket(fileno=socket.dup(self.server.open(rank))))
            self.clients[-1].settimeout(0.2)
            self.server.started(rank)

    def say(self, rank: int, text: str | bytes) -> bool:
        self.clients[rank].sendall(text if isinstance(text, bytes) else text.encode())
        return self.server.readable(rank)

    def ask(self, rank: int, line: str) -> str:
        assert self.say(rank, line + "\n")
        return self.hear(rank)

    def hear(self, rank: int) -> str:
        return self.clients[rank].recv(8192).decode()

    def close(self) -> None:
        self.server.close_all()
        for client in self.clients:
            client.close()


@pytest.fixture
def job() -> Iterator[Job]:
    made = Job(3)
    for rank in range(3):
        assert "cmd=response_to_init" in made.ask(rank, "cmd=init pmi_version=1 pmi_subversion=1")
    yield made
    made.close()


def test_facts_about_the_job(job: Job) -> None:
    assert "size=3" in job.ask(0, "cmd=get_universe_size")
    assert "appnum=0" in job.ask(0, "cmd=get_appnum")
    assert "kvsname=" in job.ask(0, "cmd=get_my_kvsname")
    assert "vallen_max=" in job.ask(0, "cmd=get_maxes")


def test_every_rank_has_a_node_of_its_own(job: Job) -> None:
    assert "value=(vector,(0,3,1))" in job.ask(1, "cmd=get kvsname=exanet key=PMI_process_mapping")


def test_put_is_seen_by_others(job: Job) -> None:
    assert "rc=0" in job.ask(0, "cmd=put kvsname=exanet key=a value=some words = here")
    assert job.ask(2, "cmd=get kvsname=exanet key=a") == "cmd=get_result rc=0 msg=success value=some words = here\n"
    assert "rc=-1" in job.ask(1, "cmd=put kvsname=exanet key=a value=again")
    assert "rc=-1" in job.ask(1, "cmd=get kvsname=exanet key=b")


def test_barrier_opens_when_all_are_there(job: Job) -> None:
    for rank in (0, 2):
        assert job.say(rank, "cmd=barrier_in\n")
        with pytest.raises(TimeoutError):
            job.hear(rank)
    assert sorted(job.server.waiting_ranks()) == [0, 2]
    assert job.say(1, "cmd=barrier_in\n")
    assert [job.hear(rank) for rank in range(3)] == ["cmd=barrier_out rc=0\n"] * 3
    assert job.server.waiting_ranks() == []


def test_lines_come_in_pieces_and_together(job: Job) -> None:
    assert job.say(0, "cmd=get_app")
    assert job.say(0, "num\ncmd=get_universe_size\n")
    assert job.hear(0).splitlines() == ["cmd=appnum rc=0 appnum=0", "cmd=universe_size rc=0 size=3"]


def test_abort(job: Job) -> None:
    assert job.say(2, "cmd=abort exitcode=7 message=out of luck\n")
    assert job.aborts == [(2, 7, "out of luck")]


def test_spawn_is_refused(job: Job) -> None:
    assert "rc=1" in job.ask(0, "mcmd=spawn\nnprocs=2\nexecname=a.out\nendcmd")


def test_names_are_published_once_found_and_taken_back(job: Job) -> None:
    assert "rc=1" in job.ask(0, "cmd=lookup_name service=x")
    assert "rc=0" in job.ask(0, "cmd=publish_name service=x port=y")
    assert "rc=1" in job.ask(0, "cmd=publish_name service=x port=z")
    assert "rc=0 port=y" in job.ask(0, "cmd=lookup_name service=x")
    assert "rc=0" in job.ask(0, "cmd=unpublish_name service=x")
    assert "rc=1" in job.ask(0, "cmd=unpublish_name service=x")


def test_end_of_connection(job: Job) -> None:
    job.clients[1].close()
    assert not job.server.readable(1)
    assert job.errors == []
    job.server.close(1)
    assert not job.server.readable(1)


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        ("hello\n", "not NAME=VALUE"),
        ("cmd=dance\n", "unknown command"),
        ("cmd=put key=a value=b\n", "without kvsname"),
        ("cmd=put kvsname=exanet value=b\n", "without key"),
        ("cmd=get kvsname=exanet key=" + "k" * 65 + "\n", "longer than"),
        ("cmd=barrier_in\ncmd=barrier_in\n", "twice"),
        ("cmd=barrier_in group=0,1\n", "group"),
        ("cmd=abort exitcode=much\n", "exitcode"),
        (b"cmd=\xff\xfe\n", "not ASCII"),
        ("c" * 10_000, "a line longer than"),
    ],
)
def test_a_broken_line_ends_the_run_and_names_the_rank(job: Job, sent: str | bytes, complaint: str) -> None:
    assert not job.say(1, sent)
    assert len(job.errors) == 1
    assert job.errors[0][0] == 1
    assert complaint in job.errors[0][1]


def test_commands_before_init() -> None:
    job = Job(1)
    assert not job.say(0, "cmd=barrier_in\n")
    assert "before init" in job.errors[0][1]
    job.close()


@unhurried
@given(st.lists(st.binary(min_size=1, max_size=200), max_size=10))
def test_no_bytes_break_the_server(pieces: list[bytes]) -> None:
    job = Job(1)
    try:
        alive = True
        for piece in pieces:
            alive = alive and job.say(0, piece)
        assert alive == (job.errors == [])
    finally:
        job.close()


def test_a_thousand_ranks_meet() -> None:
    ranks = 1000
    from exanet.run.launch import _allow_files

    _allow_files(3 * ranks + 128)
    job = Job(ranks)
    try:
        for rank in range(ranks):
            job.ask(rank, "cmd=init pmi_version=1 pmi_subversion=1")
            job.say(rank, "cmd=barrier_in\n")
        assert {job.hear(rank) for rank in range(ranks)} == {"cmd=barrier_out rc=0\n"}
    finally:
        job.close()


def in_a_rank(job: Job, rank: int, code: str, table: str | None = None) -> str:
    """What a process says that has the library of ranks in it, and this rank's connection; nobody serves that
    meanwhile."""
    number = job.clients[rank].fileno()
    library = launch.library_folder() / "libexanet-fi.so"
    own = {"PMI_FD": str(number), "EXANET_PMI_TABLE": job.server.table.path if table is None else table, "LD_PRELOAD": str(library)}
    program = f"import os\nask = lambda text: os.write({number}, text.encode())\nhear = lambda: os.read({number}, 9999).decode()\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **own},
        pass_fds=[number],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def barrier(job: Job) -> None:
    for rank in range(3):
        assert job.say(rank, "cmd=barrier_in\n")
    assert [job.hear(rank) for rank in range(3)] == ["cmd=barrier_out rc=0\n"] * 3


def test_what_was_put_before_a_barrier_is_answered_in_the_rank(job: Job) -> None:
    keys = [f"-allgather-1-{i}" for i in (11, 2, 0)]
    for key in keys:
        job.ask(0, f"cmd=put kvsname=x key={key} value=of {key} [3]")
    asks = "".join(f"ask('cmd=get kvsname=x key={key}\\n'); print(hear(), end='')\n" for key in [*sorted(keys), *keys, *keys])
    barrier(job)
    said = [f"cmd=get_result rc=0 msg=success value=of {key} [3]" for key in [*sorted(keys), *keys, *keys]]
    assert in_a_rank(job, 1, asks).splitlines() == said
    job.ask(2, "cmd=put kvsname=x key=later value=1")
    barrier(job)
    later = f"ask('cmd=get kvsname=x key=later\\n'); print(os.read({job.clients[0].fileno()}, 7), hear())"
    assert in_a_rank(job, 0, later).split() == ["b'cmd=get'", "_result", "rc=0", "msg=success", "value=1"]


def test_what_the_table_does_not_have_goes_to_the_launcher(job: Job, tmp_path: Path) -> None:
    job.ask(0, "cmd=put kvsname=x key=long value=" + "v" * 4096)
    barrier(job)
    assert in_a_rank(job, 0, "ask('cmd=get kvsname=x key=long\\n'); print(len(hear()))").strip() == str(4096 + 39)
    job.ask(0, "cmd=put kvsname=x key=unseen value=1")
    for line in ("cmd=get kvsname=x key=unseen", "cmd=get kvsname=x key=lon", "cmd=get kvsname=x", "cmd=getx key=long"):
        in_a_rank(job, 1, f"ask({line!r} + '\\n')")
        assert job.server.sock(1).recv(4096).decode() == line + "\n"
    broken = tmp_path / "table"
    broken.write_bytes((1 << 60).to_bytes(8, "little") + b"long 1\n" + bytes(1 << 24))
    for table in ("", "/nowhere", str(broken)):
        in_a_rank(job, 1, "ask('cmd=get kvsname=x key=long\\n')", table)
        assert job.server.sock(1).recv(4096).decode() == "cmd=get kvsname=x key=long\n"


def test_a_full_table_leaves_the_rest_to_the_server(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pmi1, "_TABLE_BYTES", 40)
    for each in range(3):
        job.ask(0, f"cmd=put kvsname=x key=k{each} value=0123456789")
        barrier(job)
    table = Path(job.server.table.path).read_bytes()
    assert table[: int.from_bytes(table[:8], "little") + 8][8:] == b"k0 0123456789\nk1 0123456789\n"
    assert job.ask(1, "cmd=get kvsname=x key=k2") == "cmd=get_result rc=0 msg=success value=0123456789\n"
