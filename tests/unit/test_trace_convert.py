# SPDX-License-Identifier: Apache-2.0
"""Traces in other formats: a GOAL schedule of a trace replays as the trace does, and what is wrong in one is
reported by its line."""

from __future__ import annotations

import gzip
import json
import resource
import shlex
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from earlier_trace import without_checksums
from typer.testing import CliRunner

from exanet import cli, replay
from exanet.errors import InputError
from exanet.trace import convert, folder, perfetto
from exanet.trace.write import Writer


def summary(trace: Path, **options: Any) -> dict[str, Any]:
    return dict(replay.replay(replay.Options((trace,), "torus-2x2x2", "round-robin", **options))[0]["summary"])


def mixed(directory: Path) -> Path:
    """Eight ranks: computing, messages with and without blocking, and collectives."""
    with Writer(directory, 8, {"program": ["mixed"]}) as streams:
        for rank, stream in enumerate(streams):
            after, before = (rank + 1) % 8, (rank - 1) % 8
            stream.message("Irecv", before, 5000, tag=3, request=1, compute_ps=1_500_500)
            stream.message("Isend", after, 5000, tag=3, request=2, compute_ps=700)
            stream.collective("Allreduce", 64, element=8)
            stream.wait(1, 2, compute_ps=2_000_000)
            for _ in range(3):
                (stream.message("Send", rank + 1, 8) if rank % 2 == 0 else stream.message("Recv", rank - 1, 8))
            stream.call("Sendrecv", 1, after + 2, 8, 40, before + 2, 8, 40)
            stream.collective("Bcast", 70_000, root=5)
            stream.collective("Alltoall", 300, 300)
            stream.end(3_000)
    return directory


def test_a_schedule_of_a_trace_replays_as_the_trace(tmp_path: Path) -> None:
    trace = mixed(tmp_path / "trace")
    file = tmp_path / "trace.goal"
    assert convert.convert(trace, file, {}) == {}
    assert convert.convert(file, tmp_path / "back", {}) == {}
    whole, back = summary(trace), summary(tmp_path / "back")
    assert (back["messages"], back["bytes"]) == (whole["messages"], whole["bytes"])
    assert back["virtual_ps"] == pytest.approx(whole["virtual_ps"], rel=0.01)
    ring = tmp_path / "ring.goal"
    convert.convert(trace, ring, {"allreduce": "ring"})
    convert.convert(ring, tmp_path / "ring", {})
    assert summary(tmp_path / "ring")["messages"] == summary(trace, collectives={"allreduce": "ring"})["messages"] > whole["messages"]
    rooted = tmp_path / "rooted.goal"
    convert.convert(trace, rooted, {}, "open-mpi")
    convert.convert(rooted, tmp_path / "rooted", {})
    by_open_mpi = summary(trace, rules="open-mpi")
    assert summary(tmp_path / "rooted")["bytes"] == by_open_mpi["bytes"] != whole["bytes"]


def test_both_ends_of_a_message_have_its_size(tmp_path: Path) -> None:
    file = tmp_path / "trace.goal"
    convert.convert(mixed(tmp_path / "trace"), file, {})
    sizes: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    rank = ""
    for line in file.read_text().splitlines():
        words = line.split()
        if words[:1] == ["rank"]:
            rank = words[1]
        elif words[1:2] in (["send"], ["recv"]):
            _, kind, size, _, peer, _, tag = words
            ends = (rank, peer, tag) if kind == "send" else (peer, rank, tag)
            sizes.setdefault(ends, []).append((kind, size))
    assert len(sizes) > 50
    for found in sizes.values():
        assert [size for kind, size in found if kind == "send"] == [size for kind, size in found if kind == "recv"]


def test_simgrid_gets_the_messages_and_the_waits_for_them(tmp_path: Path) -> None:
    """Played by MPI's rules, each message has a receive of its size, and each wait a message under way: no rank
    stays behind."""
    trace, target = mixed(tmp_path / "trace"), tmp_path / "trace.simgrid"
    for again in (False, True):
        assert convert.convert(trace, target, {}, overwrite=again) == {}
    names = (target / "ranks.txt").read_text().split()
    actions = [[line.split() for line in (target / name).read_text().splitlines()] for name in names]
    assert all(words[0] == str(rank) for rank, own in enumerate(actions) for words in own)
    sent: Counter[tuple[str, ...]] = Counter()
    received: Counter[tuple[str, ...]] = Counter()
    for rank, own in enumerate(actions):
        under_way: Counter[tuple[str, ...]] = Counter()
        assert own[0][1:] == ["init"] and own[-1][1:] == ["finalize"]
        for _, action, *words in own:
            if action.endswith(("send", "recv")):
                peer, tag, size = words
                ends = (str(rank), peer, tag) if action.endswith("send") else (peer, str(rank), tag)
                (sent if action.endswith("send") else received)[*ends, size] += 1
                under_way[ends] += action.startswith("i")
            elif action == "wait":
                under_way[tuple(words)] -= 1
                assert under_way[tuple(words)] >= 0
            elif action == "waitall":
                under_way.clear()
        assert not +under_way
    assert sent == received
    assert sum(sent.values()) == summary(trace)["messages"]
    assert "1500.500" in (target / names[0]).read_text().split()
    (target / "ranks.txt").unlink()
    with pytest.raises(InputError, match="the folder holds other files"):
        convert.convert(trace, target, {}, overwrite=True)


def every_form(directory: Path) -> Path:
    """Two ranks with calls of every form and every field, which need not be a program, but name only what there is."""
    with Writer(directory, 2, {"program": ["every", "form \u00e9"]}) as streams:
        for rank, stream in enumerate(streams):
            stream.call("Send_init", 1, 0, 1, 0, 9, compute_ps=1, inside_ps=2, took_ps=3)
            stream.call("Recv_init", 1, 0, 0, 0, 8)
            stream.call("Irecv", 1, 1, 0, 1 << 40, 1)
            stream.call("Sendrecv", 1, 3, 1, 8, 1, 0, 1 << 30)
            stream.call("Startall", 9, 8)
            stream.call("Testsome")
            stream.call("Iprobe", 1, 2, 8, 0)
            stream.call("Mprobe", 1, 2, 8, 1)
            stream.call("Alltoallv", 1, 0, 0, 4, 0, 0, 0, 2, 0, 300, 2, 1, 0)
            stream.call("Ireduce", 2, 0, 5, 11, 8, 64, 0, 0, 0)
            stream.call("Comm_split", 1, 3, 0, 2, 0, 1, 0)
            stream.call("communicator", 0, 4, 1, 1, rank, 1, 1 - rank)
            stream.call("Comm_create", 1, 0, 0, 0, 0)
            stream.call("Ineighbor_alltoallw", 1, 7, 2, 0, 3, 2, 0, 300, 1, 2, 1, 8)
            stream.call("Win_create_dynamic", 1, 1, 0)
            stream.call("window", 3, 2, 4096)
            stream.call("Rget_accumulate", 2, 3, 8, 1, 64, 64)
            stream.call("Win_lock", 2, 3, 3, 0)
            stream.call("Win_post", 2, 0, 2, 2, 0, 1)
            stream.call("unrecorded", *b"MPI_Put")
            stream.end(7)
    return directory


def same_streams(one: Path, other: Path) -> bool:
    files = [sorted(place.glob("rank-*.calls")) for place in (one, other)]
    return [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]


@pytest.mark.parametrize("make", [mixed, every_form])
def test_a_trace_that_becomes_text_and_back_is_the_same(make: Callable[[Path], Path], tmp_path: Path) -> None:
    trace, file, back = make(tmp_path / "trace"), tmp_path / "trace.txt", tmp_path / "back"
    assert convert.convert(trace, file, {}) == {}
    assert convert.convert(file, back, {}) == {}
    assert same_streams(trace, back)
    assert folder.load(back).about == folder.load(trace).about
    if make is mixed:
        assert "Sendrecv communicator=1 peer=1 tag=7 bytes=40 receive_peer=7 receive_tag=7 receive_bytes=40" in file.read_text()
    else:
        assert "Ineighbor_alltoallw communicator=1 request=7 sources=none,1 received=0,300 destinations=0 sent=8" in file.read_text()
        assert "Win_lock window=2 peer=1 flags=exclusive+unchecked" in file.read_text()
        assert "Ireduce communicator=2 request=5 flags=built-in+commutative+root element_bytes=8 bytes=64" in file.read_text()


@pytest.mark.parametrize("name", ["trace.goal", "trace.bin", "trace.simgrid"])
def test_a_request_that_is_started_and_was_never_made_is_reported(name: str, tmp_path: Path) -> None:
    with Writer(tmp_path / "trace", 1, {}) as (stream,):
        stream.call("Startall", 9)
        stream.end()
    with pytest.raises(InputError, match="call 1, MPI_Startall: it starts request 9, which is not persistent"):
        convert.convert(tmp_path / "trace", tmp_path / name, {})
    assert not (tmp_path / name).exists()


def test_text_of_a_stream_that_changed_is_refused_and_of_one_that_is_cut_goes_as_far(tmp_path: Path) -> None:
    trace = without_checksums(mixed(tmp_path / "trace"))
    stream = folder.stream(trace, 3)
    whole = stream.read_bytes()
    stream.write_bytes(whole[:-3])
    convert.convert(trace, tmp_path / "cut.txt", {})
    assert (tmp_path / "cut.txt").read_text().count("Finalize") == 7
    stream.write_bytes(whole[:32] + bytes([99]) + whole[33:])  # a call that there is not
    with pytest.raises(InputError, match=r"rank-000003\.calls: the stream is damaged"):
        convert.convert(trace, tmp_path / "bad.txt", {})
    assert not (tmp_path / "bad.txt").exists()


def test_wrong_text_is_reported_by_its_line(tmp_path: Path) -> None:
    head = 'exanet-trace 1\nranks 2\nmpi MPICH\nrun {"program": ["x"]}\n'
    for text, what in (
        ("exanet-trace 1\nrank 0\n", ":2:1: error: 'rank 0' where 'ranks'"),
        ("exanet-trace 1\nranks 0\n", ":2:1: error: '0' is no number of ranks"),
        ("exanet-trace 1\nranks 1\nmpi LAM\n", ":3:1: error: the MPI 'LAM' is unknown"),
        ("exanet-trace 1\nranks 1\nmpi MPICH\nrun [1]\n", ":4:1: error: what was run"),
        (head + "Send\n", ":5:1: error: 'Send' stands before the first rank"),
        (head + "rank 1\n", ":5:1: error: 'rank 1': ranks stand in their order"),
        (head + "rank 0\n# a comment\nShout\n", ":7:1: error: the call 'Shout' is unknown"),
        (head + "rank 0\nSend peer=1 peer=1\n", ":6:1: error: 'peer=1': Send takes each of compute_ps"),
        (head + "rank 0\nSend peer=-1\n", "peer: '-1' is no whole number"),
        (head + "rank 0\nBcast flags=fast\n", "flags: 'fast' is none of built-in"),
        (head + "rank 0\nFinalize\n", "the file ends after 1 of 2 ranks"),
        (head + "rank 0\nSend peer=7\nrank 1\n", ":6:1: error: peer: 7 is not from 0 to 1"),
    ):
        (tmp_path / "x.txt").write_text(text)
        with pytest.raises(InputError) as said:
            convert.convert(tmp_path / "x.txt", tmp_path / "out", {})
        assert what in str(said.value)
        assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


GOAL = """num_ranks 2 // of an example
rank 0 {
  /* two chains that
     know nothing of each other */
  a: recv 8b from 1 tag 1 cpu 0 nic 0
  b: calc 3000
  b requires a
  c: send 100b to 1 tag 2 cpu 1
  d: send 9b to 1
  d irequires c
}

rank 1 {
  x: recv 100b from 0 tag 2
  y: send 8b to 0 tag 1
  y requires x
  recv 9b from 0
}
"""


def test_a_schedule_becomes_a_graph_of_operations(tmp_path: Path) -> None:
    (tmp_path / "two.goal").write_text(GOAL)
    left_out = convert.convert(tmp_path / "two.goal", tmp_path / "two", {})
    assert list(left_out.values()) == [1]
    calls = folder.load(tmp_path / "two").calls()
    assert calls.filter(calls["rank"] == 0)["call"].to_list() == ["receive", "compute", "send", "send", "MPI_Finalize"]
    found = summary(tmp_path / "two")
    assert (found["messages"], found["bytes"]) == (3, 117)
    assert found["virtual_ps"] > 3_000_000
    convert.convert(tmp_path / "two", tmp_path / "back.goal", {})
    text = (tmp_path / "back.goal").read_text()
    assert "l2: calc 3000\nl2 requires l1\n" in text and "l4: send 9b to 1 tag 2\nl4 irequires l3\n" in text
    for name in ("back.goal", "back.bin"):
        convert.convert(tmp_path / "two", tmp_path / name, {}, overwrite=True)
        convert.convert(tmp_path / name, tmp_path / f"of-{Path(name).suffix[1:]}", {})
        assert summary(tmp_path / f"of-{Path(name).suffix[1:]}")["virtual_ps"] == found["virtual_ps"]
        assert folder.load(tmp_path / f"of-{Path(name).suffix[1:]}").calls()["call"].to_list() == calls["call"].to_list()
    with pytest.raises(InputError, match="graphs of operations, which Perfetto cannot hold; convert it to GOAL or text"):
        convert.convert(tmp_path / "two", tmp_path / "two.json", {})


CHAINS = """num_ranks 2
rank 0 {
a: recv 8b from 1 tag 0
b: send 8b to 1 tag 1
b requires a
c: recv 8b from 1 tag 2
d: send 8b to 1 tag 3
d requires c
}
rank 1 {
s2: send 8b to 0 tag 2
r3: recv 8b from 0 tag 3
s0: send 8b to 0 tag 0
s0 requires r3
r1: recv 8b from 0 tag 1
}
"""


def ended(text: str, tmp_path: Path, name: str) -> int:
    """When the schedule is over, in picoseconds."""
    (tmp_path / f"{name}.goal").write_text(text)
    convert.convert(tmp_path / f"{name}.goal", tmp_path / name, {})
    return int(summary(tmp_path / name)["virtual_ps"])


def test_chains_of_a_rank_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """In a line, either chain would wait for the other one: the second ends before the first can begin."""
    assert ended(CHAINS, tmp_path, "chains") > 0
    computing = ("a: send 8b to 1 tag 0\nb: recv 8b from 1 tag 0\nb requires a\n",
                 "a: recv 8b from 0 tag 0\nw: calc 50000\nw requires a\nb: send 8b to 0 tag 0\nb requires w\n", "")  # fmt: skip
    answers = ["", "", ""]
    for turn in range(20):
        for rank, peer, first, second in ((0, 2, "send 8b to", "recv 8b from"), (2, 0, "recv 8b from", "send 8b to")):
            answers[rank] += f"s{turn}: {first} {peer} tag 1\nr{turn}: {second} {peer} tag 1\nr{turn} requires s{turn}\n"
            answers[rank] += f"s{turn} requires r{turn - 1}\n" if turn else ""

    def schedule(*chains: Sequence[str]) -> str:
        return "num_ranks 3\n" + "".join(f"rank {rank} {{\n{''.join(chain[rank] for chain in chains)}}}\n" for rank in range(3))

    waiting, talking = ended(schedule(computing), tmp_path, "waiting"), ended(schedule(answers), tmp_path, "talking")
    assert talking > 0.5 * waiting > 25_000_000
    both = ended(schedule(computing, answers), tmp_path, "both")
    assert max(waiting, talking) <= both < 1.1 * max(waiting, talking)


def rings(ranks: int, ways: Sequence[int], in_line: bool = False) -> str:
    """LogGOPSim's pattern `doublering` for both ways, forwards and backwards: a rank sends on what it has received,
    and rank 0 begins. In a line, a rank's second way waits for its first one."""
    text = f"num_ranks {ranks}\n"
    for rank in range(ranks):
        text += f"rank {rank} {{\n"
        for turn, way in enumerate(ways):
            text += f"s{turn}: send 8b to {(rank + way) % ranks} tag {turn}\nr{turn}: recv 8b from {(rank - way) % ranks} tag {turn}\n"
            text += f"s{turn} requires r{turn}\n" if rank else ""
            text += f"{'r' if rank else 's'}{turn} requires {'s' if rank else 'r'}{turn - 1}\n" if in_line and turn else ""
        text += "}\n"
    return text


def test_two_rings_in_opposite_directions_take_the_time_of_one(tmp_path: Path) -> None:
    """A ring takes the sum of its messages, one after the other. With two, a rank has the other ring's message to
    send or to receive where they meet, which are the costs of a message, twice."""
    ranks = 8
    alone = [
        ended(f"num_ranks {ranks}\nrank {rank} {{\nsend 8b to {(rank + 1) % ranks} tag 0\n}}\n"
              f"rank {(rank + 1) % ranks} {{\nrecv 8b from {rank} tag 0\n}}\n"
              + "".join(f"rank {(rank + more) % ranks} {{\n}}\n" for more in range(2, ranks)), tmp_path, f"alone-{rank}")
        for rank in range(ranks)
    ]  # fmt: skip
    forwards, backwards = (ended(rings(ranks, [way]), tmp_path, f"way{way}") for way in (1, -1))
    both = ended(rings(ranks, (1, -1)), tmp_path, "both")
    in_line = ended(rings(ranks, (1, -1), in_line=True), tmp_path, "in-line")
    assert forwards == pytest.approx(sum(alone), rel=0.01)
    assert max(forwards, backwards) <= both < max(forwards, backwards) + 2 * max(alone)
    assert in_line > 1.7 * both  # what it was where chains went in a line


def test_a_receive_takes_any_message_and_labels_have_no_order(tmp_path: Path) -> None:
    any_rank = "num_ranks 2\nrank 0 {\nb requires a\nb: calc 1000\na: recv 8b from -1 tag -1\n}\nrank 1 {\ns: send 8b to 0 tag 0\n}\n"
    known = any_rank.replace("from -1 tag -1", "from 1 tag 0")
    assert ended(any_rank, tmp_path, "any") == ended(known, tmp_path, "known")
    for name in ("back.goal", "back.bin"):
        convert.convert(tmp_path / "any", tmp_path / name, {})
        convert.convert(tmp_path / name, tmp_path / f"of-{Path(name).suffix[1:]}", {})
        assert same_streams(tmp_path / "any", tmp_path / f"of-{Path(name).suffix[1:]}")


def test_what_waits_in_a_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rank 0 in operation 1, a message from any rank$"):
        ended("num_ranks 1\nrank 0 {\na: recv 8b from -1 tag -1\nb: send 8b to 0 tag 0\nb requires a\n}\n", tmp_path, "stuck")


@pytest.mark.parametrize(
    ("received", "sent", "what"),
    [
        ("recv 8b from -1 tag -1", "calc 5", "rank 0 waits for 1 message of other ranks, and none is sent"),
        ("recv 8b from 1 tag -1", "calc 5", "rank 0 waits for 1 message of rank 1, and none is sent"),
        ("recv 8b from 1 tag 2", "send 8b to 0 tag 3", "rank 0 waits for 1 message of rank 1 by tag 2, and none is sent"),
        (
            "recv 8b from 1 tag 2\nrecv 8b from 1 tag 2",
            "send 8b to 0 tag 2",
            "rank 0 waits for 2 messages of rank 1 by tag 2, and 1 is sent",
        ),
    ],
)
def test_messages_that_nobody_sends_are_reported_before_a_replay(tmp_path: Path, received: str, sent: str, what: str) -> None:
    with pytest.raises(InputError, match=f"lone.goal: {what}: the file is incomplete or damaged"):
        ended(f"num_ranks 2\nrank 0 {{\n{received}\n}}\nrank 1 {{\n{sent}\n}}\n", tmp_path, "lone")
    assert [path.name for path in tmp_path.iterdir()] == ["lone.goal"]


def test_a_schedule_may_have_more_ranks_than_open_files(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    try:
        (tmp_path / "many.goal").write_text("num_ranks 300\n" + "".join(f"rank {rank} {{\ncalc 5\n}}\n" for rank in range(300)))
        convert.convert(tmp_path / "many.goal", tmp_path / "many", {})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    calls = folder.load(tmp_path / "many").calls()
    assert (calls["call"] == "compute").sum() == 300 and (calls["call"] == "MPI_Finalize").sum() == 300


def test_a_schedule_may_have_the_largest_tag(tmp_path: Path) -> None:
    messages = ("send 5b to 1", "recv 5b from 0")
    blocks = (f"rank {rank} {{\nl1: {message} tag 2147483647\n}}\n" for rank, message in enumerate(messages))
    (tmp_path / "two.goal").write_text("num_ranks 2\n" + "".join(blocks))
    convert.convert(tmp_path / "two.goal", tmp_path / "trace", {})
    assert folder.load(tmp_path / "trace").calls()["tag"].max() == 2147483647
    assert summary(tmp_path / "trace")["messages"] == 1


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("rank 0 {\n}\n", 1, "write each rank once"),
        ("num_ranks 0\n", 1, "from 1 to"),
        ("", 1, "no ranks"),
        ("num_ranks 1\nrank 0 {\nl1: calc 5\n", 3, "the file ends before"),
        ("num_ranks 1\nrank 0 {\nl1: put 5b to 0\n}\n", 3, "is not understood"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b to 1\n}\n", 3, "rank 1 is not one of"),
        ("num_ranks 1\nrank 0 {\nl1: calc 5\nl1: calc 5\n}\n", 4, "the label l1 is taken"),
        ("num_ranks 1\nrank 0 {\nl1: calc 5\nl1 requires l2\n}\n", 4, "has the label l2"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b to -1\n}\n", 3, "rank -1 is not one of"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b to 0 tag -1\n}\n", 3, "tag -1 is not one of 0 to 2147483647"),
        ("num_ranks 1\nnum_ranks 1\n", 2, "write one num_ranks"),
        ("num_ranks 1\nrank 0 {\nl1: calc 99999999999999\n}\n", 3, "the longest takes"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b to 0 tag 4294967295\n}\n", 3, "tag 4294967295 is not one of 0 to 2147483647"),
        ("num_ranks 1\nrank 0 {\nl1: recv 5b from 0 tag 2147483648\n}\n", 3, "tag 2147483648 is not one of 0 to 2147483647, nor -1"),
        ("num_ranks 1\nrank 0 {\nl1: send 9223372036854775808b to 0\n}\n", 3, "a message of 9223372036854775808 B; the largest has"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b from 0\n}\n", 3, "send ... from: write send Nb to RANK"),
        ("num_ranks 1\nrank 0 {\nl1: recv 5b to 0\n}\n", 3, "recv ... to: write send Nb to RANK"),
        ("num_ranks \u0663\n", 1, "where num_ranks N is expected"),
    ],
)
def test_what_is_wrong_in_a_schedule_is_reported_by_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    (tmp_path / "bad.goal").write_text(text)
    with pytest.raises(InputError, match=what) as said:
        convert.convert(tmp_path / "bad.goal", tmp_path / "trace", {})
    assert f"bad.goal:{line}:1: error: " in str(said.value)
    assert not (tmp_path / "trace").exists()


def test_a_cycle_is_reported(tmp_path: Path) -> None:
    (tmp_path / "bad.goal").write_text("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n")
    with pytest.raises(InputError, match="rank 0 require each other in a cycle"):
        convert.convert(tmp_path / "bad.goal", tmp_path / "trace", {})


def pair(directory: Path) -> Path:
    """Two ranks: the first computes and sends twice, the second receives without blocking and waits; the third does
    nothing."""
    with Writer(directory, 3, {}) as (sender, receiver, idle):
        sender.message("Send", 1, 100, tag=7, compute_ps=3_000_000)
        sender.message("Send", 1, 9)
        sender.end()
        receiver.message("Irecv", 0, 100, tag=7, request=1)
        receiver.message("Irecv", 0, 9, request=2)
        receiver.wait(1, 2)
        receiver.end()
        idle.end()
    return directory


def operation(required: int, kind: int, peer: int, size: int, tag: int, *dependents: int, cpu: int = 0) -> bytes:
    return struct.pack("<IBIQIBBIIII", required, kind, peer, size, tag, cpu, 0, *dependents)


SEND, RECEIVE, CALCULATE = 1, 2, 3
BINARY = b"".join(  # of `pair`, as the format has it
    (
        *(struct.pack("<QIBB", 4223, 3, 0, 0), struct.pack("<6Q", 54, 191, 191, 332, 332, 340)),
        *(struct.pack("<III", 3, 1, 0), operation(0, CALCULATE, 0, 3000, 0, 1, 0, 0, 1), operation(1, SEND, 1, 100, 0, 1, 1, 0, 2)),
        *(operation(1, SEND, 1, 9, 1, 0, 2, 0, 2), struct.pack("<II", 1, 2)),
        *(struct.pack("<IIII", 3, 2, 0, 1), operation(0, RECEIVE, 0, 100, 0, 1, 0, 0, 1), operation(0, RECEIVE, 0, 9, 1, 1, 1, 0, 2)),
        *(operation(2, CALCULATE, 0, 0, 0, 0, 2, 0, 2), struct.pack("<II", 2, 2)),
        struct.pack("<II", 0, 0),
    )
)


def test_a_binary_schedule_has_its_layout(tmp_path: Path) -> None:
    assert convert.convert(pair(tmp_path / "trace"), tmp_path / "trace.bin", {}) == {}
    assert (tmp_path / "trace.bin").read_bytes() == BINARY
    assert len(BINARY) == 8 + 340


@pytest.mark.parametrize("make", [mixed, pair])
@pytest.mark.parametrize(("collectives", "rules"), [({}, None), ({"allreduce": "ring"}, None), ({}, "open-mpi")])
def test_a_binary_schedule_is_that_of_the_text(
    make: Callable[[Path], Path], collectives: dict[str, str], rules: str | None, tmp_path: Path
) -> None:
    trace = make(tmp_path / "trace")
    for name in ("goal", "bin"):
        assert convert.convert(trace, tmp_path / f"trace.{name}", collectives, rules) == {}
        assert convert.convert(tmp_path / f"trace.{name}", tmp_path / name, {}) == {}
    assert same_streams(tmp_path / "goal", tmp_path / "bin")
    back = tmp_path / "back.bin"  # a schedule's trace is one of its calculations and messages
    convert.convert(tmp_path / "bin", back, {})
    convert.convert(back, tmp_path / "twice", {})
    assert summary(tmp_path / "twice")["bytes"] == summary(tmp_path / "goal")["bytes"]


def test_starts_and_processors_are_read_from_a_binary_schedule_as_from_text(tmp_path: Path) -> None:
    """The schedule GOAL as binary: what requires a start stands behind what requires an end."""
    first = struct.pack("<IIII", 4, 2, 0, 2) + operation(0, RECEIVE, 1, 8, 1, 1, 0, 0, 1) + operation(1, CALCULATE, 0, 3000, 0, 0, 1, 0, 1)
    first += operation(0, SEND, 1, 100, 2, 0, 1, 1, 1, cpu=1) + operation(1, SEND, 1, 9, 0, 0, 2, 0, 2) + struct.pack("<II", 1, 3)
    second = struct.pack("<IIII", 3, 2, 0, 2) + operation(0, RECEIVE, 0, 100, 2, 1, 0, 0, 1) + operation(1, SEND, 0, 8, 1, 0, 1, 0, 1)
    second += operation(0, RECEIVE, 0, 9, 0, 0, 1, 0, 1) + struct.pack("<I", 1)
    ends = (38 + len(first), 38 + len(first) + len(second))
    (tmp_path / "two").write_bytes(struct.pack("<QIBB4Q", 4223, 2, 1, 0, 38, ends[0], *ends) + first + second)
    (tmp_path / "two.goal").write_text(GOAL)
    left_out = [convert.convert(tmp_path / name, tmp_path / f"of-{name.replace('.', '-')}", {}) for name in ("two", "two.goal")]
    assert left_out[0] == left_out[1] and list(left_out[0].values()) == [1]
    assert same_streams(tmp_path / "of-two", tmp_path / "of-two-goal")


def changed(form: str, at: int, value: int) -> bytes:
    return BINARY[:at] + struct.pack(form, value) + BINARY[at + struct.calcsize(form) :]


WRONG = {
    r"LogGOPSim has used this schedule up \(--save-mem\)": changed("<Q", 0, 2342),
    "not a text file, nor does it begin as binary schedules do": changed("<Q", 0, 4224),
    "the file ends within its header, after 12 B": BINARY[:12],
    "a schedule of 0 ranks": changed("<I", 8, 0),
    "a schedule of 4194305 ranks; it has from 1 to 4194304": changed("<I", 8, (1 << 22) + 1),
    "the file ends before the places of its 4194304 ranks do": changed("<I", 8, 1 << 22),
    "the file ends before the places of its 3 ranks do": BINARY[:40],
    "rank 2 lies from byte 332 to 340, not from 332 to 339 at most": BINARY[:-1],
    "1 B follow the last rank": BINARY + b"x",
    "rank 1 lies from byte 54 to 332": changed("<Q", 30, 54),
    "rank 0 lies from byte 54 to 53": changed("<Q", 22, 53),
    "5 B follow the last rank": changed("<Q", 54, 335),
    "rank 0: 4 operations, 1 of them roots, do not fit into 137 B": changed("<I", 62, 4),
    "rank 0: 3 operations, 4 of them roots, do not fit": changed("<I", 66, 4),
    "rank 0: its roots are not the operations that require nothing": changed("<I", 70, 1),
    "rank 0: an operation does not require as many as it says": changed("<I", 74, 1),
    "rank 0: an operation of kind 4": changed("<B", 78, 4),
    "rank 0: a calculation of 1000000000001 ns; the longest takes": changed("<Q", 83, 10**12 + 1),
    "rank 0: its operations do not have the 2 dependents": changed("<I", 97, 2),
    "rank 0: an operation's dependents lie outside of the 2": changed("<I", 101, (1 << 32) - 1),
    "rank 0: operation 3 is none of its 3": changed("<I", 191, 3),
    "rank 0: rank 3 is not one of 0 to 2": changed("<I", 118, 3),
    "rank 0: a message of 1099511627777 B; the largest has 1099511627776 B": changed("<Q", 122, (1 << 40) + 1),
    "rank 0: tag -1 is not one of 0 to 2147483647": changed("<I", 130, (1 << 32) - 1),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_in_a_binary_schedule_is_reported(what: str, tmp_path: Path) -> None:
    (tmp_path / "bad.bin").write_bytes(WRONG[what])
    with pytest.raises(InputError, match=what) as said:
        convert.convert(tmp_path / "bad.bin", tmp_path / "trace", {})
    assert f"{tmp_path / 'bad.bin'}: " in str(said.value) and len(said.value.messages) == 1
    assert not (tmp_path / "trace").exists()


def test_a_binary_schedule_that_requires_itself_is_reported(tmp_path: Path) -> None:
    part = struct.pack("<II", 2, 0) + operation(1, CALCULATE, 0, 1, 0, 1, 0, 0, 1) + operation(1, CALCULATE, 0, 1, 0, 1, 1, 0, 2)
    part += struct.pack("<II", 1, 0)
    (tmp_path / "bad.bin").write_bytes(struct.pack("<QIBBQQ", 4223, 1, 0, 0, 22, 22 + len(part)) + part)
    with pytest.raises(InputError, match="rank 0 require each other in a cycle"):
        convert.convert(tmp_path / "bad.bin", tmp_path / "trace", {})


def test_a_damaged_binary_schedule_is_read_or_refused(tmp_path: Path) -> None:
    """Each byte changed in two ways, and the file cut at each length: a cut is always found."""
    file, target = tmp_path / "bad.bin", tmp_path / "trace"
    read = 0
    for at in range(len(BINARY)):
        file.write_bytes(BINARY[:at])
        with pytest.raises(InputError):
            convert.convert(file, target, {})
        for bits in (0x01, 0xFF):
            file.write_bytes(changed("<B", at, BINARY[at] ^ bits))
            try:
                convert.convert(file, target, {}, overwrite=True)
            except InputError as error:
                assert len(error.messages) == 1 and "bad.bin" in error.messages[0]
            else:
                read += 1
    assert 50 < read < len(BINARY)


def test_what_goal_cannot_say_is_refused(tmp_path: Path) -> None:
    for name, peer, tag in (("rank", -1, 0), ("tag", 1, -1)):
        with Writer(tmp_path / name, 2, {}) as (receiver, sender):
            receiver.message("Recv", peer, 8, tag=tag)
            receiver.end()
            sender.message("Send", 0, 8)
            sender.end()
    for file in ("tag.goal", "tag.bin"):
        with pytest.raises(InputError, match="rank 0, call 1, MPI_Recv: it receives with any tag"):
            convert.convert(tmp_path / "tag", tmp_path / file, {})
    convert.convert(tmp_path / "rank", tmp_path / "rank.goal", {})
    assert "recv 8b from -1 tag 0" in (tmp_path / "rank.goal").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank", "rank.goal", "tag"]


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.prv", b"#Paraver (12/11/2026 at 10:00):100_ns:1(2):1:2(1:1,1:1)\n", "a trace of Paraver's"),
        ("chakra.0.et", b"\x08\x01", "an execution trace of Chakra's"),
        ("chakra.json", b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}', "an execution trace of Chakra's"),
        ("perfetto.json", b'{"displayTimeUnit": "ns", "traceEvents": [\n]}', "a trace of Perfetto's"),
        ("a.paje", b"%EventDef PajeDefineContainerType 0\n", "a trace of Paje's"),
    ],
)
def test_formats_that_are_not_read_are_named(name: str, content: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / name).write_bytes(content)
    for source in (tmp_path / "given" / name, tmp_path / "given"):
        with pytest.raises(InputError, match=f"it is {what}.*, which is not read; convert it to GOAL"):
            convert.convert(source, tmp_path / "trace", {})
    assert not (tmp_path / "trace").exists()


def test_what_is_compressed_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.goal.gz").write_bytes(gzip.compress(b"num_ranks 1\n"))
    with pytest.raises(InputError, match=r"a.goal.gz: it is compressed \(gzip\); unpack it first"):
        convert.convert(tmp_path / "a.goal.gz", tmp_path / "trace", {})


def test_a_file_where_a_trace_is_expected_is_to_be_converted(tmp_path: Path) -> None:
    (tmp_path / "a.goal").write_text("num_ranks 1\n")
    with pytest.raises(InputError, match=r"a.goal: it is a file, and a trace is a folder; convert it first: exanet trace convert "):
        folder.load(tmp_path / "a.goal")


def test_perfetto_has_a_slice_a_call_and_an_arrow_a_message(tmp_path: Path) -> None:
    trace = mixed(tmp_path / "trace")
    done = CliRunner().invoke(cli.app, ["trace", "convert", str(trace), str(tmp_path / "out.json")], catch_exceptions=False)
    assert done.exit_code == 0 and "Left out" not in done.output
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    calls = folder.load(trace).calls()
    assert len([event for event in slices if event["name"] != "computing"]) == len(calls)
    assert len([event for event in slices if event["name"] == "computing"]) == len(calls.filter(calls["compute_ps"] > 0))
    begins, ends = ({event["id"]: event for event in events if event["ph"] == kind} for kind in "sf")
    assert len(begins) == len(ends) == 8 + 4 * 3 + 8
    assert all(ends[number]["tid"] == (event["tid"] + 1) % 8 for number, event in begins.items())
    assert len(perfetto.messages(calls)) == len(begins)


def test_wrong_targets_are_reported(tmp_path: Path) -> None:
    trace = mixed(tmp_path / "trace")
    for target, what in (
        (tmp_path / "x.csv", "ends in .goal, .bin"),
        (tmp_path, "it is a folder"),
        (tmp_path / "no" / "x.goal", r"no/x\.goal: No such file"),
    ):
        with pytest.raises(InputError, match=what):
            convert.convert(trace, target, {})
    (tmp_path / "one.goal").write_text("num_ranks 1\n")
    with pytest.raises(InputError, match="which is a folder"):
        convert.convert(tmp_path / "one.goal", tmp_path / "one.json", {})
    with pytest.raises(InputError, match="bcast by LLF depends on a machine's network"):
        convert.convert(trace, tmp_path / "x.goal", {"bcast": "LLF"})
    with pytest.raises(InputError, match="only GOAL and SimGrid"):
        words = ["trace", "convert", str(trace), str(tmp_path / "x.json"), "--collective", "bcast=binary"]
        CliRunner().invoke(cli.app, words, catch_exceptions=False)
    with pytest.raises(InputError, match="--rules mpich: only GOAL and SimGrid"):
        CliRunner().invoke(cli.app, [*words[:4], "--rules", "mpich"], catch_exceptions=False)


def test_paje_has_a_state_a_call_and_a_link_a_message(tmp_path: Path) -> None:
    """Read back by the fields that the file itself defines."""
    trace = mixed(tmp_path / "trace")
    assert convert.convert(trace, tmp_path / "out.paje", {}) == {}
    fields: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    events: list[tuple[str, dict[str, str]]] = []
    for line in (tmp_path / "out.paje").read_text().splitlines():
        if line.startswith("%EventDef"):
            _, name, number = line.split()
            names[number], fields[number] = name, []
        elif line.startswith("% "):
            fields[number].append(line.split()[1])
        elif not line.startswith("%"):
            number, *words = shlex.split(line)
            events.append((names[number], dict(zip(fields[number], words, strict=True))))
    times = [float(event["Time"]) for _, event in events if "Time" in event]
    assert times == sorted(times)
    calls = folder.load(trace).calls()
    states = [(event["Container"], event["Value"], event["Time"]) for name, event in events if name == "PajeSetState"]
    assert sum(value != "computing" for _, value, _ in states) == len(calls)
    assert [value for rank, value, _ in states if rank == "r0"][:4] == ["computing", "MPI_Irecv", "computing", "MPI_Isend"]
    assert ("r0", "MPI_Irecv", "0.000001500500") in states
    links: dict[str, list[dict[str, str]]] = {}
    for name, event in events:
        if name in ("PajeStartLink", "PajeEndLink"):
            links.setdefault(event["Key"], []).append(event)
    assert len(links) == 8 + 4 * 3 + 8 and all(len(ends) == 2 for ends in links.values())
    for first, second in links.values():
        assert "StartContainer" in first and "EndContainer" in second and first["Value"] == second["Value"]
    assert [name for name, _ in events].count("PajeCreateContainer") == [name for name, _ in events].count("PajeDestroyContainer") == 9


def test_what_is_no_trace_is_named_and_not_where_it_should_go(tmp_path: Path) -> None:
    (tmp_path / "empty.goal").mkdir()
    with pytest.raises(InputError, match=r"empty.goal: not a trace, trace.json is missing"):
        convert.convert(tmp_path / "empty.goal", tmp_path / "out", {})
    with pytest.raises(InputError, match=r"/dev/null: neither a trace nor a file of a format that is read: .*GOAL"):
        convert.convert("/dev/null", tmp_path / "out", {})
    with pytest.raises(InputError, match=r"missing: not a trace"):
        convert.convert(tmp_path / "missing", tmp_path / "out", {})
