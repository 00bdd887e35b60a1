# SPDX-License-Identifier: Apache-2.0
"""`exanet sweep` over traces: each run is `exanet replay` alone, and what cannot be replayed is reported there
before anything runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from exanet import replay
from exanet.errors import InputError
from exanet.machine.located import Located, Mark
from exanet.sweep import execute, plan, replays
from exanet.sweep import results as tables
from exanet.trace import rules
from exanet.trace.write import Writer

FILE = """
name: networks
machine: [torus-2x2x2, exanest-blade]
trace: [ring, "ring + short:start=20us,map=node"]
mapping: [round-robin, random]
compute: [1, 0.25]
collective: [default, "allreduce=ring,bcast=binomial"]
seed: 3
"""


def written(place: Path, ranks: int, steps: int) -> Path:
    """Messages round a ring and an allreduce, `steps` times, with computing between them."""
    with Writer(place, ranks, {"program": ["ring"]}) as streams:
        for rank, stream in enumerate(streams):
            for _ in range(steps):
                stream.message("Irecv", (rank - 1) % ranks, 3000, request=1)
                stream.message("Send", (rank + 1) % ranks, 3000, compute_ps=5_000_000)
                stream.wait(1)
                stream.collective("Allreduce", 4096, element=8)
            stream.end()
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sweep's file, and its traces beside it."""
    written(tmp_path / "ring", 4, 5)
    written(tmp_path / "short", 2, 1)
    (tmp_path / "sweep.yaml").write_text(FILE)
    return tmp_path


def alone(folder: Path, columns: dict[str, object]) -> dict[str, object]:
    """The same by `exanet replay`."""
    chosen = str(columns["collective"])
    options = replay.Options(
        str(columns["trace"]).split(" + "),
        str(columns["machine"]),
        str(columns["mapping"]),
        float(str(columns["compute"])),
        {} if chosen == "default" else rules.choices(chosen),
        int(str(columns["seed"])),
    )
    return dict(replay.replay(options)[0]["summary"])


def test_each_run_is_a_replay_alone(folder: Path) -> None:
    made = plan.read(folder / "sweep.yaml", {})
    assert len(made.runs) == 2 * 2 * 2 * 2 * 2
    found = {run.key: execute.measure(run.machine, run.load, run.spec, run.programs) for run in made.runs}
    assert len(found) == 32
    frame = tables.table(made, found, {})
    for row in frame.iter_rows(named=True):
        summary = alone(folder, row)
        assert row["finished_ns"] == summary["virtual_ps"] / 1e3, row  # type: ignore[operator]
        assert all(row[name] == summary[name] for name in ("messages", "bytes", "packets", "packet_hops", "events"))
    assert frame["finished_ns"].n_unique() > 12
    assert frame["compute_ns"].max() == 5 * 5000
    page = tables._page(made, frame, found)
    assert len(page["jobs"]) == 32 and page["third"] == "computing" and len(page["networks"]) == 32


@pytest.mark.timeout(120)
def test_a_sweep_goes_on_where_it_stopped(folder: Path) -> None:
    """The second time from a copy of the traces elsewhere: what counts is what is in them."""
    other = folder / "other"
    out = folder / "out"
    words = ["--set", "mapping=linear", "--set", "compute=1", "-o", str(out), "--workers", "1"]
    done = sweep([str(folder / "sweep.yaml"), *words])
    assert done.returncode == 0, done.stderr
    assert "time to the end" in done.stdout
    frame = pl.read_parquet(out / "runs.parquet")
    assert (len(frame), frame["error"].null_count()) == (8, 8)
    other.mkdir()
    for name in ("ring", "short", "sweep.yaml"):
        shutil.move(folder / name, other / name)
    again = sweep([str(other / "sweep.yaml"), *words])
    assert again.returncode == 0, again.stderr
    assert "8 of 8 runs are in" in again.stderr
    assert pl.read_parquet(out / "runs.parquet")["finished_ns"].equals(frame["finished_ns"])
    written(other / "ring", 4, 6)
    keys = {run.key for run in plan.read(other / "sweep.yaml", {}).runs}
    kept = {json.loads(line)["key"] for line in (out / execute.JOURNAL).read_text().splitlines()}
    assert not keys & kept


def test_rules_are_an_axis(folder: Path) -> None:
    """Four ranks gather 1.2 MB: MPICH by a ring, which is the default for a trace of no MPI, Open MPI by recursive
    doubling."""
    with Writer(folder / "ring", 4, {"program": ["ring"]}) as streams:
        for stream in streams:
            stream.collective("Allgather", 300_000, 300_000)
            stream.end()
    (folder / "sweep.yaml").write_text("machine: torus-2x2x2\ntrace: ring\nmapping: round-robin\nrules: [default, mpich, open-mpi]\n")
    made = plan.read(folder / "sweep.yaml", {})
    assert [run.columns["rules"] for run in made.runs] == ["default", "mpich", "open-mpi"]
    assert made.runs[0].key == made.runs[1].key != made.runs[2].key
    for run in made.runs[1:]:
        figures = execute.measure(run.machine, run.load, run.spec, run.programs)["figures"]
        options = replay.Options([str(folder / "ring")], "torus-2x2x2", "round-robin", rules=run.columns["rules"])
        summary = replay.replay(options)[0]["summary"]
        assert (figures["messages"], figures["finished_ns"]) == (summary["messages"], summary["virtual_ps"] / 1e3)
        assert summary["messages"] == (12 if run.columns["rules"] == "mpich" else 8)


def sweep(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "exanet", "sweep", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=120)


def test_files_lie_beside_the_sweep_s_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "nodes").write_text("3\n1\n0\n2\n")
    (folder / "sweep.yaml").write_text("machine: trenz-2x2\ntrace: 'ring:map=nodes'\nmapping: nodes\n")
    run = plan.read(folder / "sweep.yaml", {}).runs[0]
    assert run.programs[0]["placement"] == [3, 1, 0, 2]
    assert run.columns["mapping"] == str(folder / "nodes")
    monkeypatch.chdir(folder)
    options = {name: Located(value, Mark("--set")) for name, value in {"machine": "trenz-2x2", "trace": "ring", "mapping": "nodes"}.items()}
    assert plan.read(None, options).runs[0].key == run.key


@pytest.mark.parametrize(
    ("line", "replaced", "what"),
    [
        ("trace: .*", "trace: [nowhere]", r"sweep.yaml:4:9: error: .*nowhere: not a trace"),
        ("trace: .*", "trace: ['ring:begin=1us']", r"sweep.yaml:4:9: error: .*'begin=1us' is not understood"),
        ("trace: .*", "trace: [ring, large]", r"sweep.yaml:4:15: error: torus-2x2x2: -n 40: the machine has 32 cores"),
        ("mapping: .*", "mapping: [linear, nothere]", r"sweep.yaml:5:19: error: .*nothere: No such file"),
        ("mapping: .*", "mapping: ['random:x']", r"sweep.yaml:5:11: error: .*give the seed"),
        ("compute: .*", "compute: [1, -1]", r"sweep.yaml:6:14: error: compute -1"),
        (
            "seed: .*",
            "rules: [mpich, sgi]",
            r"sweep.yaml:8:16: error: rules 'sgi': there are no such rules; give one of mpich, open-mpi, or default",
        ),
        ("collective: .*", "collective: ['allreduce=magic']", r"sweep.yaml:7:14: error: .*allreduce has no algorithm 'magic'"),
        ("seed: .*", "seed: -1", r"sweep.yaml:8:7: error: seed -1"),
        ("seed: .*", "load: 0.1", r"sweep.yaml:8:1: error: unknown key 'load' of a sweep over traces"),
    ],
)
def test_what_cannot_be_replayed_is_reported(folder: Path, line: str, replaced: str, what: str) -> None:
    written(folder / "large", 40, 1)
    (folder / "sweep.yaml").write_text(re.sub(line, replaced, FILE))
    with pytest.raises(InputError, match=what):
        plan.read(folder / "sweep.yaml", {})


def test_a_trace_that_is_gone_is_a_failed_run(folder: Path) -> None:
    run = plan.read(folder / "sweep.yaml", {}).runs[0]
    shutil.rmtree(folder / "ring")
    assert "ring" in execute.measure(run.machine, run.load, run.spec, run.programs)["error"]


def test_names_from_another_folder() -> None:
    there = Path("there")
    assert replays.relative("a + b:start=1us,map=nodes + c:map=random", there) == (
        "there/a + there/b:start=1us,map=there/nodes + there/c:map=random"
    )
    assert replays.relative("a:map=nodes", None) == "a:map=nodes"
