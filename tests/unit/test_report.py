# SPDX-License-Identifier: Apache-2.0
"""Does the page carry the run's figures, and nothing but the page?"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import charts, in_browser, needs_browser
from synthetic_run import synthetic_meta, synthetic_run
from test_results import nothing_measured

from exanet import results
from exanet.errors import InputError
from exanet.results import report


class Page(HTMLParser):
    """Scripts by id, and every attribute that could make a browser fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.fetches: list[tuple[str, str, str | None]] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetches += [(tag, name, value) for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script" and self.scripts:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)

    def data(self) -> Any:
        return next(json.loads(text) for attributes, text in self.scripts if attributes.get("id") == "data")


def page_of(directory: Path, given: dict[str, Any], meta: dict[str, Any]) -> tuple[str, Page]:
    results.write(directory, given, meta)
    path = report.write(directory)
    assert path == directory / "report.html"
    text = path.read_text()
    return text, Page(text)


def test_page_carries_the_figures(tmp_path: Path) -> None:
    given = synthetic_run()
    _, page = page_of(tmp_path / "run", given, synthetic_meta())
    data = page.data()
    assert data["title"] == "lmp, 64 ranks on exanest"
    assert data["summary"]["virtual_ps"] == given["summary"]["virtual_ps"]
    assert sum(row[3] for row in data["matrix"]) == given["summary"]["bytes"]
    assert sum(row[5] for row in data["links"]) == int(given["links"]["payload_bytes"].sum())
    assert sum(sum(row) for row in data["timeline"]["sent_bytes"]) == int(given["timeline"]["sent_bytes"].sum())
    assert len(data["timeline"]["wait"]) == len(data["ranks"]) == 64
    assert data["nodes"][0] == ["qfdb(0,0,0).F1", 0.0, 0.0, 0.0, "0, 1, 2, 3"]


def test_page_asks_nothing_of_the_network(tmp_path: Path) -> None:
    text, page = page_of(tmp_path / "run", synthetic_run(), synthetic_meta())
    assert page.fetches == []
    assert "link" not in page.tags and "iframe" not in page.tags
    assert re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}", text) == []
    assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)[\w/]", text.split("<script>", 1)[0])
    assert "default-src 'none'" in text


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("case", ["a run", "many ranks", "hostile", "nothing measured"])
def test_page_draws_in_a_browser(tmp_path: Path, case: str) -> None:
    given = {"many ranks": lambda: synthetic_run(side=8), "nothing measured": nothing_measured}.get(case, synthetic_run)()
    if case == "hostile":
        given["topology"]["node_name"] = ["<img src=x onerror=alert(1)>"] * len(given["topology"]["node_name"])
    page_of(tmp_path / "run", given, synthetic_meta())
    elements = in_browser(tmp_path / "run/report.html")
    drawn = Page(elements)
    assert drawn.tags.count("section") == 9
    assert charts(elements) == (1 if case == "nothing measured" else 5)
    assert drawn.tags.count("img") == 0
    pictures = re.findall(r'<div class="chart[^>]*>', elements)
    assert pictures and all('aria-label="' in picture for picture in pictures)
    assert all('tabindex="0"' in picture for picture in pictures if "machine" in picture), "it turns by arrow keys"


@pytest.mark.slow
@needs_browser
def test_faults_are_marked_on_the_timeline(tmp_path: Path) -> None:
    given = synthetic_run()
    end = int(given["summary"]["virtual_ps"])
    given |= {"lost_packets": 3, "failed_operations": 0}
    given["faults"] = {
        "time_ps": [end // 3, end // 2, end],
        "node": [1, 1, 2],
        "port": [-1, -1, 0],
        "up": [0, 1, 0],
        "kind": ["state", "state", "lossy"],
        "what": ["<b>(1)", "<b>(1)", "(2) X+"],
    }
    text, _ = page_of(tmp_path / "run", given, synthetic_meta())
    assert f'"faults":[[{end // 3},"\\u003cb>(1)",false,"state"]' in text
    elements = in_browser(tmp_path / "run/report.html")
    assert charts(elements) == 5
    said = "whole run. Marks above (hollow: the end of a fault): "
    assert f"{said}&lt;b&gt;(1) down at " in elements
    assert re.search(r"; &lt;b&gt;\(1\) up at [\d.]+ \S+; \(2\) X\+ lossy at [\d.]+ \S+\.", elements)
    page_of(tmp_path / "whole", synthetic_run(), synthetic_meta())
    assert said not in in_browser(tmp_path / "whole/report.html")


@needs_browser
def test_time_on_storages_is_a_part_of_each_rank_where_there_are_any(tmp_path: Path) -> None:
    given = synthetic_run()
    ranks = len(given["ranks"]["rank"])
    for name in ("reads", "writes", "syncs", "read_bytes", "written_bytes", "ps"):
        given["ranks"][f"storage_{name}"] = [7] * ranks
    _, page = page_of(tmp_path / "run", given, synthetic_meta())
    assert [rank[12] for rank in page.data()["ranks"]] == [7] * ranks
    assert ">on storage</span>" in (elements := in_browser(tmp_path / "run/report.html")) and charts(elements) == 5
    _, page = page_of(tmp_path / "whole", synthetic_run(), synthetic_meta())
    assert {len(rank) for rank in page.data()["ranks"]} == {12}
    assert ">on storage</span>" not in in_browser(tmp_path / "whole/report.html")


@needs_browser
def test_bars_are_below_the_timeline_where_the_page_is_narrow(tmp_path: Path) -> None:
    page_of(tmp_path / "run", synthetic_run(), synthetic_meta())
    high = {}
    for width in (500, 1240):
        elements = in_browser(tmp_path / "run/report.html", width)
        (high[width],) = re.findall(r'<div class="chart"[^>]*height: (\d+)px[^>]*aria-label="When each rank waited', elements)
    assert int(high[500]) == 2 * int(high[1240])


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script> {{script}} <!--"
    given = synthetic_run()
    given["summary"].update(complete=False, reason=hostile)
    text, page = page_of(tmp_path / "run", given, {**synthetic_meta(), "program": [hostile, "<b>"]})
    assert page.data()["summary"]["reason"] == hostile
    assert page.data()["summary"]["run"]["program"] == [hostile, "<b>"]
    assert len(page.scripts) == 3
    assert "alert(1)</script>" not in text


def test_many_ranks_are_drawn_in_groups(tmp_path: Path) -> None:
    given = synthetic_run(side=8)
    text, page = page_of(tmp_path / "run", given, synthetic_meta(512))
    data = page.data()
    assert data["group"] == 4
    assert len(data["timeline"]["wait"]) == 128
    assert len(data["timeline"]["wait"][0]) == len(data["timeline"]["start_ps"]) == len(data["timeline"]["end_ps"]) <= report.MOST_BINS
    assert data["timeline"]["end_ps"][-1] == given["summary"]["virtual_ps"]
    assert sum(sum(row) for row in data["timeline"]["sent_bytes"]) == int(given["timeline"]["sent_bytes"].sum())
    assert sum(row[2] for row in data["matrix"]) == given["summary"]["messages"]
    assert max(max(row[:2]) for row in data["matrix"]) == 127
    assert len(text) < 2_000_000


def test_shares_of_the_timeline_are_right(tmp_path: Path) -> None:
    given = synthetic_run(side=2, shape=(2, 2, 1))
    given["timeline"]["library_ps"] = given["timeline"]["wait_ps"] // 4
    _, page = page_of(tmp_path / "run", given, synthetic_meta(8))
    timeline = page.data()["timeline"]
    step = -(-given["timeline"]["wait_ps"].shape[1] // len(timeline["start_ps"]))
    expected = given["timeline"]["wait_ps"][3, :step].sum() / (step * given["timeline"]["bin_ps"])
    assert timeline["wait"][3][0] == pytest.approx(1000 * expected, abs=1)
    assert timeline["library"][3][0] == pytest.approx(250 * expected, abs=1)


def test_nothing_measured_still_makes_a_page(tmp_path: Path) -> None:
    _, page = page_of(tmp_path / "run", nothing_measured(), synthetic_meta(1))
    assert page.data()["summary"]["reason"] == "rank 0 exited early"


def test_same_results_same_page(tmp_path: Path) -> None:
    first, _ = page_of(tmp_path / "run", synthetic_run(), synthetic_meta())
    assert report.write(tmp_path / "run").read_text() == first


def test_missing_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a result folder, summary\.json is missing"):
        report.write(tmp_path)
    assert list(tmp_path.iterdir()) == []
