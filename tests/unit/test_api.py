# SPDX-License-Identifier: Apache-2.0
"""ExaNet from Python: each function gives what the command of its name leaves, and leaves nothing itself."""

from __future__ import annotations

import importlib.resources
import inspect
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import exanet
from exanet import results
from exanet.errors import InputError
from exanet.quantity import time_text
from exanet.trace import folder
from exanet.trace.write import Writer


@pytest.fixture
def ring(tmp_path: Path) -> str:
    with Writer(str(tmp_path / "ring"), 4, {"program": ["ring"]}) as streams:
        for rank, stream in enumerate(streams):
            stream.message("Isend", (rank + 1) % 4, 5000, request=1, compute_ps=1_000_000)
            stream.message("Recv", (rank - 1) % 4, 5000)
            stream.wait(1)
            stream.collective("Allreduce", 1 << 20, element=8)
            stream.end()
    return str(tmp_path / "ring")


def test_modules_are_there_when_they_are_first_asked_for() -> None:
    code = """
import sys, exanet
assert not [name for name in sys.modules if name.startswith("exanet.")], "import exanet reads nothing"
print(exanet.sim.TrafficSpec().traffic, exanet.results.MOST_BINS, callable(exanet.run), exanet.units.TIME is not None)
print("sim" in dir(exanet), hasattr(exanet, "nothing"))
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["uniform", "1024", "True", "True", "True", "False"], done.stderr
    assert importlib.resources.files("exanet").joinpath("py.typed").is_file()


def test_a_replay_gives_its_tables(ring: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    held = sorted(tmp_path.rglob("*"))
    found = exanet.replay(ring, "torus-2x2x2", mapping="round-robin", compute=2)
    assert isinstance(found, results.Run) and isinstance(found.ranks, pl.DataFrame)
    assert found.ranks["compute_ps"].to_list() == [2_000_000] * 4
    assert sorted(tmp_path.rglob("*")) == held
    kept = exanet.replay(folder.load(ring).folder, "torus-2x2x2", mapping="round-robin", compute=2, output="kept")
    assert kept.ranks.equals(found.ranks) and (tmp_path / "kept" / "report.html").is_file()
    read = exanet.load("kept")
    assert isinstance(read, results.Run) and read.summary == kept.summary
    assert results.load("kept").summary == kept.summary
    took = time_text(kept.summary["virtual_ps"])
    assert repr(kept) == f"<Run: {kept.title()}, {took}>" and kept.title().endswith(", 4 ranks on torus-2x2x2")


def test_a_replay_says_which_algorithms_it_took(ring: str) -> None:
    asked = exanet.replay(ring, "torus-2x2x2", mapping="round-robin").summary["run"]
    assert (asked["rules"], asked["collectives"]) == (["mpich"], {})
    words = f"{ring}:allreduce=ring,compute=2,map=linear"
    own = exanet.replay(words, "torus-2x2x2", mapping="round-robin", rules="open-mpi").summary["run"]
    assert (own["rules"], own["collectives"]) == (["open-mpi"], {"allreduce": "ring"})
    assert (own["compute"], own["map"]) == ("2 of the recorded", "linear")
    assert "rules" not in exanet.replay([], "torus-2x2x2", jobs=["alltoall:ranks=4"]).summary["run"]


def test_collectives_that_units_do_not_carry_out_are_named(ring: str) -> None:
    notes = exanet.replay(ring, "exanest", collectives={"allreduce": "accelerator"}).summary["run"]["notes"]
    assert notes == ['4 calls of ranks went by messages, not by "accelerator": allreduce: longer than the 256 B of a unit']


def test_loads_may_be_whole_numbers_and_others() -> None:
    points = exanet.simulate("trenz-2x2", [0, 0.3], message_bytes=4096, measure_ps=10_000_000).points
    assert points["load"].to_list() == [0.0, 0.3]


def test_simulations_and_sweeps_give_frames(tmp_path: Path) -> None:
    found = exanet.simulate("torus-2x2x2", [0.1, 0.2], traffic="uniform", measure_ps=5_000_000, output=tmp_path / "sim")
    assert found.points["load"].to_list() == [0.1, 0.2] and set(found.links["load"]) == {0.1, 0.2}
    read = exanet.load(tmp_path / "sim")
    assert read.command == "sim" and read.points.equals(found.points)
    with pytest.raises(AttributeError, match="no table 'runs'; there are"):
        _ = found.runs
    with pytest.raises(InputError, match="packet_size: traffic has no such field"):
        exanet.simulate("torus-2x2x2", packet_size=3)
    swept = exanet.sweep({"machine": "torus-2x2x2", "load": [0.1, 0.2], "measure": "5 us"}, workers=1)
    assert swept.runs["load"].to_list() == [0.1, 0.2] and swept.command == "sweep"


def test_a_sweep_finds_a_trace_where_the_program_is(ring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(ring).parent)
    swept = exanet.sweep({"machine": "torus-2x2x2", "trace": Path(ring).name}, workers=1)
    assert swept.runs["error"].to_list() == [None]


def test_a_run_gives_its_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="never called MPI_Init"):
        exanet.run(["/bin/true"], "exanest", ranks=2, mpi="none")
    with pytest.raises(InputError, match="not a result folder"):
        exanet.load(tmp_path)


def test_each_function_says_what_it_takes_and_gives() -> None:
    from exanet import api

    for name in exanet.__all__:
        function = getattr(api, name)
        text = inspect.getdoc(function) or ""
        assert "Raises InputError" in text, name
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.annotation is not parameter.empty, (name, parameter)
