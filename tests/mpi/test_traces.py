# SPDX-License-Identifier: Apache-2.0
"""Recording changes nothing, and a replay on the same machine is the run again: each kind of call, and programs, on
MPICH."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from host import LONG, tried

from exanet import replay, results
from exanet.advise import advise
from exanet.errors import InputError
from exanet.trace import convert, folder

from .conftest import PROGRAMS, Finished, Runner, Stack

KEYS = ["src", "dst", "bytes", "posted_ps", "delivered_ps"]


def replayed(trace: Path, folder: Path, *, machine: str = "exanest", mapping: str = "linear") -> dict[str, pl.DataFrame]:
    found, meta = replay.replay(replay.Options((trace,), machine, mapping))
    tables = results.to_tables(found, meta["machine"])
    results.write(folder, found, meta, tables=tables)
    return tables


def recorded(
    exanet_run: Runner, stack: Stack, ranks: int, words: Sequence[str | Path], trace: Path, *, compute: str = "off", mapping: str = "linear"
) -> Finished:
    return exanet_run(stack, ranks, words, options=("--compute", compute, "--map", mapping, "--record", str(trace)))


def there_and_back(trace: Path) -> Path:
    """The trace once more, out of an archive of OTF2."""
    convert.convert(trace, trace.with_suffix(".otf2"), {})
    convert.convert(trace.with_suffix(".otf2"), trace.with_suffix(".back"), {})
    return trace.with_suffix(".back")


def figures(folder: Path) -> tuple[int, ...]:
    summary = results.load(folder).summary
    return tuple(summary[key] for key in ("messages", "message_bytes", "packets", "packet_hops"))


@pytest.mark.parametrize("program", tried(["two_sided", "collectives", "one_sided"], ["collectives", "one_sided"]))
def test_recording_changes_nothing(exanet_run: Runner, stack: Stack, tmp_path: Path, program: str) -> None:
    """On every MPI."""
    words = [stack.python, PROGRAMS / f"{program}.py"]
    alone = exanet_run(stack, 4, words)
    with_trace = recorded(exanet_run, stack, 4, words, tmp_path / "trace")
    for name in ("messages.parquet", "ranks.parquet"):
        assert (alone.folder / name).read_bytes() == (with_trace.folder / name).read_bytes()
    calls = pl.read_parquet(tmp_path / "trace" / "calls.parquet")
    counted = results.load(with_trace.folder).mpi_calls.group_by("call").agg(pl.col("calls").sum())
    for name in ("MPI_Send", "MPI_Irecv", "MPI_Allreduce", "MPI_Alltoallv", "MPI_Put", "MPI_Win_fence", "MPI_Win_unlock"):
        assert len(calls.filter(pl.col("call") == name)) == sum(counted.filter(pl.col("call") == name)["calls"])


def test_a_timeline_changes_nothing_and_has_the_calls(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    words = [mpich.python, PROGRAMS / "two_sided.py"]
    alone = exanet_run(mpich, 4, words)
    options = ("--compute", "off", "--timeline", "--record", str(tmp_path / "trace"))
    shown = exanet_run(mpich, 4, words, options=options)
    for name in ("messages.parquet", "ranks.parquet", "mpi_calls.parquet"):
        assert (alone.folder / name).read_bytes() == (shown.folder / name).read_bytes()
    run = results.load(shown.folder)
    calls = pl.read_parquet(tmp_path / "trace" / "calls.parquet").filter(pl.col("call").str.starts_with("MPI_"))
    assert run.calls is not None and run.calls.drop("kind").equals(calls.select(run.calls.drop("kind").columns))
    assert (shown.folder / "timeline.html").stat().st_size > 50_000
    without_a_trace = exanet_run(mpich, 4, words, options=("--compute", "off", "--timeline"))
    for name in ("calls.parquet", "critical_path.parquet", "timeline.html"):
        assert (without_a_trace.folder / name).read_bytes() == (shown.folder / name).read_bytes()


LATE = """
from mpi4py import MPI
import numpy as np, time
world = MPI.COMM_WORLD
for size in (1, 20000):
    if world.rank == 2: time.sleep(0.001)
    world.Allreduce(np.ones(size), np.zeros(size))
MPI.Finalize()
"""


def test_the_critical_path_of_a_run_leads_through_the_rank_that_is_late(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    """On every MPI; without gap, and as long as the run."""
    options = ("--compute", "off", "--timeline", "--record", str(tmp_path / "trace"))
    shown = exanet_run(stack, 4, [stack.python, "-c", LATE], options=options)
    run = results.load(shown.folder)
    path = run.critical_path
    assert path is not None and path["begin_ps"].to_list() == [0, *path["end_ps"].to_list()[:-1]]
    assert path["end_ps"][-1] == run.summary["virtual_ps"]
    assert path["begins_at"].to_list()[1:] == path["ends_at"].to_list()[:-1]
    computing = path.filter(kind="compute").group_by("rank").agg((pl.col("end_ps") - pl.col("begin_ps")).sum().alias("ps"))
    slept = dict(computing.iter_rows())
    assert slept[2] >= 2_000_000_000 and sum(slept.values()) - slept[2] < 1_000_000
    assert path.filter(kind="message")["queueing_ps"].min() >= 0  # type: ignore[operator]
    found = advise(replay.Options([str(tmp_path / "trace")], "exanest")).best()[0]
    assert found.candidate.kind == "late rank" and "waits for rank 2" in found.text() and found.replayed_percent > 70


COLLECTIVES = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
for c in (world, world.Split(world.rank % 2, -world.rank)):
    p, me = c.size, c.rank
    for count in (1, 40, 5000):
        a, b, many = np.ones(count), np.zeros(count), np.zeros(count * p)
        c.Barrier(); c.Bcast(a, root=count % p); c.Allreduce(a, b); c.Reduce(a, b, root=count % p); c.Scan(a, b)
        c.Allgather(a, many); c.Gather(a, many, root=count % p); c.Scatter(many, a, root=count % p); c.Reduce_scatter_block(many, a)
        c.Alltoall(many, np.zeros(count * p)); c.Ialltoall(many, np.zeros(count * p)).Wait()
        counts = [count + i for i in range(p)]
        mine, all_of_it = np.ones(counts[me]), np.zeros(sum(counts))
        c.Allgatherv(mine, [all_of_it, counts]); c.Gatherv(mine, [all_of_it, counts]); c.Scatterv([all_of_it, counts], mine)
    requests = [c.Isend(np.ones(3), (me + 1) % p), c.Irecv(np.zeros(3), (me - 1) % p), c.Ibarrier()]
    MPI.Request.Waitall(requests)
    c.Ssend(np.ones(9), (me + 1) % p) if me % 2 == 0 else c.Recv(np.zeros(9), (me - 1) % p)
    c.Sendrecv(np.ones(999), (me + 1) % p, 4, np.zeros(999), (me - 1) % p, 4)
    start = [c.Send_init(np.ones(5), (me + 1) % p, 8), c.Recv_init(np.zeros(5), (me - 1) % p, 8)]
    for _ in range(3):
        MPI.Prequest.Startall(start); MPI.Request.Waitall(start)
    if me == 0:
        c.Send(np.ones(7), 1, 9)
    if me == 1:
        c.Probe(0, 9); c.Recv(np.zeros(7), 0, 9)
"""


@pytest.mark.parametrize("ranks", tried([8, 12], [12]))
def test_collectives_are_the_same_messages(exanet_run: Runner, mpich: Stack, tmp_path: Path, ranks: int) -> None:
    done = recorded(exanet_run, mpich, ranks, [mpich.python, "-c", COLLECTIVES], tmp_path / "trace", mapping="round-robin")
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping="round-robin")
    assert figures(tmp_path / "replayed") == figures(done.folder)
    pairs = ["src", "dst", "bytes"]
    run = results.load(done.folder)
    assert tables["messages"].select(pairs).sort(pairs).equals(run.messages.select(pairs).sort(pairs))
    assert tables["ranks"]["virtual_ps"].max() == pytest.approx(run.summary["virtual_ps"], rel=0.005)
    back = replayed(there_and_back(tmp_path / "trace"), tmp_path / "again", mapping="round-robin")
    assert back["messages"].equals(tables["messages"]) and back["ranks"].equals(tables["ranks"])


def test_every_kind_of_message_is_replayed(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """Synchronous, buffered, persistent and cancelled ones, probes, one that is too long for its buffer, and some to
    the rank itself."""
    done = recorded(exanet_run, mpich, 5, [mpich.python, PROGRAMS / "two_sided.py"], tmp_path / "trace", mapping="round-robin")
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping="round-robin")
    assert figures(tmp_path / "replayed") == figures(done.folder)
    assert tables["ranks"]["virtual_ps"].max() == pytest.approx(done.summary["virtual_ps"], rel=0.02)
    back = replayed(there_and_back(tmp_path / "trace"), tmp_path / "again", mapping="round-robin")
    assert figures(tmp_path / "again") == figures(done.folder)
    assert back["ranks"]["virtual_ps"].max() == pytest.approx(tables["ranks"]["virtual_ps"].max(), rel=0.001)


def test_a_ping_pong_is_the_same_to_the_picosecond(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    done = recorded(
        exanet_run, mpich, 2, [mpich.python, PROGRAMS / "pingpong.py", "8", "512", "20000"], tmp_path / "trace", mapping="round-robin"
    )
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping="round-robin")
    run = results.load(done.folder)
    assert len(run.messages) > 10
    assert tables["messages"].select(KEYS).sort(KEYS).equals(run.messages.select(KEYS).sort(KEYS))
    assert tables["ranks"]["virtual_ps"].max() == run.summary["virtual_ps"]


@pytest.mark.parametrize(
    ("program", "compute"),
    tried([("cg", "off"), ("fft", "measured"), ("cg", "measured"), ("fft", "off")], [("cg", "off"), ("fft", "measured")]),
)
def test_programs_take_the_same_time(exanet_run: Runner, mpich: Stack, tmp_path: Path, program: str, compute: str) -> None:
    words = [mpich.python, PROGRAMS / f"{program}.py", *{"cg": ("256", "10"), "fft": ("32", "1")}[program]]
    done = recorded(exanet_run, mpich, 16, words, tmp_path / "trace", compute=compute)
    tables = replayed(tmp_path / "trace", tmp_path / "replayed")
    assert figures(tmp_path / "replayed") == figures(done.folder)
    assert tables["ranks"]["virtual_ps"].max() == pytest.approx(done.summary["virtual_ps"], rel=0.02)
    if compute == "measured":
        back = replayed(there_and_back(tmp_path / "trace"), tmp_path / "again")
        assert back["messages"].equals(tables["messages"]) and back["ranks"].equals(tables["ranks"])
    if compute == "off":
        elsewhere = exanet_run(mpich, 16, words, machine="trenz-2x2")
        there = replayed(tmp_path / "trace", tmp_path / "there", machine="trenz-2x2")
        assert figures(tmp_path / "there") == figures(elsewhere.folder)
        assert there["ranks"]["virtual_ps"].max() == pytest.approx(elsewhere.summary["virtual_ps"], rel=0.05)


def sent(folder: Path) -> pl.DataFrame:
    """How many messages of each size went from rank to rank."""
    return pl.read_parquet(folder / "messages.parquet").group_by("src", "dst", "bytes").len().sort("src", "dst", "bytes")


@pytest.mark.parametrize("ranks", [8, 12, 16] if LONG else [12])
def test_collectives_of_open_mpi_take_its_own_algorithms(exanet_run: Runner, openmpi4: Stack, tmp_path: Path, ranks: int) -> None:
    """Message by message: who sends how many bytes to whom. By MPICH's rules it is other messages."""
    trace = tmp_path / "trace"
    done = recorded(exanet_run, openmpi4, ranks, [openmpi4.python, PROGRAMS / "sizes.py"], trace)
    replayed(trace, tmp_path / "own")
    assert figures(tmp_path / "own")[:2] == figures(done.folder)[:2]
    assert sent(tmp_path / "own").equals(sent(done.folder))
    found, meta = replay.replay(replay.Options((trace,), "exanest", rules="mpich"))
    assert meta["rules"] == ["mpich"]
    others = (found["summary"]["messages"], found["summary"]["bytes"])
    assert others[0] != done.summary["messages"] and others[1] != done.summary["message_bytes"]
    print(ranks, "ranks: recorded", figures(done.folder)[:2], "by MPICH's rules", others)


def test_communicators_of_open_mpi_take_its_messages(exanet_run: Runner, openmpi4: Stack, tmp_path: Path) -> None:
    program = "from mpi4py import MPI\nw = MPI.COMM_WORLD\nw.Dup()\nw.Split(w.rank % 2, w.rank)\nw.Create_cart([w.size])\n"
    program += "w.Create(w.group.Incl(range(w.size // 2)))\n"
    done = recorded(exanet_run, openmpi4, 6, [openmpi4.python, "-c", program], tmp_path / "trace")
    replayed(tmp_path / "trace", tmp_path / "own")
    assert done.summary["messages"] > 0
    assert sent(tmp_path / "own").equals(sent(done.folder))


def test_rules_that_there_are_not_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--rules 'lam': there are no such rules; give one of mpich, open-mpi"):
        replay.replay(replay.Options((tmp_path,), "exanest", rules="lam"))


def test_of_a_killed_rank_what_is_whole_stays(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    program = "import os, signal\nfrom mpi4py import MPI\nw = MPI.COMM_WORLD\nfor i in range(50): w.Barrier()\n"
    program += "if w.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\nw.Barrier()\n"
    trace = tmp_path / "trace"
    exanet_run(mpich, 2, [mpich.python, "-c", program], options=("--compute", "off", "--record", str(trace)), code=137)
    calls = pl.read_parquet(trace / "calls.parquet")
    assert len(calls.filter((pl.col("rank") == 1) & (pl.col("call") == "MPI_Barrier"))) == 50
    done = subprocess.run(
        [sys.executable, "-m", "exanet", "replay", str(trace), "-m", "exanest"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "the recording is incomplete" in done.stderr


FILLS_THE_DISK = """
import contextlib, sys, numpy
from mpi4py import MPI
w = MPI.COMM_WORLD
me, box = numpy.zeros(1), numpy.zeros(1)
w.Barrier()
if w.rank == 0:
    with open(sys.argv[1], "wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(bytes(4096))
w.Barrier()
for _ in range(25000):
    w.Sendrecv(me, w.rank, 1, box, w.rank, 1)
print("done")
"""


def test_where_the_disk_is_full_the_run_goes_on_and_what_is_whole_stays(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=36m", "none", place], capture_output=True).returncode:
        pytest.skip("may not mount a small file system here")
    try:
        ballast, trace = place / "ballast", place / "trace"
        options = ("--compute", "off", "--record", str(trace))
        ended = exanet_run(mpich, 2, [mpich.python, "-c", FILLS_THE_DISK, ballast], options=options, code=2)
        assert ended.output.count("done") == 2
        for rank in range(2):
            reported = f"exanet: rank {rank}: its MPI calls are recorded no further: No space left on device; the run goes on"
            assert ended.errors.count(reported) == 1
        assert "No space left on device; free some space or choose another place with --record" in ended.errors
        ballast.unlink()
        found = folder.load(trace)
        assert not found.about.complete and found.about.calls > 20_000
        with pytest.raises(InputError, match="the recording is incomplete and cannot be replayed"):
            replay.replay(replay.Options((trace,), "exanest"))
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("mapping", tried(["linear", "round-robin"], ["linear"]))
def test_one_sided_calls_are_the_same_messages(exanet_run: Runner, mpich: Stack, tmp_path: Path, mapping: str) -> None:
    """Each kind of access and of synchronisation."""
    done = recorded(exanet_run, mpich, 5, [mpich.python, PROGRAMS / "one_sided.py"], tmp_path / "trace", mapping=mapping)
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping=mapping)
    assert figures(tmp_path / "replayed") == figures(done.folder)
    assert kinds(tmp_path / "replayed").equals(kinds(done.folder))
    assert tables["ranks"]["virtual_ps"].max() == pytest.approx(done.summary["virtual_ps"], rel=0.02)
    back = replayed(there_and_back(tmp_path / "trace"), tmp_path / "again", mapping=mapping)
    assert back["messages"].equals(tables["messages"]) and back["ranks"].equals(tables["ranks"])
    if mapping == "round-robin":
        return
    elsewhere = exanet_run(mpich, 5, [mpich.python, PROGRAMS / "one_sided.py"], machine="trenz-2x2")
    there = replayed(tmp_path / "trace", tmp_path / "there", machine="trenz-2x2")
    assert there["ranks"]["virtual_ps"].max() == pytest.approx(elsewhere.summary["virtual_ps"], rel=0.05)


def kinds(folder: Path) -> pl.DataFrame:
    """How many messages, puts, gets of each size went from rank to rank."""
    keys = ["src", "dst", "bytes", "protocol"]
    return pl.read_parquet(folder / "messages.parquet").group_by(keys).len().sort(keys)


LONG_AND_IN_PIECES = """
import mpi4py
mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI
import numpy as np
w = MPI.COMM_WORLD
right = (w.rank + 1) % w.size
win = MPI.Win.Allocate(1 << 18, 8, comm=w)
pieces = MPI.DOUBLE.Create_vector(8, 2, 4).Commit()
a, b, long, back = np.ones(64), np.zeros(64), np.ones(9000), np.zeros(9000)
win.Fence()
win.Put([a, 1, pieces], right, (0, 1, pieces)); win.Get([b, 16, MPI.DOUBLE], right, (0, 1, pieces)); win.Fence()
win.Put([a, 1, pieces], right, (0, 16, MPI.DOUBLE)); win.Accumulate([a, 1, pieces], right, (0, 1, pieces), op=MPI.SUM); win.Fence()
win.Accumulate(long, right, op=MPI.SUM); win.Get_accumulate(long, back, right, op=MPI.SUM); win.Fence()
win.Get_accumulate(long, back, right, op=MPI.NO_OP); win.Fence()
win.Lock_all()
requests = [win.Rput(a, right), win.Rget(b, right), win.Raccumulate(a, right, op=MPI.SUM), win.Rget_accumulate(a, b, right, op=MPI.SUM)]
MPI.Request.Waitall(requests); win.Flush_all(); win.Unlock_all()
win.Free()
"""


def test_accesses_that_are_long_or_in_pieces_are_the_same_messages(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    done = recorded(exanet_run, mpich, 3, [mpich.python, "-c", LONG_AND_IN_PIECES], tmp_path / "trace", mapping="round-robin")
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping="round-robin")
    assert kinds(tmp_path / "replayed").equals(kinds(done.folder))
    assert tables["ranks"]["virtual_ps"].max() == pytest.approx(done.summary["virtual_ps"], rel=0.02)


NEIGHBOURS = """
from mpi4py import MPI
import numpy as np
w = MPI.COMM_WORLD
r, n, m = w.rank, w.size, np.zeros(1000)
edges = [(i + d) % n for i in range(n) for d in (-1, 1)]
rings = [w.Create_cart([n], periods=[True]), w.Create_graph([2 * (i + 1) for i in range(n)], edges)]
rings.append(w.Create_dist_graph_adjacent([(r - 1) % n, (r - 2) % n], [(r + 1) % n, (r + 2) % n]))
for c in rings:
    for k in (1, 100):
        c.Neighbor_allgather(m[:k], np.zeros(2 * k)); c.Neighbor_alltoall(m[:2 * k], np.zeros(2 * k))
        c.Ineighbor_alltoall(m[:2 * k], np.zeros(2 * k)).Wait()
        c.Neighbor_allgatherv(m[:k], [np.zeros(3 * k), ([k, k], [0, 2 * k])])
        c.Neighbor_alltoallv([m[:2 * k], ([k, k], [0, k])], [np.zeros(3 * k), ([k, k], [0, 2 * k])])
w.Create_cart([2, n // 2]).Neighbor_allgather(m[:9], np.zeros(36))
"""


@pytest.mark.parametrize("which", ["mpich", "openmpi4"])
def test_collectives_among_neighbours_are_the_same_messages(
    exanet_run: Runner, request: pytest.FixtureRequest, tmp_path: Path, which: str
) -> None:
    stack: Stack = request.getfixturevalue(which)
    done = recorded(exanet_run, stack, 6, [stack.python, "-c", NEIGHBOURS], tmp_path / "trace", mapping="round-robin")
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping="round-robin")
    assert kinds(tmp_path / "replayed").equals(kinds(done.folder))
    if which == "mpich":
        assert tables["ranks"]["virtual_ps"].max() == pytest.approx(done.summary["virtual_ps"], rel=0.02)
    back = replayed(there_and_back(tmp_path / "trace"), tmp_path / "again", mapping="round-robin")
    assert back["messages"].equals(tables["messages"]) and back["ranks"].equals(tables["ranks"])


def test_persistent_collectives_are_the_same_messages(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    """Each kind, started several times, alone and together with messages; Open MPI 4 has them by names of its own."""
    program = compiled("persistent")
    alone = exanet_run(stack, 6, [program], options=("--compute", "off", "--map", "round-robin"))
    done = recorded(exanet_run, stack, 6, [program], tmp_path / "trace", mapping="round-robin")
    assert (alone.folder / "messages.parquet").read_bytes() == (done.folder / "messages.parquet").read_bytes()
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping="round-robin")
    assert figures(tmp_path / "replayed") == figures(done.folder)
    assert kinds(tmp_path / "replayed").equals(kinds(done.folder))
    assert tables["ranks"]["virtual_ps"].max() == pytest.approx(done.summary["virtual_ps"], rel=0.02)
    back = replayed(there_and_back(tmp_path / "trace"), tmp_path / "again", mapping="round-robin")
    assert folder.load(tmp_path / "trace.back").about.mpi == folder.load(tmp_path / "trace").about.mpi
    assert back["messages"].equals(tables["messages"]) and back["ranks"].equals(tables["ranks"])


@pytest.mark.parametrize("count", [1, 20_000])
def test_nonblocking_collectives_take_what_they_took(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path, count: int
) -> None:
    """One at a time, from roots that go round: when each message is posted, and when the last rank ends, to the
    picosecond."""
    done = recorded(exanet_run, stack, 5, [compiled("nonblocking"), str(count), "2"], tmp_path / "trace", mapping="round-robin")
    tables = replayed(tmp_path / "trace", tmp_path / "replayed", mapping="round-robin")
    keys = ["src", "dst", "bytes", "posted_ps"]
    there = results.load(done.folder).messages.select(keys).sort(keys)
    assert tables["messages"].select(keys).sort(keys).equals(there)
    assert tables["ranks"]["virtual_ps"].max() == done.summary["virtual_ps"]


def test_a_start_is_a_nonblocking_collective(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """Of one that is not under way nothing is waited for, asked for or freed."""
    recorded(exanet_run, mpich, 2, [built(mpich, PERSISTENT, tmp_path)], tmp_path / "trace")
    calls = folder.load(tmp_path / "trace").calls().filter(pl.col("rank") == 0)
    expected = [
        *(("MPI_Wait", 0, 0), ("MPI_Iallreduce", 1, 4), ("MPI_Wait", 1, 0), ("MPI_Wait", 0, 0)),
        *(("MPI_Iallreduce", 1, 4), ("MPI_Ibarrier", 1, 0), ("MPI_Startall", 1, 0), ("MPI_Waitall", 3, 0)),
        *(("MPI_Test", 0, 0), ("MPI_Request_free", 0, 0)),
    ]
    begun = [row for row in calls.select("call", "requests", "bytes").iter_rows() if row[0] != "MPI_Recv_init"]
    assert begun[: len(expected)] == expected
    assert calls.filter(pl.col("call") == "MPI_Ibarrier")["took_ps"].item() == 0
    replayed(tmp_path / "trace", tmp_path / "replay")


def test_one_sided_calls_of_open_mpi_are_replayed_as_mpich_makes_them(exanet_run: Runner, openmpi4: Stack, tmp_path: Path) -> None:
    recorded(exanet_run, openmpi4, 2, [openmpi4.python, PROGRAMS / "put.py"], tmp_path / "trace")
    with pytest.raises(InputError, match="MPI_Win_allocate: one-sided calls are replayed as MPICH makes them, by --rules mpich"):
        replayed(tmp_path / "trace", tmp_path / "replayed")
    found, _ = replay.replay(replay.Options((tmp_path / "trace",), "exanest", rules="mpich"))
    assert found["summary"]["bytes"] > 2 << 20


@pytest.mark.timeout(120)
def test_the_tutorial_compares_three_networks(mpich: Stack, tmp_path: Path) -> None:
    """Its commands as they stand in docs/traces.md, and what it says of them but for digits that are this host's."""
    root = Path(__file__).parents[2]
    page = (root / "docs" / "traces.md").read_text().partition("## Compare three networks")[2].partition("\n## ")[0]
    (tmp_path / "examples").symlink_to(root / "examples")
    (tmp_path / "networks.yaml").write_text(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    del commands[3:]  # another machine file, which test_traces_page.py writes
    assert [line.split()[1] for line in commands] == ["run", "replay", "sweep"]
    environment = {**os.environ, "PATH": f"{Path(mpich.python).parent}:{os.environ['PATH']}"}
    for line in commands:
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    took = [results.load(tmp_path / name).summary["virtual_ps"] for name in ("run", "replayed")]
    assert took[1] == pytest.approx(took[0], rel=0.02)
    frame = pl.read_parquet(tmp_path / "networks" / "runs.parquet")
    assert (len(frame), frame["error"].null_count()) == (12, 12)
    by = {row[:3]: row[3] for row in frame.select("machine", "mapping", "compute", "finished_ns").iter_rows()}
    for machine in ("torus-512", "fat-tree-1024", "dragonfly-342"):
        assert by[machine, "linear", 0.1] < by[machine, "random", 0.1] < 0.5 * by[machine, "random", 1.0]
        assert by[machine, "random", 1.0] < 1.1 * by[machine, "linear", 1.0]


PROGRAM = """#include <mpi.h>
#include <pthread.h>
static int rank;
static void *exchange(void *tag) {
  for (int i = 0; i < 20; i++)
    MPI_Sendrecv(0, 0, MPI_INT, 1 - rank, (long)tag, 0, 0, MPI_INT, 1 - rank, (long)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
int main(int argc, char **argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  %s
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""
TO_ONESELF = """
  char a = 1, b; int found = 0; MPI_Request q[2]; MPI_Status s; MPI_Message m;
  MPI_Isend(&a, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(&a, 1, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &q[1]);
  MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s);
  MPI_Recv(&b, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &s);
  while (!found) MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, &m, &s);
  MPI_Mrecv(&b, 1, MPI_CHAR, &m, &s);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  MPI_Comm freed, made;
  if (rank) { MPI_Comm_dup(MPI_COMM_SELF, &freed); MPI_Comm_free(&freed); }
  MPI_Comm_idup(MPI_COMM_WORLD, &made, q); MPI_Wait(q, MPI_STATUS_IGNORE);
  MPI_Barrier(made);
"""
PERSISTENT = """
  int x = 1, y, done; MPI_Request q[3];
  MPI_Allreduce_init(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
  MPI_Recv_init(&y, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q[2]);
  MPI_Wait(q, MPI_STATUS_IGNORE);
  MPI_Start(q); MPI_Wait(q, MPI_STATUS_IGNORE); MPI_Wait(q, MPI_STATUS_IGNORE);
  MPI_Startall(3, q); MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
  MPI_Test(q, &done, MPI_STATUS_IGNORE);
  MPI_Request_free(&q[0]); MPI_Request_free(&q[1]); MPI_Request_free(&q[2]);
"""
PARTITIONED = """
  int x[2] = {0}; MPI_Request q;
  if (rank) MPI_Precv_init(x, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
  else MPI_Psend_init(x, 2, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
  MPI_Start(&q);
  if (!rank) MPI_Pready(0, q), MPI_Pready(1, q);
  MPI_Wait(&q, MPI_STATUS_IGNORE); MPI_Request_free(&q);
"""
BOTH = """
  int x = 0, y; MPI_Request q;
  MPI_Isendrecv(&x, 1, MPI_INT, 1 - rank, 0, &y, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
"""
GIVEN_UP = """
  MPI_Request q; MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &q); MPI_Start(&q); MPI_Request_free(&q);
"""
THREADS = """
  pthread_t other;
  pthread_create(&other, 0, exchange, (void *)1); exchange(0); pthread_join(other, 0);
"""


def built(stack: Stack, body: str, folder: Path) -> Path:
    """Compiled so that the executable has a copy of the library's objects, where that is the linker's way."""
    (folder / "program.c").write_text(PROGRAM % body)
    subprocess.run([stack.compiler, "-fno-pic", "-no-pie", "-o", "program", "program.c", "-lpthread"], cwd=folder, check=True)
    return folder / "program"


def test_messages_to_oneself_and_handles_used_again(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    recorded(exanet_run, stack, 2, [built(stack, TO_ONESELF, tmp_path)], tmp_path / "trace")
    calls = replayed(tmp_path / "trace", tmp_path / "replay")["mpi_calls"]
    assert sum(calls.filter(pl.col("call") == "MPI_Barrier")["calls"]) == 4


@pytest.mark.parametrize(
    ("body", "what"),
    [(PARTITIONED, "MPI_Psend_init"), (BOTH, "MPI_Isendrecv"), (GIVEN_UP, "MPI_Request_free of"), (THREADS, "several threads at once")],
    ids=["partitioned", "both", "given-up", "threads"],
)
def test_programs_that_cannot_be_replayed_are_refused(exanet_run: Runner, mpich: Stack, tmp_path: Path, body: str, what: str) -> None:
    recorded(exanet_run, mpich, 2, [built(mpich, body, tmp_path)], tmp_path / "trace")
    with pytest.raises(InputError, match=what):
        replayed(tmp_path / "trace", tmp_path / "replay")
