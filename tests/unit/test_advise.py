# SPDX-License-Identifier: Apache-2.0
"""`exanet trace advise`: does it find what was made slow on purpose, and say only what a replay confirms?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_timeline import trace as ring_of
from typer.testing import CliRunner

from exanet import cli
from exanet.advise import advise
from exanet.commands.trace import advise as command
from exanet.errors import InputError
from exanet.replay import Options
from exanet.trace.write import Stream, Writer

US = 1_000_000
RANKS = 8


def traced(place: Path, program: Callable[[int, Stream], None], ranks: int = RANKS) -> Path:
    with Writer(place, ranks, {"program": ["planted"]}) as streams:
        for rank, stream in enumerate(streams):
            program(rank, stream)
            stream.end()
    return place


Program = Callable[[int, Stream], None]


def exchanges(size: int, partner: Callable[[int], int], compute_ps: int = 20 * US) -> Program:
    def program(rank: int, stream: Stream) -> None:
        for _ in range(4):
            stream.message("Irecv", partner(rank), size, request=1, compute_ps=compute_ps)
            stream.message("Isend", partner(rank), size, request=2)
            stream.wait(1, 2)

    return program


def advised(place: Path, **options: Any) -> tuple[str, list[dict[str, Any]]]:
    """What is printed, and all that was tried."""
    found = advise(Options([str(place)], "torus-512", **{"mapping": "round-robin", **options}))
    return command.text(found), command.data(found)["findings"]


def test_a_slow_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text('events:\n  - {at: 0 s, slow: "(0,0,0) X+", rate: 0.05}\n')
    place = traced(tmp_path / "trace", exchanges(100_000, lambda rank: rank ^ 1))
    text, tried = advised(place, faults=str(tmp_path / "slow.yaml"))
    assert tried[0]["kind"] == "faults" and tried[0]["confirmed"] and tried[0]["replayed_percent"] > 50
    assert tried[0]["predicted_percent"] == pytest.approx(tried[0]["replayed_percent"], abs=5)
    assert "1. Messages take" in text and "(0,0,0) X+" in text and "(slow)" in text


def test_a_bad_placement_is_found(tmp_path: Path) -> None:
    """Each pair of ranks is on either side of the same link."""
    (tmp_path / "bad").write_text("\n".join(str(node) for node in (0, 4, 1, 5, 2, 6, 3, 7)))
    place = traced(tmp_path / "trace", exchanges(100_000, lambda rank: rank ^ 1))
    text, tried = advised(place, mapping=str(tmp_path / "bad"))
    assert tried[0]["kind"] == "placement" and tried[0]["replayed_percent"] > 30
    assert text.splitlines()[1].startswith("1. ") and "The placement round-robin saves" in text.splitlines()[1]


def test_a_late_rank_is_found(tmp_path: Path) -> None:
    def late(rank: int, stream: Stream) -> None:
        for _ in range(3):
            stream.collective("Allreduce", 8, element=8, compute_ps=900 * US if rank == 5 else 300 * US)

    text, tried = advised(traced(tmp_path / "trace", late))
    assert tried[0]["kind"] == "late rank" and tried[0]["replayed_percent"] == pytest.approx(66, abs=2)
    assert tried[0]["predicted_percent"] == pytest.approx(tried[0]["replayed_percent"], abs=1)
    assert "waits for rank 5, which computes 3.0 times the median of the ranks" in text
    assert "Rank 5 with the median's computing saves" in text


def test_a_late_rank_of_a_graph_is_found(tmp_path: Path) -> None:
    def graph(rank: int, stream: Stream) -> None:
        stream.operation("compute", compute_ps=800 * US if rank == 1 else 100 * US)
        stream.operation("send", (rank + 1) % RANKS, 64, after=(1,))
        stream.operation("receive", (rank - 1) % RANKS, 64)

    text, tried = advised(traced(tmp_path / "trace", graph))
    assert tried[0]["kind"] == "late rank" and "waits for rank 1, which computes 8.0 times" in text


def test_short_messages_by_rendezvous_are_found(tmp_path: Path) -> None:
    place = traced(tmp_path / "trace", exchanges(200, lambda rank: rank ^ 1, US), ranks=2)
    text, tried = advised(place)
    eager = [each for each in tried if each["kind"] == "eager"]
    assert len(eager) == 1 and eager[0]["confirmed"] and "for eager messages in place of 32 B (with ni.packet_max: " in text


def test_another_algorithm_of_a_collective_is_found(tmp_path: Path) -> None:
    def program(rank: int, stream: Stream) -> None:
        stream.collective("Allreduce", 1 << 20, element=8)

    place = traced(tmp_path / "trace", program)
    _, tried = advised(place, collectives={"allreduce": "recursive-doubling"})
    found = [each for each in tried if each["kind"] == "collective"]
    assert len(found) == 1 and found[0]["confirmed"] and found[0]["replayed_percent"] > 10


def test_what_a_replay_does_not_confirm_is_not_among_the_findings(tmp_path: Path) -> None:
    text, tried = advised(ring_of(tmp_path / "trace"))
    refuted = [each for each in tried if not each["confirmed"]]
    assert refuted and all(each["replayed_percent"] < 1 for each in refuted)
    numbered = " ".join(line for line in text.splitlines() if line[0].isdigit())
    assert not any(f"{each['change']} saves" in numbered.lower() for each in refuted)
    assert 1 <= len([line for line in text.splitlines() if line[:2] in ("1.", "2.", "3.")]) <= 3


def test_nothing_to_say_is_said(tmp_path: Path) -> None:
    def program(rank: int, stream: Stream) -> None:
        stream.collective("Barrier", 0, compute_ps=10_000 * US)

    assert "Nothing that was tried saves 1 % or more." in advised(traced(tmp_path / "trace", program))[0]


def test_a_seed_that_there_is_not_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.app, ["trace", "advise", str(ring_of(tmp_path / "trace")), "-m", "torus-512", "--seed", "-1"])
    assert "--seed -1: give a whole number from 0 to 2^64 - 1" in str(done.exception) + done.output


def test_the_command_prints_what_is_found(tmp_path: Path) -> None:
    words = ["trace", "advise", str(ring_of(tmp_path / "trace")), "-m", "torus-512", "-q"]
    done, data = CliRunner().invoke(cli.app, words), CliRunner().invoke(cli.app, [*words, "--json"])
    assert done.exit_code == 0 and data.exit_code == 0, done.output + data.output
    found = json.loads(data.output)["findings"]
    assert found[0]["kind"] == "placement" and f"saves {found[0]['replayed_percent']:.1f} % in a replay" in done.output


@pytest.mark.parametrize("file", ["summary.json", "other"])
def test_what_is_no_trace_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("{}")
    done = CliRunner().invoke(cli.app, ["trace", "advise", str(tmp_path), "-m", "torus-512"])
    assert done.exit_code != 0
    message = str(done.exception) + done.output
    assert ("record the program (`exanet run --record FOLDER`)" in message) == (file == "summary.json")
    assert ("trace.json is missing" in message) == (file == "other")


DOCS = Path(__file__).parents[2] / "docs" / "critical-path.md"


def test_the_examples_of_the_docs_are_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```\n(.*?)```", DOCS.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    ring_of(Path("trace"))
    for block in blocks:
        if not block.startswith("$ "):
            continue
        command, shown = block.split("\n", 1)
        words = command.removeprefix("$ exanet ").split()
        done = CliRunner().invoke(cli.app, [*words, "--quiet"] if words[0] == "trace" else words)
        printed = [" ".join(line.split()) for line in done.output.splitlines()]
        expected = [" ".join(line.split()) for line in shown.splitlines()]
        assert printed[printed.index(expected[0]) :][: len(expected)] == expected
    assert sum(block.startswith("$ ") for block in blocks) == 2


def test_the_size_that_takes_most_of_the_time_is_the_one_that_is_tried(tmp_path: Path) -> None:
    """Many short calls beside few long ones."""

    def program(rank: int, stream: Stream) -> None:
        for size, count in ((8, 20), (1 << 20, 3)):
            for _ in range(count):
                stream.collective("Allreduce", size, element=8)

    _, tried = advised(traced(tmp_path / "trace", program), collectives={"allreduce": "recursive-doubling"})
    [found] = [each for each in tried if each["kind"] == "collective"]
    assert "MPI_Allreduce, mostly of 1.00 MiB" in found["why"] and found["replayed_percent"] > 10


def test_a_run_without_time_has_no_advice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its replay takes no time, so nothing can make it faster"):
        advised(traced(tmp_path / "trace", lambda rank, stream: None, ranks=1))
