# SPDX-License-Identifier: Apache-2.0
"""Traces in other formats: a GOAL schedule of a trace replays as the trace does, and what is wrong in one is told by its line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
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


def test_a_schedule_becomes_calls_that_wait_for_what_is_required(tmp_path: Path) -> None:
    """What requires nothing goes first, so that chains do not wait for each other."""
    (tmp_path / "two.goal").write_text(GOAL)
    left_out = convert.convert(tmp_path / "two.goal", tmp_path / "two", {})
    assert list(left_out.values()) == [1]
    calls = folder.load(tmp_path / "two").calls()
    assert calls.filter(calls["rank"] == 0)["call"].to_list() == [
        "MPI_Irecv",
        "MPI_Isend",
        "MPI_Isend",
        "MPI_Waitall",
        "MPI_Waitall",
        "MPI_Finalize",
    ]
    found = summary(tmp_path / "two")
    assert (found["messages"], found["bytes"]) == (3, 117)
    assert found["virtual_ps"] > 3_000_000


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
        ("num_ranks 1\nrank 0 {\nl1: calc 99999999999999\n}\n", 3, "the longest takes"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b to 0 tag 4294967295\n}\n", 3, "tags go up to"),
    ],
)
def test_what_is_wrong_in_a_schedule_is_told_by_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    (tmp_path / "bad.goal").write_text(text)
    with pytest.raises(InputError, match=what) as said:
        convert.convert(tmp_path / "bad.goal", tmp_path / "trace", {})
    assert f"bad.goal:{line}:1: error: " in str(said.value)
    assert not (tmp_path / "trace").exists()


def test_a_circle_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.goal").write_text("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n")
    with pytest.raises(InputError, match="rank 0 require each other in a circle"):
        convert.convert(tmp_path / "bad.goal", tmp_path / "trace", {})


def test_what_goal_cannot_say_is_refused(tmp_path: Path) -> None:
    with Writer(tmp_path / "any", 2, {}) as (receiver, sender):
        receiver.message("Recv", -1, 8)
        receiver.end()
        sender.message("Send", 0, 8)
        sender.end()
    with pytest.raises(InputError, match="rank 0, call 1, MPI_Recv: it receives from any rank"):
        convert.convert(tmp_path / "any", tmp_path / "any.goal", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["any"]


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


def test_wrong_targets_are_told(tmp_path: Path) -> None:
    trace = mixed(tmp_path / "trace")
    for target, what in (
        (tmp_path / "x.txt", "ends in .goal, .json"),
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
    with pytest.raises(InputError, match="only GOAL has collectives"):
        words = ["trace", "convert", str(trace), str(tmp_path / "x.json"), "--collective", "bcast=binary"]
        CliRunner().invoke(cli.app, words, catch_exceptions=False)


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
