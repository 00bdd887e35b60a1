# SPDX-License-Identifier: Apache-2.0
"""Do the three lines at the head of a run's page say what the figures say?"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from browser import in_browser, needs_browser
from synthetic_run import VIRTUAL_PS, synthetic_meta, synthetic_run
from test_results import nothing_measured

from exanet import results
from exanet.results import in_short, report


def lines_of(tmp_path: Path, given: dict[str, Any], **more: Any) -> list[str]:
    results.write(tmp_path / "run", given, synthetic_meta(), **more)
    return in_short.lines(results.load(tmp_path / "run"))


def spent(given: dict[str, Any], compute: float) -> dict[str, Any]:
    """All ranks compute this share of the run, and wait otherwise."""
    ranks = given["ranks"]
    ranks["compute_ps"] = np.full(len(ranks["rank"]), int(compute * VIRTUAL_PS))
    ranks["wait_ps"] = VIRTUAL_PS - ranks["compute_ps"]
    ranks["library_ps"] = np.zeros(len(ranks["rank"]), dtype=np.int64)
    given["links"]["busy_ps"] = given["links"]["busy_ps"] * 0
    return given


def test_how_long_and_where(tmp_path: Path) -> None:
    how_long, where, _ = lines_of(tmp_path, spent(synthetic_run(), 0.25))
    assert how_long == "It took 48.3 ms of virtual time, with 4 ranks on each of 16 nodes. Simulating it took 6.25 s."
    assert where.startswith("Of the ranks' time, 75.0 % was waiting for other ranks or the network, 25.0 % was computing, ")
    assert re.search(r"MPI_Wait took most of all calls, [\d.]+ %\.$", where)


@pytest.mark.parametrize(("compute", "said"), [(0.51, "computing, 51.0 %"), (0.49, "the latency of ")])
def test_computing_limits_from_half_the_time_on(tmp_path: Path, compute: float, said: str) -> None:
    limit = lines_of(tmp_path, spent(synthetic_run(), compute))[2]
    assert limit.startswith(f"What limited it: {said}"), limit


@pytest.mark.parametrize(("share", "late"), [(0.36, True), (0.34, False)])
def test_a_late_rank_is_named_where_it_costs_a_tenth_of_the_run(tmp_path: Path, share: float, late: bool) -> None:
    given = spent(synthetic_run(), 0.25)
    given["ranks"]["compute_ps"][7] = int(share * VIRTUAL_PS)
    assert ("rank 7. It computed for" in lines_of(tmp_path, given)[2]) == late


@pytest.mark.parametrize(("use", "named"), [(0.51, True), (0.49, False)])
def test_a_link_that_is_full_is_named(tmp_path: Path, use: float, named: bool) -> None:
    given = spent(synthetic_run(), 0.25)
    given["links"]["busy_ps"][3] = int(use * VIRTUAL_PS)
    limit = lines_of(tmp_path, given)[2]
    assert (f"the link qfdb(0,0,0).F2 F1 → qfdb(0,0,0).F1. It was in use {100 * use:.1f} %" in limit) == named, limit


@pytest.mark.parametrize(
    ("most", "said"), [("queueing_ps", "messages that waited behind others"), ("links_ps", "links"), ("compute", "that of rank 3, 60.0 %")]
)
def test_the_critical_path_says_it_where_it_is_known(tmp_path: Path, most: str, said: str) -> None:
    given = spent(synthetic_run(), 0.25)
    given["links"]["busy_ps"][3] = VIRTUAL_PS // 5
    results.write(tmp_path / "run", given, synthetic_meta())
    run = results.load(tmp_path / "run")
    parts = [{"kind": "message", "rank": 1, "begin_ps": 0, "end_ps": 40}, {"kind": "compute", "rank": 3, "begin_ps": 40, "end_ps": 100}]
    if most != "compute":
        parts = [{"kind": "message", "rank": 1, "begin_ps": 0, "end_ps": 60, most: 60}, parts[1] | {"begin_ps": 60}]
    names = ("interface_ps", "links_ps", "queueing_ps")
    path = pl.DataFrame([dict.fromkeys(names, 0) | part for part in parts])
    limit = in_short.lines(replace(run, critical_path=path))[2]
    assert said in limit and "60.0 % of the critical path" in limit
    assert ("The link in use longest: qfdb(0,0,0).F2 F1" in limit) == (most != "compute")


def test_nothing_measured_says_nothing(tmp_path: Path) -> None:
    assert lines_of(tmp_path, nothing_measured()) == []


def test_ranks_that_are_not_even_on_nodes() -> None:
    assert in_short.ranks_per_node(pl.DataFrame({"node": [0, 0, 1]})) == "1 to 2 ranks on each of 2 nodes"
    assert in_short.ranks_per_node(pl.DataFrame({"node": [4]})) == "1 rank on one node"


@needs_browser
def test_the_page_begins_with_them_and_explains_names_of_links(tmp_path: Path) -> None:
    results.write(tmp_path / "run", synthetic_run(), synthetic_meta())
    run = results.load(tmp_path / "run")
    elements = in_browser(report.write(tmp_path / "run"))
    shown = re.search(r"<h2>In short</h2><ul[^>]*>(.*?)</ul>", elements)
    assert shown and re.findall(r"<li>(.*?)</li>", shown[1]) == in_short.lines(run)
    assert elements.index("In short") < elements.index("When each rank waited")
    hops = in_short.mean_hops(run)
    assert hops is not None and f"hops of a packet, mean</span><b>{hops:.2f}</b>" in elements
    assert "<dd>4 ranks on each of 16 nodes</dd>" in elements
    assert "the node it leads to: qfdb(0,0,0).F" in elements and "F1 to F4 are the FPGAs of a QFDB" in elements


@needs_browser
@pytest.mark.parametrize(("order", "column"), [("By use", 1), ("By bytes carried", 2), ("By waiting", 3)])
def test_links_are_sorted_by_the_column_that_is_chosen(tmp_path: Path, order: str, column: int) -> None:
    given = synthetic_run()
    links = given["links"]
    links["busy_ps"] = np.where(links["packets"] > 0, 1 + np.arange(len(links["packets"])) * 10**6, 0)
    links["waited_ps"] = np.where(links["packets"] > 0, (1 + np.arange(len(links["packets"]))[::-1]) * 10**6, 0)
    results.write(tmp_path / "run", given, synthetic_meta())
    page = report.write(tmp_path / "run")
    press = f'[...document.querySelectorAll("button")].find((one) => one.textContent === "{order}").click();'
    text = page.read_text()
    page.write_text(text.replace("showPage();\n", f"showPage();\n{press}\n"))
    elements = in_browser(page)
    rows = re.findall(r"<tr>(.*?)</tr>", elements[elements.index("Hottest links") :].split("</section>")[0])[1:]
    cells = [re.findall(r"<td([^>]*)>(.*?)</td>", row) for row in rows]
    assert len(rows) == 20 and all('class="share"' in row[column][0] for row in cells)
    key = ("use_percent", "payload_bytes", "waited_ps")[column - 1]
    frame = results.load(tmp_path / "run").links.filter(pl.col("packets") > 0)
    expected = frame.sort(key, descending=True, maintain_order=True).head(20)
    names = [f"{row['node_name']} {row['port_name']} → {row['to_node_name']}" for row in expected.to_dicts()]
    assert [row[0][1] for row in cells] == names
