# SPDX-License-Identifier: Apache-2.0
"""Programs at flow level: how far from the packet level they are, what is counted, what is said with them, and what
is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exanet import cli, level, replay
from exanet.errors import InputError
from exanet.machine import load
from exanet.sweep import execute, plan
from exanet.trace.write import Stream, Writer

RANKS = 8


def recorded(folder: Path, body: Callable[[int, Stream], None]) -> Path:
    with Writer(folder, RANKS, {"program": ["made"]}) as streams:
        for rank, stream in enumerate(streams):
            body(rank, stream)
            stream.end()
    return folder


def ring(rank: int, stream: Stream, *, size: int = 200_000) -> None:
    for _ in range(5):
        stream.message("Irecv", (rank - 1) % RANKS, size, request=1)
        stream.message("Send", (rank + 1) % RANKS, size, compute_ps=5_000_000)
        stream.wait(1)
        stream.collective("Alltoall", RANKS * 60_000)


def short(rank: int, stream: Stream) -> None:
    ring(rank, stream, size=16)
    stream.collective("Barrier", 0)


def took(trace: Path, machine: str, at: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found, meta = replay.replay(replay.Options([trace], machine, "round-robin", level=at))
    return found["summary"], meta


@pytest.mark.parametrize("machine", ["exanest", "torus-512", "fat-tree-64", "dragonfly-342"])
def test_long_messages_take_as_long_as_their_packets_within_a_tenth(tmp_path: Path, machine: str) -> None:
    trace = recorded(tmp_path / "ring", ring)
    (packet, _), (flow, _) = (took(trace, machine, at) for at in level.LEVELS)
    assert flow["virtual_ps"] == pytest.approx(packet["virtual_ps"], rel=0.1)
    assert flow["virtual_ps"] != packet["virtual_ps"]
    same = ("messages", "bytes", "packets", "payload_bytes", "packet_hops", "calls")
    assert [flow[name] for name in same] == [packet[name] for name in same]
    assert flow["events"] * 20 < packet["events"]
    assert took(trace, machine, "flow")[0]["virtual_ps"] == flow["virtual_ps"]


def test_what_fits_a_packet_and_meets_none_takes_the_same_to_the_picosecond(tmp_path: Path) -> None:
    def turn(rank: int, stream: Stream) -> None:
        if rank > 0:
            stream.message("Recv", rank - 1, 16)
        if rank < RANKS - 1:
            stream.message("Send", rank + 1, 16)

    trace = recorded(tmp_path / "turn", turn)
    assert took(trace, "exanest", "packet")[0]["virtual_ps"] == took(trace, "exanest", "flow")[0]["virtual_ps"]


def test_results_say_that_they_are_of_flows(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "short", short)
    words = ["replay", str(trace), "-m", "torus-2x2x2", "--no-report"]
    shown = CliRunner().invoke(cli.app, [*words, "--level", "flow", "-o", str(tmp_path / "flow")], catch_exceptions=False)
    assert "at flow level" in shown.output and "a first estimate" in shown.output
    asked = json.loads((tmp_path / "flow" / "summary.json").read_text())["run"]
    assert asked["level"] == "flow" and len(asked["notes"]) == 1
    shown = CliRunner().invoke(cli.app, [*words, "-o", str(tmp_path / "packet")], catch_exceptions=False)
    assert "flow" not in shown.output.replace(str(tmp_path), "")
    asked = json.loads((tmp_path / "packet" / "summary.json").read_text())["run"]
    assert asked["level"] == "packet" and "notes" not in asked


def test_a_machine_that_spreads_its_packets_has_a_note_of_that(tmp_path: Path) -> None:
    (tmp_path / "spray.yaml").write_text("extends: fat-tree-64\nname: spray\ntopology: {routing: spray}\n")
    assert len(level.caveats_of_programs("flow", load(str(tmp_path / "spray.yaml")))) == 2
    assert level.caveats_of_programs("packet", load("exanest")) == []


def test_what_the_flow_level_has_not_is_refused(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "short", short)
    (tmp_path / "adaptive.yaml").write_text(
        "extends: torus-512\nname: adaptive\ntopology: {routing: adaptive}\nrouter: {virtual_channels: 3}\n"
    )
    with pytest.raises(InputError, match="routing looks at queues"):
        took(trace, str(tmp_path / "adaptive.yaml"), "flow")
    run = ["run", "-n", "2", "--level", "flow", "-m"]
    program = ["--", sys.executable, "-c", "from mpi4py import MPI"]
    for words, what in (
        ([*run, str(tmp_path / "adaptive.yaml"), *program], "routing looks at queues"),
        ([*run, "torus-2x2x2", "--fabric", "gateware", *program], "the gateware carries packets"),
        (["run", "-n", "2", "-m", "exanest", "--level", "word", *program], "level word: give packet or flow"),
        (["replay", str(trace), "-m", "exanest", "--level", ""], "level : give packet or flow"),
    ):
        with pytest.raises(InputError, match=what):
            CliRunner().invoke(cli.app, words, catch_exceptions=False)


def test_a_sweep_takes_both_levels(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "ring", ring)
    (tmp_path / "sweep.yaml").write_text("machine: torus-2x2x2\ntrace: ring\nmapping: round-robin\nlevel: [packet, flow]\n")
    for run in plan.read(tmp_path / "sweep.yaml", {}).runs:
        figures = execute.measure(run.machine, run.load, run.spec, run.programs)["figures"]
        assert figures["finished_ns"] == took(trace, "torus-2x2x2", str(run.columns["level"]))[0]["virtual_ps"] / 1e3
    (tmp_path / "sweep.yaml").write_text("machine: torus-2x2x2\ntrace: ring\nlevel: [packet, word]\n")
    with pytest.raises(InputError, match=r"sweep.yaml:3:17: error: .*level word: give packet or flow"):
        plan.read(tmp_path / "sweep.yaml", {})


def test_the_example_of_programs_at_both_levels(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "levels_of_programs.py"
    words = ["--machines", "exanest,fat-tree-64", "--ranks", "4", "--cases", "2"]
    done = subprocess.run([sys.executable, "-P", str(script), *words], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *_, last_row, worst = done.stdout.splitlines()
    cells = [float(cell.strip(" %")) for cell in last_row.split("|")[2:4]]
    assert all(abs(cell) < 10 for cell in cells), done.stdout
    assert float(worst.split()[-1].strip("%")) >= max(map(abs, cells))
