# SPDX-License-Identifier: Apache-2.0
"""Rates of flows, use of links and queues over the time of `exanet sim messages`, by --sample-every."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from browser import charts, in_browser, needs_browser
from typer.testing import CliRunner

from exanet import cli, sim
from exanet.errors import InputError

PAGE = (Path(__file__).parents[2] / "docs/congestion-control.md").read_text()


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's machine and flows, in the working directory."""
    for name, language in (("incast.yaml", "yaml"), ("waiting.yaml", "yml"), ("flows.cm", "cm")):
        (tmp_path / name).write_text(PAGE.split(f"```{language}\n")[1].split("```")[0])
    monkeypatch.chdir(tmp_path)


def messages(*options: str, folder: str = "out") -> str:
    found = CliRunner().invoke(cli.app, ["sim", "messages", "-m", "waiting.yaml", *options, "-o", folder])
    assert found.exit_code == 0, found.output
    return found.output


def flows(*options: str, folder: str = "out") -> pl.DataFrame:
    """The table of the page's flows under ACC, sampled each 20 µs unless the options say otherwise."""
    every = () if "--sample-every" in options else ("--sample-every", "20us")
    messages("--traffic", "flows:flows.cm", *every, *options, folder=folder)
    return pl.read_parquet(f"{folder}/flow_rates.parquet")


@needs_browser
def test_the_command_of_the_page_draws_rates() -> None:
    [command] = [line for line in PAGE.splitlines() if line.startswith("exanet sim messages") and "--sample-every" in line]
    found = CliRunner().invoke(cli.app, command.split()[1:])
    assert found.exit_code == 0, found.output
    elements = in_browser(Path("over-time/report.html").resolve())
    assert "Rates of flows" in elements
    assert charts(elements) == 7  # latency, load, rates, links, use of links, and queues twice


def test_rates_sum_up_to_the_messages_and_come_to_their_shares() -> None:
    table = flows()
    sums = table.group_by("src", "dst").agg(bytes=(pl.col("gbps") * (pl.col("end_ns") - pl.col("begin_ns")) / 8).sum()).sort("src")
    assert np.allclose(sums["bytes"], [3_000_000, 600_000, 600_000, 600_000, 600_000, 300_000])
    steady = table.filter((pl.col("begin_ns") >= 1e6) & (pl.col("end_ns") <= 2e6))  # all six run
    means = steady.group_by("src").agg(pl.col("gbps").mean(), pl.col("share_gbps").mean()).sort("src")
    assert np.allclose(means["gbps"], means["share_gbps"], rtol=0.03)
    assert means["share_gbps"].to_list() == pytest.approx([6.53, 1.63, 1.63, 1.63, 1.63, 1.63], abs=0.01)
    early = table.filter((pl.col("end_ns") <= 3e5) & (pl.col("src") == 1))  # three of them share the last link
    assert early["share_gbps"].to_list() == pytest.approx([6.53 * 1.25 / 3] * 15, abs=0.01)


def test_samples_change_nothing_and_repeat() -> None:
    first, second = flows(folder="one"), flows(folder="two")
    assert first.equals(second)
    messages("--traffic", "flows:flows.cm", folder="none")
    assert not Path("none/flow_rates.parquet").exists()
    for name in ("points", "links", "flows", "latency"):
        tables = [Path(f"{folder}/{name}.parquet").read_bytes() for folder in ("one", "two", "none")]
        assert tables[0] == tables[1] == tables[2], name


def test_links_and_queues_have_each_interval() -> None:
    flows("--sample-every", "30us")
    queues, links = (pl.read_parquet(f"out/{name}.parquet") for name in ("queues", "link_use"))
    assert queues["time_ns"].unique().sort().to_list() == links["time_ns"].unique().sort().to_list()
    assert links["time_ns"].min() == 30_000
    assert queues["packets"].max() > 0
    assert 0.9 < links["use"].max() <= 1


def test_a_load_is_sampled_too_and_each_has_its_rows() -> None:
    messages("--load", "0.1,0.3", "--message", "16KiB", "--measure", "1ms", "--sample-every", "100us")
    rows = pl.read_parquet("out/flow_rates.parquet").group_by("load").agg(pl.len(), pl.col("gbps").sum()).sort("load")
    assert rows["load"].to_list() == [0.1, 0.3]
    assert rows["gbps"][1] > 2 * rows["gbps"][0]


def test_too_many_samples_become_fewer_and_a_note_says_so() -> None:
    output = messages("--traffic", "flows:flows.cm", "--sample-every", "1ns")
    [said] = json.loads(Path("out/summary.json").read_text())["run"]["notes"]
    assert said in " ".join(output.split())
    assert "apart, and not 1.00 ns: there would be too many" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sample-every", "20us", "--level", "flow"), "--sample-every belongs to the packet level"),
        (("--sample-every", "0us"), "samples every"),
        (("--sample-every", "1ps"), "samples every"),
        (("--sample-every", "often"), "--sample-every"),
        (("--sample-every", "-5us"), "--sample-every"),
    ],
)
def test_what_cannot_be_sampled(options: tuple[str, ...], message: str) -> None:
    found = CliRunner().invoke(cli.app, ["sim", "messages", "-m", "incast.yaml", *options, "-o", "refused"])
    assert found.exit_code != 0
    assert message in f"{found.output} {found.exception}"
    assert not Path("refused").exists()


def test_the_flow_level_refuses_samples_from_python_too() -> None:
    with pytest.raises(InputError, match="samples over time are of the packet level"):
        sim.simulate("incast.yaml", offered=0, spec=sim.TrafficSpec(level="flow"), sample_ps=10**7)
    with pytest.raises(InputError, match="samples over time are of whole messages"):
        sim.simulate("incast.yaml", offered=0.1, sample_ps=10**7)
