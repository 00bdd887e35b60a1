# SPDX-License-Identifier: Apache-2.0
"""`exanet sweep`: what its file means, that it goes on after a kill as if nothing had been, and what it says of what
cannot be."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import MISSING, charts, in_browser
from host import tried

from exanet.errors import InputError
from exanet.machine import load
from exanet.machine.located import Located, Mark
from exanet.quantity import counted
from exanet.sweep import cluster as clusters
from exanet.sweep import execute, plan
from exanet.sweep import run as sweeps

SAME = ("runs.parquet", "summary.json", "report.html")
SMALL = """
name: small
machine: [trenz-2x2, exanest-qfdb]
traffic: [uniform, neighbour, complement]
load: [0.1, 0.2, 0.3, 0.4, 0.5]
seed: [1, 2, 3, 4, 5, 6, 7]
warm_up: 1 us
measure: 200 us
"""


def sweep(*options: str | Path, before: object = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "exanet", "sweep", *map(str, options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before, cwd="/")  # type: ignore[call-overload,no-any-return]


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    return file


def lines(directory: Path) -> int:
    journal = directory / execute.JOURNAL
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


@pytest.mark.slow
def test_a_sweep_that_is_killed_and_gone_on_with_gives_the_same_bytes(tmp_path: Path) -> None:
    """210 runs with two workers; the second sweep is killed with half of them done, then started again."""
    file = write(tmp_path, SMALL.replace("200 us", "20 us"))
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    done = sweep(file, "-o", whole, "--workers", "2")
    out, err = done.communicate(timeout=240)
    assert done.returncode == 0, err
    assert re.search("210 of 210 runs, 0 failed, [12] workers", err), "one may start when the other has done it all"
    assert "small, 210 runs" in out

    victim = sweep(file, "-o", halved, "-q")
    while lines(halved) < 105 and victim.poll() is None:
        time.sleep(0.002)
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=300)
    had = lines(halved)
    assert 105 <= had < 210
    rows = (halved / execute.JOURNAL).read_bytes().splitlines(keepends=True)
    rows[50] = rows[50][:100] + b"\n"  # damaged
    rows.append(b'{"key":"torn')  # as a kill in the middle of a write leaves it
    (halved / execute.JOURNAL).write_bytes(b"".join(rows))

    again = sweep(file, "-o", halved)
    out, err = again.communicate(timeout=240)
    assert again.returncode == 0, err
    assert f"{had - 1} of 210 runs are in" in err
    assert "damaged lines there, left out: 1; what they held is run again" in err
    assert lines(halved) == 211
    for name in SAME:
        assert (whole / name).read_bytes() == (halved / name).read_bytes(), name
    assert json.loads((halved / "run.json").read_text())["taken_from_journal"] == had - 1


def test_a_run_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    out = tmp_path / "r"
    options = ("-m", "trenz-2x2", "--set", "message_bytes=1000,1000000000", "--load", "0.1,0.2", "-o", out)
    done = sweep(*options, "--set", "warm_up=1 us", "--set", "measure=5 us")
    shown, err = done.communicate(timeout=300)
    assert done.returncode == 1, err
    assert "failed, 2 runs: no message begins within the window" in shown
    frame = pl.read_parquet(out / "runs.parquet")
    assert frame["message_bytes"].to_list() == [1000] * 2 + [1000000000] * 2
    assert frame["error"].is_null().to_list() == [True, True, False, False]
    assert frame["accepted_load"].is_null().to_list() == [False, False, True, True]
    assert "2 of 4 runs failed" in page_text(out)
    quiet = sweep(*options, "--set", "warm_up=1 us", "--set", "measure=5 us", "-q", "--workers", "1")
    shown, err = quiet.communicate(timeout=300)
    assert (quiet.returncode, shown) == (1, "")
    assert err == f"exanet: 2 of 4 runs failed; why stands in {out / 'summary.json'}\n"


def page_text(out: Path) -> str:
    """Text of the report when a browser has drawn it; the data itself where there is none."""
    if MISSING:
        data = json.loads(re.findall(r'id="data">(.*?)</script>', (out / "report.html").read_text())[0])
        failed = sum(row[-1] is not None for row in data["runs"])
        return f"{failed} of {len(data['runs'])} runs failed"
    elements = in_browser(out / "report.html")
    assert charts(elements) >= 3
    return elements


def test_a_full_disk_is_reported_and_costs_nothing_that_is_done(tmp_path: Path) -> None:
    """A file that may not grow beyond 3000 bytes; then the same command with space."""
    out = tmp_path / "r"
    options = (
        "-m",
        "trenz-2x2",
        "--load",
        "0.1,0.2,0.3,0.4",
        "-o",
        out,
        "--set",
        "warm_up=1 us",
        "--set",
        "measure=5 us",
        "--workers",
        "1",
    )
    full = sweep(*options, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)))
    _, err = full.communicate(timeout=300)
    assert full.returncode == 2, err
    assert re.search(r"exanet: error: cannot write .*journal.jsonl: .*make space there and give the same command again", err)
    assert "Traceback" not in err
    assert sorted(path.name for path in out.iterdir()) == [execute.JOURNAL]
    kept = lines(out)
    assert kept >= 1
    again = sweep(*options)
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert f"{kept} of 4 runs are in" in err


def opened(tmp_path: Path) -> execute.Journal:
    journal = execute.Journal(tmp_path / "r")
    journal.open()
    return journal


RESULT: dict[str, object] = {"figures": {}, "network": None, "cpu_s": 0.0}


def descendants(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def has_read(process: int, module: str) -> bool:
    """Whether this worker has."""
    with contextlib.suppress(OSError):
        # Before it is a program of its own, a child has read what its parent has.
        return b"sweep.worker" in Path(f"/proc/{process}/cmdline").read_bytes() and module in Path(f"/proc/{process}/maps").read_text()
    return False


def hears_interrupts(process: int) -> bool:
    """Not if SIGINT is blocked in all of its threads."""
    blocked = re.findall(r"^SigBlk:\s+(\w+)", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    return not all(int(mask, 16) >> signal.SIGINT - 1 & 1 for mask in blocked)


LONG = ("-m", "torus-512", "--load", "0.5", "--seed", "1,2,3,4", "--set", "warm_up=1 us", "--set", "measure=1 s")


def in_the_foreground(*options: str | Path) -> subprocess.Popen[str]:
    """A sweep as a terminal runs it: its workers are in its process group, which a Ctrl-C goes to."""
    command = [sys.executable, "-m", "exanet", "sweep", *map(str, options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/", start_new_session=True)


@pytest.mark.parametrize("moment", ["modules are read", "the cluster starts", "runs run"])
def test_an_interrupt_is_one_line(tmp_path: Path, moment: str) -> None:
    out = tmp_path / "r"
    process = in_the_foreground(*LONG, "-o", out)

    def is_now() -> bool:
        if moment == "modules are read":
            return "pydantic" in Path(f"/proc/{process.pid}/maps").read_text()
        # Workers read Dask's modules when they start, and the simulator's when they run the first run.
        return any(has_read(child, "msgpack" if moment == "the cluster starts" else "exanet/_core") for child in descendants(process.pid))

    deadline = time.monotonic() + 300
    while not is_now() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    shown, _ = process.communicate(timeout=300)
    shown = re.sub("exanet: 0 of 4 runs, 0 failed, .*\n", "", shown)  # said while nothing happens for seconds
    line = f"exanet: stopped by Ctrl-C: the same command with -o {out} goes on\n"
    # The first moment may be over when a busy host lets the signal come.
    early = [(130, ""), (130, "exanet: stopped by Ctrl-C\n")] if moment == "modules are read" else []
    assert (process.returncode, shown) in ((130, line), *early)


def test_a_worker_in_place_of_one_that_died_hears_no_interrupt_either(tmp_path: Path) -> None:
    process = in_the_foreground(*LONG, "-o", tmp_path / "r", "--workers", "1")
    try:
        (first,) = workers_at_work(process, 1)
        assert not hears_interrupts(first)
        os.kill(first, signal.SIGKILL)
        (second,) = workers_at_work(process, 1, but=[first])
        assert not hears_interrupts(second)
        os.killpg(process.pid, signal.SIGINT)
        shown, _ = process.communicate(timeout=300)
        assert (process.returncode, shown.count("Traceback"), shown.splitlines()[-1][:15]) == (130, 0, "exanet: stopped")
    finally:
        process.kill()


def workers_at_work(process: subprocess.Popen[str], count: int, but: Sequence[int] = ()) -> list[int]:
    """The workers of a sweep, when so many of them run a run: then they have read the simulator."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        found = [child for child in descendants(process.pid) if child not in but and has_read(child, "exanet/_core")]
        if len(found) == count:
            return found
        time.sleep(0.02)
    raise AssertionError(f"no {count} workers at work")


@pytest.mark.parametrize("workers", tried([1, 2], [2]))
def test_workers_come_back_and_a_run_that_two_have_died_of_is_failed(tmp_path: Path, workers: int) -> None:
    """Killed as the system kills what takes too much memory: two workers for each of as many endless runs as there
    are workers."""
    out = tmp_path / "r"
    few = ("--load", "0.5,0.6"[: 4 * workers - 1], "--set", "measure=100 s,5 us", "--set", "warm_up=1 us")
    process = sweep("-m", "trenz-2x2", *few, "-o", out, "--workers", str(workers))
    first = workers_at_work(process, workers)
    for worker in first:
        os.kill(worker, signal.SIGKILL)
    for worker in workers_at_work(process, workers, but=first):
        os.kill(worker, signal.SIGKILL)
    shown, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    assert f"failed, {counted(workers, 'run')}: the worker died each time that it tried: out of memory" in shown
    frame = pl.read_parquet(out / "runs.parquet")
    assert frame["error"].is_null().to_list() == [measure < 10**12 for measure in frame["measure_ps"]]
    assert lines(out) == 2 * workers


def test_workers_that_do_not_start_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    tended = clusters._Processes("tcp://127.0.0.1:1", 1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    try:
        with pytest.raises(InputError, match="workers end right after their start: they say nothing"):
            for _ in range(2000):
                tended.tend(0)
                time.sleep(0.01)
    finally:
        tended.close()


def test_two_sweeps_do_not_write_to_one_folder(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    with pytest.raises(InputError, match="another sweep is writing here"):
        execute.Journal(tmp_path / "r")
    journal.close()
    execute.Journal(tmp_path / "r").close()


def test_a_torn_last_line_costs_that_line_alone(tmp_path: Path) -> None:
    runs = plan.read(write(tmp_path, SMALL), {}).runs
    journal = opened(tmp_path)
    journal.add(runs[0], RESULT)
    journal.add(runs[1], RESULT)
    journal.close()
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-7])
    journal = execute.Journal(tmp_path / "r")
    assert set(journal.found) == {runs[0].key}
    journal.add(runs[2], RESULT)
    journal.close()
    journal = execute.Journal(tmp_path / "r")
    assert set(journal.found) == {runs[0].key, runs[2].key}
    journal.close()


BAD_LINES = (
    b"5", b"null", b"{}", b"[1]", b"\xff\xfe", b"{torn", b"", b"[" * 5000,
    b'{"key":"a","simulator":"b","result":5}', b'{"key":"a","simulator":"b","result":null}', b'{"key":"a","simulator":"b","result":{}}',
    b'{"key":["a"],"simulator":"b","result":{"error":"x"}}', b'{"key":"a","simulator":"b","result":{"figures":1,"network":2,"cpu_s":"3"}}',
)  # fmt: skip


def test_a_damaged_line_costs_its_own_result_and_no_other(tmp_path: Path) -> None:
    runs = plan.read(write(tmp_path, SMALL), {}).runs
    journal = opened(tmp_path)
    for run in runs[:4]:
        journal.add(run, RESULT)
    journal.close()
    rows = journal.path.read_bytes().splitlines()
    rows[1] = rows[1].replace(b'"result"', b'"resu\0t"')
    damaged = b"\n".join([*rows[:2], *BAD_LINES, *rows[2:], b""])
    journal.path.write_bytes(damaged + b'{"key":"to')
    journal = execute.Journal(tmp_path / "r")
    assert journal.found.keys() == {runs[i].key for i in (0, 2, 3)}
    assert (journal.damaged, journal.others) == (1 + len(BAD_LINES), 0)
    journal.close()
    assert journal.path.read_bytes() == damaged, "no more than the torn end is cut off"


def test_a_file_that_is_no_journal_of_ours_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    file = tmp_path / "r" / execute.JOURNAL
    for content in (b'{"event":1}\n{"event":2}\n', b"no line end", b"\n", *(line + b"\n" for line in BAD_LINES)):
        file.write_bytes(content)
        with pytest.raises(InputError, match="it holds no results of a sweep"):
            execute.Journal(tmp_path / "r")
        assert file.read_bytes() == content
    for content in (b"", b"{", b'{"key":"5f'):  # as a kill during the first write leaves it
        file.write_bytes(content)
        execute.Journal(tmp_path / "r").close()
        assert file.read_bytes() == b""


def test_results_of_another_simulator_are_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = plan.read(write(tmp_path, SMALL), {}).runs[0]
    journal = opened(tmp_path)
    journal.add(run, RESULT)
    assert run.key in journal.found
    journal.close()
    monkeypatch.setattr(execute, "simulator_digest", lambda: "another")
    journal = execute.Journal(tmp_path / "r")
    assert (journal.found, journal.others) == ({}, 1)
    journal.close()


def test_the_runs_are_the_grid_in_the_order_of_the_file(tmp_path: Path) -> None:
    made = plan.read(write(tmp_path, SMALL), {})
    assert len(made.runs) == 2 * 3 * 5 * 7 == len({run.key for run in made.runs})
    assert [run.load for run in made.runs[:5]] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert made.runs[0].spec["warm_up_ps"] == 1_000_000
    assert made.axes["seed"] == [1, 2, 3, 4, 5, 6, 7]
    assert [run.columns["machine"] for run in made.runs] == ["trenz-2x2"] * 105 + ["exanest-qfdb"] * 105


def test_two_machines_of_one_name_are_distinguished(tmp_path: Path) -> None:
    """As the tutorial does it: a machine's file is copied, and a constant of it changed."""
    from exanet import machine
    from exanet.sweep import results

    (tmp_path / "what-if.yaml").write_text(
        "extends: torus-2x2x2\nname: torus-2x2x2\nrouter:\n  inter_fifo: {value: 1024 words, source: x, kind: chosen}\n"
    )
    assert machine.load(tmp_path / "what-if.yaml").name == "torus-2x2x2"
    made = plan.read(write(tmp_path, "machine: [torus-2x2x2, what-if.yaml, trenz-2x2]\nload: [0.1, 0.2]\n"), {})
    assert results.series_names(made) == ["torus-2x2x2"] * 2 + ["what-if.yaml"] * 2 + ["trenz-2x2"] * 2
    found = {run.key: {"figures": dict.fromkeys(["offered_load", "zero_load_ns"], 1.0), "network": None, "cpu_s": 0.0} for run in made.runs}
    assert results.table(made, found, {})["machine"].unique(maintain_order=True).to_list() == ["torus-2x2x2", "what-if.yaml", "trenz-2x2"]
    alone = plan.read(write(tmp_path, "machine: [what-if.yaml, trenz-2x2]\nload: 0.1\n"), {})
    assert results.series_names(alone) == ["torus-2x2x2", "trenz-2x2"]


def test_a_machine_is_found_beside_the_file_or_where_the_user_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files named in the file lie beside it; those that the command names, in the present folder."""
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "mine.yaml").write_text(f"extends: trenz-2x2\nname: of-{'sub' if folder.name == 'sub' else 'here'}\n")
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "sub", "machine: ./mine.yaml\nload: 0.1\n")
    assert plan.read(file, {}).runs[0].machine["name"] == "of-sub"
    for given in ("mine.yaml", "./mine.yaml"):
        mark = Mark("--machine")
        assert plan.read(file, {"machine": Located(given, mark)}).runs[0].machine["name"] == "of-here"


def test_constants_of_the_machines_are_axes_and_a_sample_is_drawn(tmp_path: Path) -> None:
    text = "machine: torus-512\nload: 0.5\nvary:\n  router.inter_fifo: [512 words, 1024 words]\n  links.link.latency: [50 ns, 75 ns]\n"
    runs = plan.read(write(tmp_path, text), {}).runs
    assert [(r.machine["router"]["inter_fifo_words"], r.machine["links"][0]["latency_ps"]) for r in runs] == [
        (512, 50000), (512, 75000), (1024, 50000), (1024, 75000),
    ]  # fmt: skip
    few = plan.read(write(tmp_path, text + "seed: [1, 2, 3, 4]\nsample: {runs: 5, seed: 3}\n"), {}).runs
    assert few == plan.read(tmp_path / "s.yaml", {}).runs
    assert len({run.key for run in few}) == 5
    mark = Mark("--set router.inter_fifo")
    laid = plan.read(tmp_path / "s.yaml", {"router.inter_fifo": Located([Located("256 words", mark)], mark)}).runs
    assert {run.machine["router"]["inter_fifo_words"] for run in laid} == {256}


def test_shapes_are_values_too(tmp_path: Path) -> None:
    text = "machine: torus-512\nload: 0.5\nvary:\n  topology.shape: [[4, 4], [8, 8, 8]]\n"
    runs = plan.read(write(tmp_path, text), {}).runs
    assert [run.machine["topology"]["shape"] for run in runs] == [[4, 4], [8, 8, 8]]
    assert [run.columns["topology.shape"] for run in runs] == ["[4, 4]", "[8, 8, 8]"]


def test_each_shape_has_its_own_drawing(tmp_path: Path) -> None:
    from exanet.sweep import results

    text = "machine: torus-512\nload: 0.2\nwarm_up: 1 us\nmeasure: 5 us\nvary:\n  topology.shape: [[4, 4], [2, 2, 2]]\n"
    made = plan.read(write(tmp_path, text), {})
    found = {run.key: execute.measure(run.machine, run.load, run.spec) for run in made.runs}
    page = results._page(made, results.table(made, found, {}), found)
    assert [len(page["drawings"][entry["machine"]]["names"]) for entry in page["networks"]] == [16, 8]


def test_jobs_are_swept_to_their_end(tmp_path: Path) -> None:
    text = "machine: [trenz-2x2, exanest-qfdb]\njob: 'stencil-2d:bytes=1KiB,rounds=2'\nmapping: [linear, random]\nseed: [1, 2]\n"
    out = tmp_path / "r"
    done = sweep(write(tmp_path, text), "-o", out)
    shown, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    assert "time to the end" in shown
    frame = pl.read_parquet(out / "runs.parquet")
    assert len(frame) == 8
    assert (frame["finished_ns"] > 0).all()
    assert frame["messages"].unique().to_list() == [4 * 2 * 2]  # on a grid of 2x2 that wraps round, two neighbours each
    with pytest.raises(InputError, match="unknown key 'load' of a sweep over jobs"):
        plan.read(write(tmp_path, text + "load: 0.1\n"), {})
    with pytest.raises(InputError, match=r"s.yaml:2:6: error: .*'speed=1' is not understood"):
        plan.read(write(tmp_path, "machine: trenz-2x2\njob: 'stencil-2d:speed=1'\n"), {})


def test_interfaces_are_an_axis(tmp_path: Path) -> None:
    text = "machine: trenz-2x2\njob: 'alltoall:bytes=1KiB'\n"
    out = tmp_path / "r"
    _, err = (done := sweep(write(tmp_path, text + "nic: [ideal, exanet]\n"), "-o", out)).communicate(timeout=300)
    assert done.returncode == 0, err
    frame = pl.read_parquet(out / "runs.parquet")
    assert frame["nic"].to_list() == ["ideal", "exanet"]
    assert frame["finished_ns"][0] < frame["finished_ns"][1]
    assert "nic" not in plan.read(write(tmp_path, text), {}).runs[0].columns
    assert plan.read(write(tmp_path, text + "nic: exanet\n"), {}).runs[0].columns["nic"] == "exanet"
    with pytest.raises(InputError, match="exanet interfaces send packets of 256 B, as the machine says"):
        plan.read(write(tmp_path, text + "nic: [ideal, exanet]\npacket_bytes: 64\n"), {})


def test_both_levels_are_swept_together(tmp_path: Path) -> None:
    text = "machine: trenz-2x2\nlevel: [packet, flow]\nmessage_bytes: 65536\nload: [0, 0.3]\nmeasure: 2 ms\n"
    out = tmp_path / "r"
    done = sweep(write(tmp_path, text), "-o", out)
    _, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    frame = pl.read_parquet(out / "runs.parquet")
    assert frame["level"].to_list() == ["packet"] * 2 + ["flow"] * 2
    assert frame["latency_ns"][3] == pytest.approx(frame["latency_ns"][1], rel=0.3)


def test_the_examples_are_plans() -> None:
    examples = sorted((Path(__file__).parents[2] / "examples" / "sweeps").glob("*.yaml"))
    assert len(examples) >= 4
    for example in examples:
        assert plan.read(example, {}).runs


def test_saturation_is_found_by_bisection() -> None:
    spec = {"warm_up_ps": 20_000_000, "measure_ps": 50_000_000, "traffic": "incast:8"}
    from exanet import machine

    resolved = machine.load("fat-tree-64").resolve()
    found = execute.measure(resolved, None, spec)["figures"]
    assert not found["saturated"]
    assert 0.08 < found["load"] < 0.125 / 0.9  # eight senders share the last link, and 90 % are accepted
    assert execute.measure(resolved, found["load"] + 2 / 64, spec)["figures"]["saturated"]


def test_a_network_whose_endpoints_have_several_links_accepts_more_than_one_link_carries() -> None:
    from exanet import machine

    resolved = machine.load("torus-2x2x2").resolve()
    spec = {"warm_up_ps": 20_000_000, "measure_ps": 50_000_000, "traffic": "neighbour"}
    found = execute.measure(resolved, None, spec)["figures"]
    assert not found["saturated"]
    assert found["load"] > 1.6
    assert found["accepted_load"] > 0.9 * found["load"]
    assert execute.measure(resolved, 2.3, spec)["figures"]["saturated"]  # more than a node's port into its router carries
    coin = execute.measure(resolved, None, spec | {"arrivals": "bernoulli"})["figures"]  # no load above 1
    assert coin["load"] == 1
    assert not coin["saturated"]


def test_the_steps_of_the_search_are_relative() -> None:
    for most in (8.3, 2.4, 1.8, 0.9, 0.7, 0.05, 0.0139, 0.001):
        tried: list[float] = []

        def point(load: float, most: float = most, tried: list[float] = tried) -> dict[str, object]:
            tried.append(load)
            return {"load": load, "saturated": load > most}

        found = execute._saturation(point, 10)["load"]
        assert most * (1 - 1 / 16) < found <= most, tried
        assert len(tried) <= 16
    for top in (1, 10):
        assert execute._saturation(lambda load: {"load": load, "saturated": False}, top)["load"] == top
    assert execute._saturation(lambda load: {"load": load, "saturated": True}, 10)["load"] < 1e-3


@pytest.mark.parametrize(
    ("machine", "text", "path", "values"),
    [
        ("exanest-ni", "ni.pages: [0, 64 KiB]", "ni.pages_bytes", [0, 65536]),
        ("torus-512", "router.credit_threshold: [1 word, 100 words]", "router.credit_threshold_words", [1, 100]),
        ("fat-tree-64", "topology.rails: [1, 2]", "topology.rails", [1, 2]),
        ("fat-tree-64", "topology.routing: [minimal, valiant]", "topology.routing", ["minimal", "valiant"]),
        ("torus-512", "power.router.idle: [1 W, 2 W]", "power.router.idle_uw", [1_000_000, 2_000_000]),
    ],
)
def test_a_key_that_the_machine_leaves_out_may_be_varied(
    tmp_path: Path, machine: str, text: str, path: str, values: list[int] | list[str]
) -> None:
    file = write(tmp_path, f"machine: {machine}\nload: 0.2\nvary: {{{text}}}\n")
    section, *keys = path.split(".")
    assert keys[0] not in load(machine).resolve().get(section, {})
    found: list[Any] = [run.machine[section] for run in plan.read(file, {}).runs]
    for key in keys:
        found = [part[key] for part in found]
    assert found == values


BAD = [
    ("machine: torus-512\nloda: 0.1\n", "s.yaml:2:1: error: unknown key 'loda'; did you mean 'load'?"),
    ("load: 0.1\n", "'machine' is missing"),
    ("machine: torus-51\n", "s.yaml:1:10: error: there is no machine 'torus-51'; did you mean 'torus-512'?"),
    ("machine: torus-512\nload: [0.1, -2]\n", "s.yaml:2:13: error: load -2"),
    ("machine: torus-512\nload: high\n", "s.yaml:2:7: error: expected a number, not high"),
    ("machine: torus-512\ntraffic: unifrom\n", "s.yaml:2:10: error: there is no traffic 'unifrom'; did you mean 'uniform'?"),
    ("machine: torus-512\nseed: [1.5]\n", "s.yaml:2:8: error: expected a whole number"),
    ("machine: torus-512\nseed: []\n", "an axis needs at least one value"),
    ("machine: torus-512\nwarm_up: 5\n", "s.yaml:2:10: error: 5 has no unit"),
    ("machine: torus-512\nvary:\n  router.fifo: 5 words\n", "s.yaml:3:16: error: the machine has no 'fifo' of 'router.fifo'"),
    ("machine: exanest-ni\nvary:\n  ni.page: 4 KiB\n", "s.yaml:3:12: error: the machine has no 'page' of 'ni.page'; did you mean 'pages'?"),
    (
        "machine: torus-512\nvary:\n  router.switch.queues: fifo\n",
        "s.yaml:3:25: error: the machine has no 'switch' of 'router.switch.queues'; write it in its file, with the keys",
    ),
    ("machine: torus-512\nvary:\n  topology.file: a.txt\n", "s.yaml:3:18: error: the machine has no constant 'topology.file'"),
    ("machine: torus-512\nvary:\n  links.lnk.framing: 2 words\n", "has no 'lnk' of 'links.lnk.framing'; did you mean 'link'?"),
    ("machine: torus-512\nvary:\n  ni.pages: [0, 4 KiB]\n", "s.yaml:3:17: error: pages need 'transfers: gateware'"),
    ("machine: torus-512\nvary:\n  router.inter_fifo: [1 word]\n", "s.yaml:3:23: error: must hold two packets"),
    ("machine: torus-512\nvary:\n  router: 5\n", "the machine has no constant 'router'"),
    ("machine: torus-512\nfoo: 1\n", "or, under 'vary' or with --set, a constant of the machines by its dotted name, e.g. "),
    ("machine: [torus-512, ./no.yaml]\n", "s.yaml:1:22: error: no.yaml: cannot be read: No such file or directory"),
    ("name: [a, b]\nmachine: torus-512\n", "s.yaml:1:1: error: 'name' takes a word"),
    ("name:\nmachine: torus-512\n", "s.yaml:1:1: error: 'name' takes a word"),
    ("machine: torus-512\nsample: {runs: true}\n", "s.yaml:2:9: error: 'sample' takes the number of runs"),
    ("machine: torus-512\nlevel: [packet, foo]\n", "s.yaml:2:17: error: level foo: give packet or flow"),
    ("machine: torus-512\narrivals: foo\n", "s.yaml:2:11: error: arrivals foo: give poisson"),
    ("machine: torus-512\npacket_bytes: [64, 999999]\n", "s.yaml:2:20: error: packets of 999999 B: give from 0 B"),
    ("machine: torus-512\nmeasure: 0 us\n", "s.yaml:2:10: error: a measured window of 0 ps: give from 1 ns"),
    ("machine: torus-512\npriority_share: 2\n", "s.yaml:2:17: error: a share of 2.0 with priority: give from 0 to 1"),
    ("machine: torus-512\ntraffic: [uniform, 'hot-spot:7']\n", "s.yaml:2:20: error: hot-spot takes the share"),
    ("machine: torus-512\nrounds: 0\n", "s.yaml:2:9: error: rounds are of messages"),
    ("machine: torus-512\nmessage_bytes: 64\nrounds: 2\n", "s.yaml:3:9: error: rounds are of messages that are sent all at once"),
    ("machine: torus-512\nload: [0.5, 0]\n", "s.yaml:2:13: error: a load of 0 is a burst of messages"),
    ("machine: torus-512\nseed: [1, -1]\n", "s.yaml:2:11: error: seed -1: give from 0 to 2^64 - 1"),
    ("machine: torus-512\nseed: [1, 18446744073709551616]\n", "s.yaml:2:11: error: seed 18446744073709551616"),
    ("machine: torus-512\njob: stencil-9d\n", "s.yaml:2:6: error: there is no program \"stencil-9d\""),
    ("machine: torus-512\njob: stencil-3d\nmapping: foo\n", "s.yaml:3:10: error: there is no mapping \"foo\""),
    ("machine: torus-512\njob: 'stencil-3d:ranks=600'\n", "s.yaml:2:6: error: torus-512: the jobs have 600 ranks in total"),
    ("machine: torus-512\njob: stencil-3d\nseed: 18446744073709551616\n", "s.yaml:3:7: error: seed 18446744073709551616"),
    ("machine: [trenz-2x2, torus-2x2x2]\ntraffic: transpose\n", "s.yaml:2:10: error: torus-2x2x2: transpose needs a square number"),
    ("machine: torus-512\nlevel: flow\npace: foo\nload: 0\n", "s.yaml:3:7: error: pace foo: give free or fair"),
    ("machine: torus-512\nlevel: foo\nmeasure: 0 us\n", "level foo: give packet or flow\ns.yaml:3:10: error: a measured window of 0 ps"),
    ("machine: torus-512\nvary: fast\n", "s.yaml:2:7: error: 'vary' takes constants"),
    ("machine: torus-512\nsample: 5\n", "'sample' takes the number of runs"),
    (f"machine: torus-512\nseed: {list(range(1500))}\npacket_bytes: {list(range(1000))}\n", "13500000 runs; at most 1000000"),
    ("- 1\n", "s.yaml:1:1: error: a sweep is a mapping"),
    ("", "the file is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_file_is_reported_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    with pytest.raises(InputError) as refusal:
        plan.read(Path("s.yaml"), {})
    assert message in "\n".join(refusal.value.messages)


def test_the_command_refuses_before_it_writes(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("")
    for options, message in (
        (("-o", tmp_path / "r"), "name a sweep file, or give at least --machine"),
        (("-m", "torus-51", "-o", tmp_path / "r"), "did you mean 'torus-512'"),
        (("-m", "trenz-2x2", "-o", tmp_path / "other"), "the folder holds other files"),
        (("-m", "trenz-2x2", "-o", tmp_path / "r", "--workers", "0"), "--workers 0: give at least 1"),
        (("-m", "trenz-2x2", "-o", tmp_path / "r", "--set", "x"), "--set x: give an axis and its values"),
        (("-m", "trenz-2x2", "-o", tmp_path / "r", "--set", "job=allreduce:bytes=4KiB,rounds=2"), "a comma ends a value: quote each job"),
        (("-m", "trenz-2x2", "-o", tmp_path / "r", "--cluster", "nowhere"), "--cluster nowhere: give local"),
    ):
        done = sweep(*options)
        _, err = done.communicate(timeout=300)
        assert (done.returncode, message in err, "Traceback" in err) == (2, True, False), err
        assert not (tmp_path / "r").exists()
    assert os.listdir(tmp_path / "other") == ["x"]


@contextlib.contextmanager
def dask_cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler with two workers, each a process of its own, as a site's would be.

    They are killed in the end, and have no nannies, which would live on: on a busy host one of Dask's workers in ten,
    asked to end while its scheduler ends, waits for ever for tasks that do not hear that they are cancelled.
    """
    where = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_"]
    local = ["--scheduler-file", str(where), "--host", "127.0.0.1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    worker = ["worker", *local, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    commands = [["scheduler", *local, "--port", "0", "--no-dashboard"], worker, worker]
    started = [subprocess.Popen([*dask[:2], dask[2] + kind, *options], cwd=tmp_path, **quiet) for kind, *options in commands]  # type: ignore[call-overload]
    (tmp_path / "scheduler.pid").write_text(str(started[0].pid))
    try:
        deadline = time.monotonic() + 300
        while not (where.exists() and where.read_text().endswith("}")) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield json.loads(where.read_text())["address"]
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def test_progress_is_reported_while_no_run_ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def reported(terminal: bool, workers: int) -> list[str]:
        """Text written in 70 s in which nothing ends but the last of three runs, at their end."""
        now = 0.0
        monkeypatch.setattr(sweeps.time, "monotonic", lambda: now)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
        report = sweeps._Progress(3, quiet=False)
        while now < 70:
            report(2, 0, lambda: workers)
            now += 0.5
        report(3, 0, lambda: workers)
        return [line for line in capsys.readouterr().err.replace("\r\x1b[K", "\n").splitlines() if line]

    assert reported(False, 2) == ["exanet: 3 of 3 runs, 0 failed, 2 workers, 70 s"]
    waiting = reported(False, 0)
    assert waiting[:2] == [f"exanet: 2 of 3 runs, 0 failed, waiting for workers, {s} s" for s in (5, 35)]
    assert len(waiting) == 4
    ticks = reported(True, 2)
    assert ticks[:2] == [f"exanet: 2 of 3 runs, 0 failed, 2 workers, {s} s" for s in (2, 4)]
    assert len(ticks) == 35


FEW = ("-m", "trenz-2x2", "--load", "0.1,0.2,0.3", "--set", "warm_up=1 us", "--set", "measure=5 us")


@pytest.mark.slow
def test_a_cluster_elsewhere_gives_the_same_bytes_as_processes_here(tmp_path: Path) -> None:
    with dask_cluster(tmp_path) as address:
        assert address.startswith("tcp://127.0.0.1:")
        done = sweep(*FEW, "-o", tmp_path / "there", "--cluster", address)
        _, err = done.communicate(timeout=300)
        assert done.returncode == 0, err
        assert re.search(r"3 of 3 runs, 0 failed, [12] workers", err), "progress is shown"
    done = sweep(*FEW, "-o", tmp_path / "here", "--workers", "1")
    _, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    for name in SAME:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), name
    assert json.loads((tmp_path / "there/run.json").read_text())["cluster"] == address


@pytest.mark.slow
def test_a_cluster_that_is_lost_is_one_message(tmp_path: Path) -> None:
    with dask_cluster(tmp_path) as address:
        many = ("-m", "trenz-2x2", "--load", "0.3", "--seed", ",".join(map(str, range(2000))), "--set", "measure=2 ms")
        process = sweep(*many, "-o", tmp_path / "r", "--cluster", address)
        deadline = time.monotonic() + 300
        while lines(tmp_path / "r") < 3 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(int((tmp_path / "scheduler.pid").read_text()), signal.SIGKILL)
        _, err = process.communicate(timeout=300)
    said = [line for line in err.splitlines() if not line.startswith("exanet: ") or "error" in line]
    assert (process.returncode, len(said)) == (2, 1), err
    reported = re.fullmatch(
        rf"exanet: error: the cluster at {address} was lost; (\d+) of 2000 runs are safe in .*: give the same command .*", said[0]
    )
    assert reported
    assert int(reported[1]) == lines(tmp_path / "r")


def batch_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Slurm of one machine: what is submitted runs here at once, and is ended by its number. Answers where the
    jobs are written down."""
    jobs = tmp_path / "jobs"
    commands = {
        "sbatch": f'cat "$1" >>{jobs}; cp "$1" {tmp_path}/job.sh; sh {tmp_path}/job.sh >/dev/null 2>&1 & echo "Submitted batch job $!"',
        "scancel": 'kill "$@" 2>/dev/null; true',
    }
    for name, text in commands.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for key, value in {"CORES": "1", "MEMORY": "1 GB", "QUEUE": "day", "WALLTIME": "00:10:00", "INTERFACE": "lo"}.items():
        monkeypatch.setenv(f"DASK_JOBQUEUE__SLURM__{key}", value)
    return jobs


def test_the_job_of_a_batch_system_is_printed_and_nothing_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask_jobqueue")
    jobs = batch_system(tmp_path, monkeypatch)
    done = sweep(*FEW, "-o", tmp_path / "r", "--cluster", "slurm", "--script")
    script, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    for line in ("#SBATCH -p day", "#SBATCH --cpus-per-task=1", "#SBATCH --mem=954M", "#SBATCH -t 00:10:00"):
        assert line in script.splitlines()
    assert re.search(r"^\S+ -m distributed.cli.dask_worker tcp://127.0.0.1:\d+ .*--nthreads 1", script, re.MULTILINE)
    assert not jobs.exists()
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_a_sweep_runs_in_the_jobs_of_a_batch_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask_jobqueue")
    jobs = batch_system(tmp_path, monkeypatch)
    done = sweep(*FEW, "-o", tmp_path / "r", "--cluster", "slurm", "--workers", "1")
    _, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    assert len(pl.read_parquet(tmp_path / "r/runs.parquet")) == 3
    assert jobs.read_text().count("distributed.cli.dask_worker") == 1


def test_a_batch_system_that_is_not_given_what_to_ask_for_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue")
    for cluster, message in (
        ("slurm", "must specify how much cores and memory per job you want to use: write at least cores and memory"),
        ("local", "submits no jobs"),
        ("tcp://h:1", "submits no jobs"),
    ):
        done = sweep(*FEW, "-o", tmp_path / "r", "--cluster", cluster, "--script")
        _, err = done.communicate(timeout=300)
        assert (done.returncode, message in err, "Traceback" in err, err.count("\n")) == (2, True, False, 1), err


def test_a_cluster_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = sweep("-m", "trenz-2x2", "--load", "0.1", "-o", tmp_path / "r", "--cluster", "nowhere")
    _, err = done.communicate(timeout=300)
    assert done.returncode == 2
    assert "--cluster nowhere: " in err
    assert not (tmp_path / "r").exists()
