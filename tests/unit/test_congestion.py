# SPDX-License-Identifier: Apache-2.0
"""Congestion control from the machine key to the table: the page's commands, and what is refused by name."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet import _core, cli
from exanet.errors import InputError

PAGE = (Path(__file__).parents[2] / "docs/congestion-control.md").read_text()


def block(language: str) -> str:
    return PAGE.split(f"```{language}\n")[1].split("```")[0]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's machine and traffic, in the working directory."""
    (tmp_path / "incast.yaml").write_text(block("yaml"))
    (tmp_path / "incast.csv").write_text(block("text"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def incast(*options: str, size: str = "256KiB") -> list[dict[str, Any]]:
    """The flows of the page's incast."""
    command = ["sim", "messages", "-m", "incast.yaml", "--traffic", "matrix:incast.csv", "--message", size, "-q", "-o", "out", *options]
    found = CliRunner().invoke(cli.app, command)
    assert found.exit_code == 0, found.output
    rows = pl.read_parquet("out/flows.parquet").to_dicts()
    [sums] = json.loads(Path("out/summary.json").read_text())["flow_sums"]
    assert (sums["flows"], sums["victims"]) == (len(rows), sum(row["victim"] for row in rows))
    return rows


def refused(*options: str) -> str:
    found = CliRunner().invoke(cli.app, ["sim", *options, "-o", "refused"])
    assert isinstance(found.exception, InputError), found.output
    assert not Path("refused").exists()
    return " ".join(str(found.exception).split())


def test_the_commands_of_the_page_run() -> None:
    commands = [line.removeprefix("$ exanet ") for line in block("console").splitlines() if line.startswith("$ exanet ")]
    assert len(commands) == 2
    for number, command in enumerate(commands):
        found = CliRunner().invoke(cli.app, [*shlex.split(command.replace("1MiB", "64KiB")), "-o", f"out-{number}"])
        assert found.exit_code == 0, found.output
        assert "burst: 6 flows, mean rate" in found.output
        assert "victim" in found.output


def test_marks_lower_the_sources_rates_and_the_victims_packets_pass() -> None:
    free = incast("--nic", "exanet")
    paced = incast("--congestion-control", "dcqcn")
    assert sum(row["marks"] for row in free) == 0
    assert sum(row["marks"] for row in paced) > 0
    [victim], [passes] = ([row for row in rows if row["victim"]] for rows in (free, paced))
    assert (victim["src"], victim["dst"]) == (0, 2)
    assert passes["fabric_ns"] < victim["fabric_ns"] / 2
    # What slows the sources down is not the network: their packets wait less in it, too.
    for before, after in zip(free, paced, strict=True):
        assert after["fabric_ns"] < before["fabric_ns"]


PACINGS = _core.registries()["pacings"]


@pytest.mark.parametrize("nic", ["exanet", "ultra-ethernet"])
@pytest.mark.parametrize("control", [entry["name"] for entry in PACINGS])
def test_every_control_carries_everything_and_repeats_itself(control: str, nic: str) -> None:
    [kind] = [entry for entry in PACINGS if entry["name"] == control]
    words = ("--nic", nic, "--congestion-control", control)
    if not kind["blocks" if nic == "exanet" else "packets"]:
        message = refused("messages", "-m", "incast.yaml", "--message", "1KiB", *words)
        assert f"congestion_control is '{control}', which {nic} interfaces do not serve: say one of none, " in message
        return
    runs = [incast(*words) for _ in range(2)]
    assert runs[0] == runs[1]
    rows = runs[0]
    assert [row["bytes"] for row in rows] == [256 * 1024] * 6
    if nic == "exanet":
        assert [row["packets"] for row in rows] == [1024] * 6
    else:  # what is long in the deep FIFOs of these routers is sent again
        assert min(row["packets"] for row in rows) >= 1024


def test_shares_are_those_of_max_min() -> None:
    rows = incast("--nic", "exanet")
    [victim] = [row for row in rows if row["victim"]]
    others = {row["share_gbps"] for row in rows if not row["victim"]}
    assert max(others) - min(others) < 1e-6
    assert victim["share_gbps"] == pytest.approx(4 * max(others), rel=1e-6)


def test_the_seed_draws_the_marks() -> None:
    first, other = (incast("--congestion-control", "dcqcn", "--seed", seed) for seed in ("1", "2"))
    assert first != other


def test_what_cannot_serve_a_control_is_refused_by_name() -> None:
    with Path("incast.yaml").open("a") as file:
        file.write("ni:\n  congestion_control: acc\n")
    machine = ("-m", "incast.yaml")
    assert "'congestion_control: acc', but single packets have no flows" in refused("load", *machine, "--load", "0.1")
    assert "the flow level has max-min fair rates" in refused("messages", *machine, "--level", "flow", "--message", "1KiB")
    assert "interfaces without costs have no congestion control" in refused("messages", *machine, "--nic", "ideal")
    assert "interfaces without costs have no congestion control" in refused("jobs", *machine, "--job", "barrier")
    assert "pace fair is of ideal interfaces" in refused("messages", *machine, "--pace", "fair")


def test_a_control_and_a_queue_action_that_do_not_go_together_are_refused() -> None:
    with Path("incast.yaml").open("a") as file:
        file.write("  queue_action: depth\n")
    message = refused("messages", "-m", "incast.yaml", "--congestion-control", "hpcc")
    assert "incast.yaml:" in message
    assert "queue_action is 'depth': with 'congestion_control: hpcc', which reacts to what routers note, say hpcc" in message


def test_constants_that_are_missing_are_refused_at_their_line() -> None:
    text = block("yaml").replace("  queue_threshold_max: 512 words", "  queue_threshold_max: 8 words")
    Path("incast.yaml").write_text(text)
    message = refused("messages", "-m", "incast.yaml", "--congestion-control", "dcqcn")
    line = 1 + text.splitlines().index(next(line for line in text.splitlines() if "queue_threshold_max" in line))
    assert f"incast.yaml:{line}:" in message
    assert "queue_threshold_max is 8: give a whole number from 65" in message


def test_constants_of_nothing_are_refused_at_their_line() -> None:
    with Path("incast.yaml").open("a") as file:
        file.write("ni:\n  congestion_control: dcqcn\n  dcqcn_alpha_timer: 0 us\n")
    line = len(Path("incast.yaml").read_text().splitlines())
    assert f"incast.yaml:{line}:" in (message := refused("messages", "-m", "incast.yaml"))
    assert "dcqcn_alpha_timer must be more than 0" in message


def test_a_network_alone_has_no_interfaces() -> None:
    Path("alone.yaml").write_text(block("yaml") + "ni: null\n")
    assert "is a network alone, without 'ni'" in refused("messages", "-m", "alone.yaml", "--nic", "exanet")


def test_the_key_has_its_earlier_name_for_one_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from exanet import machine, renamed

    renamed.warn.cache_clear()
    file = tmp_path / "earlier.yaml"
    file.write_text("extends: exanest\nname: earlier\ndescription: one\nni: {pacing: swift}\n", encoding="utf-8")
    loaded = machine.load(file).model
    assert loaded.ni is not None and loaded.ni.congestion_control == "swift"
    assert "ni.pacing is now called ni.congestion_control" in capsys.readouterr().err


def test_the_table_of_workloads_is_what_the_example_prints(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples/congestion_controls.py"))
    text = PAGE.split("## Six workloads\n")[1].split("\n## ")[0]
    tables = {}
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [line.strip("| ").split(" | ") for line in block.splitlines()]
        assert [cells[0].strip("`") for cells in rows] == example["controls"]()
        tables[head[0]] = {cells[0]: cells[head.index("incast of 8")] for cells in rows}
    example["main"](["--only", "acc-feedback,nscc", "--workload", "incast of 8"])
    printed = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()][2:]
    for _, control, goodput, _, slowdown, queue, _ in printed:
        of_page = tuple(tables[name][control] for name in ("goodput", "slowdown", "queue"))
        assert of_page == (goodput.removesuffix(" Gb/s"), slowdown.replace(" ", ""), queue)
