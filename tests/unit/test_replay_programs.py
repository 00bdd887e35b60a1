# SPDX-License-Identifier: Apache-2.0
"""Several programs in one replay: where their ranks are, when they begin, how much they slow each other, and what is
refused."""

from __future__ import annotations

import json
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from browser import charts, in_browser, needs_browser
from typer.testing import CliRunner

import exanet
from exanet import cli, replay
from exanet.errors import InputError
from exanet.results import throughput
from exanet.trace.write import Writer
from exanet.trace.written import broadcasts

EXAMPLE = Path(__file__).parents[2] / "examples" / "broadcast_trees.py"


def pairs(directory: Path, ranks: int = 4, size: int = 20_000) -> Path:
    """Ranks that send to the one after the next and back."""
    with Writer(directory, ranks, {"program": ["pairs"]}) as streams:
        for rank, stream in enumerate(streams):
            for turn in range(4):
                to_next = (rank // 2 + turn) % 2 == 0
                stream.message("Send" if to_next else "Recv", (rank + 2) % 4 if rank < 4 else rank ^ 2, size, compute_ps=1000)
            stream.end()
    return directory


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return pairs(tmp_path / "pairs")


def run(traces: Sequence[str | Path], machine: str = "exanest", **options: Any) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The table of programs, and the nodes of each."""
    found, _ = replay.replay(replay.Options(traces, machine, **options))
    nodes = pl.Series(found["ranks"]["node"]).to_list()
    rows = found.get("programs", [{"first_rank": 0, "ranks": len(nodes)}])
    return rows, [nodes[row["first_rank"] : row["first_rank"] + row["ranks"]] for row in rows]


def test_each_mapping_gives_programs_nodes_of_their_own(trace: Path, tmp_path: Path) -> None:
    assert run([trace, trace])[1] == [[0] * 4, [1] * 4]
    assert run([trace, trace], mapping="round-robin")[1] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert run([trace, trace], mapping="node")[1] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert run([trace, trace], "dragonfly-342", mapping="switch")[1] == [[0, 1, 2, 6], [3, 4, 5, 9]]
    assert run([trace], mapping="node")[1] == [[0, 1, 2, 3]]
    drawn = run([trace, trace], mapping="random:3")[1]
    assert drawn != run([trace, trace], mapping="random:4")[1]
    assert len({node for nodes in drawn for node in nodes}) == 2
    (tmp_path / "nodes").write_text("1\n9\n9\n2\n")
    assert run([f"{trace}:map={tmp_path / 'nodes'}", trace, f"{trace}:map=node"])[1] == [[1, 9, 9, 2], [0] * 4, [3, 4, 5, 6]]
    (tmp_path / "both").write_text("\n".join(map(str, range(8))))
    assert run([trace, trace], mapping=str(tmp_path / "both"))[1] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_job_takes_what_is_left_or_what_it_says(trace: Path) -> None:
    rows, nodes = run([trace], "torus-2x2x2", jobs=["alltoall:bytes=100B", "barrier:ranks=3"])
    assert [len(each) for each in nodes] == [4, 4, 3]
    assert sorted(node for each in nodes for node in set(each)) == list(range(8))
    assert [row["messages"] for row in rows] == [8, 4 * 3, 3 * 2]


def test_a_start_moves_a_program_and_alone_is_what_it_takes_by_itself(trace: Path, tmp_path: Path) -> None:
    by_itself = replay.replay(replay.Options([trace], "exanest", "round-robin"))[0]["summary"]["virtual_ps"]
    rows, _ = run([trace, f"{trace}:start=1ms"], mapping="round-robin", alone=True)
    assert [row["start_ps"] for row in rows] == [0, 10**9]
    assert rows[0]["took_ps"] == rows[0]["alone_ps"] == by_itself
    later = exanet.replay(f"{trace}:start=1ms", "exanest", mapping="round-robin")
    assert (
        later.ranks.select(pl.sum_horizontal("start_ps", "compute_ps", "wait_ps", "library_ps") == pl.col("virtual_ps")).to_series().all()
    )
    assert sum(later.summary[f"{part}_percent"] for part in ("compute", "wait", "library")) == pytest.approx(100)
    assert rows[1]["took_ps"] == rows[1]["alone_ps"]
    (tmp_path / "nodes").write_text("0\n1\n2\n3\n")
    together, _ = run([f"{trace}:map={tmp_path / 'nodes'}"] * 2, alone=True)
    assert max(row["slowdown"] for row in together) > 1
    halved, _ = run([trace, f"{trace}:compute=1000"], mapping="round-robin")
    assert halved[1]["took_ps"] - halved[0]["took_ps"] >= 4 * 999 * 1000


def took(traces: Sequence[str], **options: Any) -> int:
    return int(replay.replay(replay.Options(traces, "dragonfly-342", "node", **options))[0]["summary"]["virtual_ps"])


def test_each_program_broadcasts_in_its_own_way(tmp_path: Path) -> None:
    """What stands behind a trace goes before --collective; a job takes what a trace of the same calls takes."""
    written = broadcasts(tmp_path / "written", 8, 3, 20_000)
    ways = ("binomial", "LLF", "hardware")
    alone = [took([f"{written}:bcast={way}"]) for way in ways]
    assert len(set(alone)) == 3
    assert [took([str(written)], collectives={"bcast": way}) for way in ways] == alone
    assert took([f"{written}:bcast=LLF"], collectives={"bcast": "hardware"}) == alone[1]
    jobs = [f"bcast:algorithm={way},ranks=8,rounds=3,bytes=20kB" for way in ways]
    assert [took([], jobs=[job]) for job in jobs] == alone
    traces = [f"{written}:bcast={way}" for way in ways]
    rows, nodes = run(traces, "dragonfly-342", mapping="round-robin", jobs=jobs)
    assert len({node for each in nodes for node in each}) == 48
    assert rows[0]["took_ps"] > rows[2]["took_ps"] and [row["messages"] for row in rows[:3]] == [row["messages"] for row in rows[3:]]


def test_jobs_run_without_a_trace(tmp_path: Path) -> None:
    words = ["replay", "-m", "exanest", "--job", "allreduce:algorithm=ring,ranks=4,rounds=5,bytes=4KiB", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.app, words, catch_exceptions=False)
    assert done.exit_code == 0 and "MPI_Allreduce" in done.output
    kept = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert kept["messages"] == 5 * 4 * 6 and kept["run"]["trace"] == [] and kept["run"]["mpi"] == "jobs alone"


def test_the_command_leaves_a_table_of_programs(trace: Path, tmp_path: Path) -> None:
    words = ["replay", str(trace), f"{trace}:start=2us", "-m", "exanest", "--alone", "--job", "allreduce-ring:ranks=4,start=1us,bytes=1KiB"]
    done = CliRunner().invoke(cli.app, [*words, "-o", str(tmp_path / "out")], catch_exceptions=False)
    assert done.exit_code == 0 and "slow-down" in done.output
    table = pl.read_parquet(tmp_path / "out" / "programs.parquet")
    assert table["start_ps"].to_list() == [0, 2_000_000, 1_000_000]
    kept = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert kept["programs"] == table.to_dicts()
    assert kept["run"]["jobs"] == ["allreduce-ring:ranks=4,start=1us,bytes=1KiB"]
    assert pl.read_parquet(tmp_path / "out" / "ranks.parquet")["program"].to_list() == [0] * 4 + [1] * 4 + [2] * 4
    page = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
    over_time = pl.read_parquet(tmp_path / "out" / "throughput.parquet")
    assert over_time.group_by("program").agg(pl.col("bytes").sum()).sort("program")["bytes"].to_list() == table["bytes"].to_list()
    assert over_time["bytes"].sum() == over_time["alone_bytes"].sum()
    assert [name for name in over_time.columns if f"`{name}`" not in page] == []
    assert [name for name in table.columns if f"`{name}`" not in page] == []
    before = (tmp_path / "out" / "summary.json").read_bytes()
    CliRunner().invoke(cli.app, [*words, "-q", "-o", str(tmp_path / "out")], catch_exceptions=False)
    assert (tmp_path / "out" / "summary.json").read_bytes() == before


def test_queues_stand_where_all_send_to_one(tmp_path: Path) -> None:
    ranks, folder = 64, tmp_path / "out"
    with Writer(tmp_path / "gather", ranks, {"program": ["to rank 0"]}) as streams:
        for rank, stream in enumerate(streams):
            for peer in range(1, ranks) if rank == 0 else ():
                stream.message("Recv", peer, 16_000)
            if rank > 0:
                stream.message("Send", 0, 16_000)
            stream.end()
    words = ["replay", str(tmp_path / "gather"), "-m", "fat-tree-64", "--map", "round-robin", "-q", "-o", str(folder)]
    assert CliRunner().invoke(cli.app, words, catch_exceptions=False).exit_code == 0
    queues = pl.read_parquet(folder / "queues.parquet")
    names = pl.read_parquet(folder / "nodes.parquet")["name"]
    assert queues["node"].n_unique() == len(names) - ranks, "switches alone"
    assert queues["time_ns"].n_unique() <= 400
    by_switch = dict(queues.group_by("node").agg(pl.col("packets").mean()).iter_rows())
    mean = {name: by_switch[node] for node, name in enumerate(names) if node >= ranks}
    assert mean["switch(1,0,0)"] > 0.05 + 2 * mean["switch(1,1,0)"], "before rank 0, not before others"
    page = (folder / "report.html").read_text()
    assert f'"names":["{names[ranks]}' in page
    assert CliRunner().invoke(cli.app, [*words, "--level", "flow"], catch_exceptions=False).exit_code == 0
    assert not (folder / "queues.parquet").exists(), "a flow has no queues"
    assert '"queues":null' in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["T:start=1"], "start"),
        (["T:start=1ms,start=2ms"], "given twice"),
        (["T:begin=1ms"], "'begin=1ms' is not understood"),
        (["T:compute=-1"], "give a factor from 0"),
        (["T:map="], "it is empty"),
        (["T", "--map", ""], "--map '': it is empty"),
        (["T", "T", "--map", "nowhere"], "nowhere: No such file"),
        (["T", "T", "--map", "random:x"], "give the seed as a whole number"),
        (["T", "T", "--map", "random:100000000000000000000000"], "from 0 to 2\\^64 - 1"),
        (["T:map=random:18446744073709551616"], "from 0 to 2\\^64 - 1"),
        (["T", "--alone"], "there is one program"),
        (["T", "--job", "alltoall:ranks=1"], "two or more"),
        (["T", "--job", "alltoall:priority=1"], "leave out the priority"),
        (["T", "--job", "request-reply"], "interfaces answer requests"),
        (["T", "--job", "nothing"], "there is no program"),
        (["T", "--job", "alltoall:ranks=8"], "take more nodes than there are"),
        (["T", "--job", "bcast"], "takes an algorithm; give bcast:algorithm=binomial"),
        (["T", "--job", "bcast:algorithm=magic"], "bcast has no algorithm 'magic'; give one of binomial"),
        (["T", "--job", "bcast:algorithm=LLF,algorithm=GLF"], "'algorithm' is given twice"),
        (["T", "--job", "stencil-3d:algorithm=LLF"], "stencil-3d has no algorithm: that is for jobs that call one of barrier, bcast"),
        (["T:bcast=magic"], "bcast has no algorithm 'magic'"),
        (["T:reduce-scatter=magic"], "reduce-scatter has no algorithm 'magic'"),
        (["T:bcast=LLF,bcast=GLF"], "'bcast' is given twice"),
        ([], "there is nothing to replay: name a trace"),
        (["T", "T", "T", "--map", "node"], "take more nodes than there are"),
        (["T:start=99999999s"], "start"),
        (["nowhere:start=1ms"], "nowhere: not a trace"),
    ],
)
def test_what_cannot_be_is_reported(trace: Path, words: list[str], what: str) -> None:
    given = [word.replace("T", str(trace), 1) if word.startswith("T") else word for word in words]
    with pytest.raises(InputError, match=what):
        CliRunner().invoke(cli.app, ["replay", *given, "-m", "torus-2x2x2", "-q", "--no-report"], catch_exceptions=False)


def test_two_files_do_not_fill_a_node_twice(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("3\n3\n3\n3\n")
    with pytest.raises(InputError, match="put 8 ranks on node 3, which has 4 cores"):
        run([f"{trace}:map={tmp_path / 'nodes'}"] * 2)


def test_what_programs_send_over_time(tmp_path: Path) -> None:
    """Two ranks and one; by itself the first has bins of half the width."""
    programs = [{"first_rank": 0, "ranks": 2}, {"first_rank": 2, "ranks": 1}]
    together = {"bin_ps": 20, "sent_bytes": np.arange(3 * 300).reshape(3, 300)}
    alone = [{"bin_ps": 10, "sent_bytes": np.ones((2, 400))}, {"bin_ps": 20, "sent_bytes": np.full((1, 2), 5)}]
    table = throughput.table(programs, together, alone)
    assert len(table) == 2 * 100 and table["end_ps"].max() == 300 * 20
    assert table.row(0) == (0, 0, 60, 0 + 1 + 2 + 300 + 301 + 302, 2 * 6)
    assert table.group_by("program").agg(pl.col("bytes", "alone_bytes").sum()).sort("program").rows() == [
        (0, sum(range(600)), 800),
        (1, sum(range(600, 900)), 10),
    ]
    assert throughput.table(programs, together).columns == ["program", "start_ps", "end_ps", "bytes"]


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("alone", [True, False])
def test_the_page_draws_programs(trace: Path, tmp_path: Path, alone: bool) -> None:
    words = ["replay", str(trace), str(trace), "-m", "exanest", "-q", "-o", str(tmp_path / "out"), *(["--alone"] if alone else [])]
    assert CliRunner().invoke(cli.app, words, catch_exceptions=False).exit_code == 0
    elements = in_browser(tmp_path / "out" / "report.html")
    assert "What each program sent over time" in elements
    assert ("slow-down" in elements.split("<h2>Programs</h2>")[1].split("</section>")[0]) == alone
    assert charts(elements.split("<h2>Programs</h2>")[1].split("</section>")[0]) == 1


def test_trees_that_know_the_network_are_faster_and_the_example_runs() -> None:
    """Seventy-two nodes in nine groups, and eight broadcasts: the order of RED-SEA D1.4, figure 49."""
    found = runpy.run_path(str(EXAMPLE))["trees"]("dragonfly-342", 72, 8, 60_000, ["binary", "GLF", "LLF", "hardware"])
    assert found["hardware"] < min(found["LLF"], found["GLF"]) and max(found["LLF"], found["GLF"]) < found["binary"]


def test_broadcasts_beside_dynamics_leave_a_page_for_each_mapping(tmp_path: Path) -> None:
    interference = runpy.run_path(str(EXAMPLE))["interference"]
    slowed = interference("dragonfly-342", 2, 20_000, 1, ["hardware"], tmp_path / "out")
    assert set(slowed) == {("hardware", mapping) for mapping in ("round-robin", "switch", "node")}
    assert all(slow >= 0.9 for each in slowed.values() for slow in each)
    assert {file.parent.name for file in tmp_path.rglob("report.html")} == {"hardware-blocks", "hardware-switches", "hardware-nodes"}
    summary = json.loads((tmp_path / "out" / "hardware-nodes" / "summary.json").read_text())
    assert [program["slowdown"] for program in summary["programs"]] == slowed["hardware", "node"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "hardware-nodes").write_text("")
    with pytest.raises(InputError, match="it is a file"):
        interference("dragonfly-342", 2, 20_000, 1, ["hardware"], tmp_path / "other")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["trees", "--broadcasts", "0"], "give a whole number from 1"),
        (["trees", "--algorithms", "binary,trees"], "bcast has no algorithm 'trees'"),
        (["trees", "--machine", "nowhere"], "nowhere"),
        (["trees", "--ranks", "1369"], "1369"),
        (["trees", "-o", "out"], "trees leave no results"),
        (["interference", "--machine", "hyperx-512", "--algorithms", "hardware"], "takes routers that copy packets"),
    ],
)
def test_the_example_refuses_what_cannot_be(words: list[str], what: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["broadcast_trees.py", "--broadcasts", "1", "--steps", "1", *words, "--message", "8"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert ended.value.code == 2
    assert what in capsys.readouterr().err
