# SPDX-License-Identifier: Apache-2.0
"""Does the page of a comparison show all runs on the same axes, and mark what is chosen in all of them?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser import charts, in_browser, needs_browser
from synthetic_run import synthetic_meta, synthetic_run
from test_compare import slowed
from test_report import Page

import exanet
from exanet import results
from exanet.compare import page


def runs(tmp_path: Path, *names: str) -> list[Path]:
    """Results of runs that wait longer and longer, of rank 3 in MPI_Wait."""
    given = [slowed(synthetic_run(), 3, "MPI_Wait", number * 10**9) for number in range(len(names))]
    return [results.write(tmp_path / name, run, synthetic_meta()) for name, run in zip(names, given, strict=True)]


def written(tmp_path: Path, *folders: Path, then: str = "") -> Path:
    """The page, and a script that runs when it is drawn."""
    text = page.render(exanet.compare(*folders))
    file = tmp_path / "page.html"
    file.write_text(text.replace("</body>", f"<script>{then}</script></body>"))
    return file


def views(data: dict[str, Any]) -> dict[str, Any]:
    return {view["key"]: view for view in data["views"]}


def test_the_page_carries_the_figures_of_all_runs(tmp_path: Path) -> None:
    folders = runs(tmp_path, "a", "b", "c")
    found = exanet.compare(*folders)
    data = Page(page.render(found)).data()
    assert data["names"] == ["a", "b", "c"] and len(data["sentences"]) >= 2
    ranks = views(data)["rank"]
    assert ranks["items"] == [str(rank) for rank in range(64)]
    for run, values in zip(found.results, ranks["figures"][0]["values"], strict=True):
        assert values == run.ranks["wait_ps"].to_list()
    assert set(views(data)) == {"part", "rank", "call", "link", "size"}
    assert len(views(data)["link"]["items"]) == page.MOST_ITEMS and views(data)["link"]["left_out"] > 0


def test_ranks_over_time_have_the_same_parts_in_all_runs(tmp_path: Path) -> None:
    data = page.page_data(exanet.compare(*runs(tmp_path, "a", "b")))["waiting"]
    longest, shortest = (max(len(row) for row in rows) for rows in (data["rows"][1], data["rows"][0]))
    assert longest == page.MOST_BINS and shortest < longest
    for run, rows in zip((results.load(tmp_path / name) for name in ("a", "b")), data["rows"], strict=True):
        end = run.summary["virtual_ps"]
        lengths = [min(data["part_ps"], end - part * data["part_ps"]) for part in range(len(rows[5]))]
        waited = sum(share / 1000 * length for share, length in zip(rows[5], lengths, strict=True))
        measured = run.timeline.filter(run.timeline["rank"] == 5)["wait_ps"].sum()
        assert waited == pytest.approx(measured, rel=0.01)


def test_many_ranks_are_drawn_in_groups_and_those_that_changed_most(tmp_path: Path) -> None:
    folders = []
    for number, name in enumerate(("a", "b")):
        run = slowed(synthetic_run(side=8), 300, "MPI_Wait", number * 10**9)
        folders.append(results.write(tmp_path / name, run, synthetic_meta(512)))
    data = page.page_data(exanet.compare(*folders))
    assert data["waiting"]["group"] == 8 and len(data["waiting"]["rows"][0]) == 64
    ranks = views(data)["rank"]
    assert len(ranks["items"]) == page.MOST_RANKS and "300" in ranks["items"] and ranks["left_out"] == 256
    assert len(page.render(exanet.compare(*folders))) < 2_000_000


def test_the_page_asks_nothing_of_the_network_and_hostile_text_stays_text(tmp_path: Path) -> None:
    meta = {**synthetic_meta(), "map": "</script><script>alert(1)</script>"}
    before, _ = runs(tmp_path, "a", "b")
    other = results.write(tmp_path / "</script><b>".replace("/", "|"), synthetic_run(), meta)
    text = page.render(exanet.compare(before, other))
    found = Page(text)
    assert found.fetches == [] and len(found.scripts) == 3 and "alert(1)</script>" not in text
    assert re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}", text) == []


SHOWN = """
addEventListener("load", () => {
  const section = [...document.querySelectorAll("section")].find((one) => one.querySelector("h2").textContent === "Ranks");
  const details = section.querySelector("details");
  details.open = true;
  details.dispatchEvent(new Event("toggle"));
  const select = section.querySelector("select");
  select.value = "5";
  select.dispatchEvent(new Event("change"));
  const pale = (entry) => entry.chart.getOption().series[0].data.filter(({ itemStyle }) => itemStyle.opacity < 1).length;
  const heat = charts.filter(({ place }) => place.getAttribute("aria-label").startsWith("When ranks waited"));
  const bars = charts.filter(({ place }) => place.getAttribute("aria-label").startsWith("Ranks"));
  const most = bars.map(({ chart }) => chart.getOption().yAxis[0].max);
  document.body.dataset.pale = [...bars.map(pale), ...heat.map((entry) => pale(entry) > 0)].join();
  document.body.dataset.most = new Set(most).size;
  document.body.dataset.chosen = [...section.querySelectorAll("tr.chosen")].map((row) => row.firstChild.textContent).join();
  document.body.dataset.readout = section.querySelector("[role=status]").textContent;
  const [x, y] = bars[0].chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [7, 1]);
  for (const kind of ["mousedown", "mouseup", "click"]) bars[0].chart.getZr().handler.dispatch(kind, { zrX: x, zrY: y - 5 });
  document.body.dataset.clicked = select.value;
  document.body.dataset.wide = document.documentElement.scrollWidth > innerWidth;
});
"""


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [1240, 500])
def test_what_is_chosen_is_marked_in_all_runs(tmp_path: Path, width: int) -> None:
    elements = in_browser(written(tmp_path, *runs(tmp_path, "a", "b"), then=SHOWN), width)
    assert charts(elements) == 12, "of each run one of waiting, parts, ranks, calls, links and sizes"
    facts = dict(re.findall(r' data-(\w+)="([^"]*)"', re.findall(r"<body[^>]*>", elements)[0]))
    assert facts["pale"] == "63,63,true,true" and facts["most"] == "1", "the same axis"
    assert facts["chosen"] == "rank 5" and facts["readout"].startswith("Chosen: rank 5, waiting: ")
    assert facts["clicked"] == "7", "a click into a picture chooses, too"
    assert facts["wide"] == "false"
    assert all('aria-label="' in picture for picture in re.findall(r'<div class="chart[^>]*>', elements))


@pytest.mark.slow
@needs_browser
def test_pages_of_loads_draw_a_curve_for_each(tmp_path: Path) -> None:
    for name, machine in (("a", "trenz-2x2"), ("b", "exanest-qfdb")):
        exanet.simulate(machine, [0.2, 0.4], measure_ps=10_000_000, output=tmp_path / name)
    elements = in_browser(written(tmp_path, tmp_path / "a", tmp_path / "b"))
    assert charts(elements) == 4, "of each loads and links"
