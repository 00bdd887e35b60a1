# SPDX-License-Identifier: Apache-2.0
"""timeline.html: does it hold every call and message, and does it lead from the run to one of them?"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from browser import needs_browser
from driven import Driven
from synthetic_run import synthetic_meta, synthetic_run
from test_report import Page
from test_results import nothing_measured
from typer.testing import CliRunner

import exanet
from exanet import cli, results
from exanet.errors import InputError
from exanet.results import timeline
from exanet.results.packed_columns import pack
from exanet.trace import folder, timed
from exanet.trace.write import Writer

RANKS, ROUNDS = 8, 6


def trace(directory: Path, rounds: int = ROUNDS) -> Path:
    """Ranks in a ring: each computes, the later the longer, sends to the next one, and reduces with all."""
    with Writer(directory, RANKS, {"program": ["ring"]}) as streams:
        for rank, stream in enumerate(streams):
            for number in range(rounds):
                stream.message("Irecv", (rank - 1) % RANKS, 100_000, request=1, compute_ps=1_000_000 * (rank + number))
                stream.message("Send", (rank + 1) % RANKS, 100_000 if number % 2 else 32)
                stream.wait(1)
                stream.collective("Allreduce", 8, element=8)
            stream.end()
    return directory


def replayed(tmp_path: Path, *more: str, rounds: int = ROUNDS) -> Path:
    """The results of a replay with a timeline."""
    options = ["-m", "torus-512", "--timeline", "--no-report", "-q", "-o", str(tmp_path / "out"), *more]
    done = CliRunner().invoke(cli.app, ["replay", str(trace(tmp_path / "trace", rounds)), *options])
    assert done.exit_code == 0, done.output
    return tmp_path / "out"


def unpacked(packed: dict[str, Any]) -> dict[str, list[int]]:
    """The columns, as the page's script reads them."""
    text = zlib.decompress(base64.b64decode(packed["text"]))
    found: dict[str, list[int]] = {}
    at = 0
    for name, length, planes in packed["columns"]:
        parts = np.frombuffer(text, dtype=np.uint8, count=length * planes, offset=at).reshape(planes, length)
        found[name] = [sum(int(parts[plane, i]) << (8 * plane) for plane in range(planes)) for i in range(length)]
        at += length * planes
    assert at == len(text)
    return found


def columns_of(folder: Path) -> dict[str, list[int]]:
    return unpacked(Page((folder / "timeline.html").read_text()).data()["packed"])


@pytest.mark.parametrize("values", [[], [0], [0, 255], [256, 1], [2**24, 2**32 - 1], [2**32, 2**53 - 1, 7]])
def test_columns_come_back_as_they_were(values: list[int]) -> None:
    packed = pack({"before": [3], "it": values, "behind": [1, 2]})
    assert unpacked(packed) == {"before": [3], "it": values, "behind": [1, 2]}
    assert packed == pack({"before": [3], "it": values, "behind": [1, 2]}), "the same bytes"


@pytest.mark.parametrize("value", [-1, 2**53])
def test_what_a_script_cannot_hold_is_refused(value: int) -> None:
    with pytest.raises(InputError, match="it: a value is outside of 0 to 2\\^53 - 1"):
        pack({"it": [value]})


def test_a_replay_gives_the_times_of_all_calls(tmp_path: Path) -> None:
    run = results.load(replayed(tmp_path))
    assert run.calls is not None
    assert list(run.calls.columns) == list(timed.SCHEMA)
    ended = run.calls.with_columns(end=pl.col("begin_ps") + pl.col("took_ps"))
    between = ended.select(pl.col("begin_ps") - pl.col("end").shift(1).over("rank").fill_null(0)).to_series()
    assert run.calls["rank"].is_sorted() and between.min() == 0, "in order, one after the other"
    counted = run.calls.group_by("rank", "call").agg(pl.len().cast(pl.Int64).alias("calls"), pl.col("took_ps").sum().alias("time_ps"))
    assert counted.sort("rank", "call").equals(run.mpi_calls.select("rank", "call", "calls", "time_ps").sort("rank", "call"))
    assert run.summary["virtual_ps"] == ended["end"].max()
    kinds = dict(run.calls.select("call", "kind").unique().iter_rows())
    assert kinds == {
        "MPI_Irecv": "receive", "MPI_Send": "send", "MPI_Waitall": "wait", "MPI_Allreduce": "collective", "MPI_Finalize": "other",
    }  # fmt: skip


def test_a_replay_from_python_has_the_calls(tmp_path: Path) -> None:
    given = trace(tmp_path / "trace")
    run = exanet.replay(given, "torus-512", timeline=True)
    assert run.calls is not None and len(run.calls) == RANKS * (4 * ROUNDS + 1)
    exanet.replay(given, "torus-512", timeline=True, output=tmp_path / "out")
    assert (tmp_path / "out" / "timeline.html").exists()
    assert exanet.replay(given, "torus-512", output=tmp_path / "out").calls is None
    assert not (tmp_path / "out" / "timeline.html").exists(), "it belonged to the earlier results"


def test_each_call_has_a_kind_that_the_page_knows() -> None:
    kinds = {name: timed.kind(f"MPI_{name}") for names in folder.CALLS.values() for name in names}
    assert set(kinds.values()) == set(timeline.KINDS)
    assert kinds["Sendrecv"] == kinds["Imrecv"] == kinds["Iprobe"] == "receive" and kinds["Issend"] == "send"
    assert kinds["Neighbor_alltoall"] == kinds["Ibarrier"] == "collective" and kinds["Win_fence"] == "one-sided"


def test_results_are_the_same_with_and_without_a_timeline(tmp_path: Path) -> None:
    with_it = replayed(tmp_path)
    options = ["-m", "torus-512", "--no-report", "-q", "-o", str(tmp_path / "plain")]
    assert CliRunner().invoke(cli.app, ["replay", str(tmp_path / "trace"), *options]).exit_code == 0
    for file in (tmp_path / "plain").iterdir():
        if file.name != "run.json":
            assert file.read_bytes() == (with_it / file.name).read_bytes(), file.name
    assert {file.name for file in with_it.iterdir()} - {file.name for file in (tmp_path / "plain").iterdir()} == {
        "calls.parquet", "critical_path.parquet", "timeline.html",
    }  # fmt: skip


def test_the_page_holds_all_calls_and_messages(tmp_path: Path) -> None:
    place = replayed(tmp_path)
    run, columns = results.load(place), columns_of(place)
    assert run.calls is not None
    posted = np.cumsum(columns["message_posted"])
    assert posted.tolist() == run.messages["posted_ps"].to_list()
    assert (posted + columns["message_took"]).tolist() == run.messages["delivered_ps"].to_list()
    assert [columns["message_src"], columns["message_dst"], columns["message_bytes"]] == [
        run.messages[name].to_list() for name in ("src", "dst", "bytes")
    ]
    begins: list[int] = []
    at = iter(zip(columns["call_gap"], columns["call_took"], strict=True))
    for count in columns["call_count"]:
        end = 0
        for gap, took in (next(at) for _ in range(count)):
            begins.append(end + gap)
            end += gap + took
    assert begins == run.calls["begin_ps"].to_list() and columns["call_took"] == run.calls["took_ps"].to_list()


def test_routes_lead_from_sender_to_receiver(tmp_path: Path) -> None:
    place = replayed(tmp_path, "--map", "random")
    run, columns = results.load(place), columns_of(place)
    data = Page((place / "timeline.html").read_text()).data()
    node = dict(run.ranks.select("rank", "node").iter_rows())
    pairs = {(node[src], node[dst]) for src, dst in run.messages.select("src", "dst").iter_rows()}
    assert data["routing"] == "fixed" and set(zip(columns["route_src"], columns["route_dst"], strict=True)) == {
        (a, b) for a, b in pairs if a != b
    }
    links = iter(columns["route_link"])
    for src, dst, length in zip(columns["route_src"], columns["route_dst"], columns["route_links"], strict=True):
        way = [data["links"][next(links)] for _ in range(length)]
        assert way[0][0] == src and way[-1][1] == dst
        assert all(before[1] == after[0] for before, after in pairwise(way))
        assert all(link[5] > 0 for link in way), "packets went over it"


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = (replayed(tmp_path / name) for name in ("a", "b"))
    again = timeline.render(results.load(one))
    assert again == (one / "timeline.html").read_text() and columns_of(one) == columns_of(other)


def test_of_too_many_calls_those_of_the_beginning_are_in_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = replayed(tmp_path)
    monkeypatch.setattr(timeline, "MOST_CALLS", 40)
    run = results.load(place)
    data = timeline.page_data(run)
    until = data["left_out"]["calls_after_ps"]
    assert run.calls is not None
    kept = run.calls.filter(pl.col("begin_ps") < until)
    assert 0 < len(kept) <= 40 and unpacked(data["packed"])["call_took"] == kept["took_ps"].to_list()


def test_programs_together_have_their_own_ranks(tmp_path: Path) -> None:
    place = replayed(tmp_path, str(tmp_path / "trace"), "--job", "stencil-2d:ranks=4,bytes=1KiB,rounds=2")
    run = results.load(place)
    assert run.calls is not None
    assert sorted(run.calls["rank"].unique()) == list(range(2 * RANKS)), "jobs make no calls"
    assert run.calls.filter((pl.col("rank") == RANKS) & (pl.col("call") == "MPI_Send"))["peer"].unique().to_list() == [RANKS + 1]


def test_the_page_asks_nothing_of_the_network(tmp_path: Path) -> None:
    text = (replayed(tmp_path) / "timeline.html").read_text()
    page = Page(text)
    assert page.fetches == [] and "default-src 'none'" in text
    assert re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}", text) == []
    assert len(text) < 120_000, "without the chart library"


@contextmanager
def shown(page: Path, width: int = 1240) -> Iterator[Driven]:
    """The page in a browser. Fails when the browser's console says anything."""
    with Driven(page.resolve(), page.parent / "profile", width) as window:
        window.wait("document.body && document.body.dataset.drawn")
        yield window
        assert window.said == []


SPAN = "timeline.view.t1 - timeline.view.t0"


@pytest.mark.slow
@needs_browser
def test_keys_lead_from_the_run_to_a_message(tmp_path: Path) -> None:
    place = replayed(tmp_path, "--map", "round-robin")
    run = results.load(place)
    with shown(place / "timeline.html") as window:
        whole = window.ask(SPAN)
        assert whole == window.ask("timeline.store.end") >= run.summary["virtual_ps"]
        window.ask("document.querySelector('canvas').focus()")
        for key in "++":
            window.press(key)
        assert window.ask(SPAN) == pytest.approx(whole / 1.5**2)
        window.press("ArrowRight")
        window.press("0")
        assert window.ask(SPAN) == whole
        window.press("n")
        window.press("n")
        window.press("Enter")
        chosen = window.ask("timeline.chosen.message")
        assert chosen == 1
        src, dst, size, posted, delivered = run.messages.select("src", "dst", "bytes", "posted_ps", "delivered_ps").row(1)
        assert window.ask("[timeline.view.t0, timeline.view.t1]") == pytest.approx(
            [max(0, 2.2 * posted - 1.2 * delivered), 2.2 * delivered - 1.2 * posted]
        )
        detail = window.ask("document.getElementById('detail').textContent")
        assert f"rank {src} to rank {dst}, {size} B" in detail and "Its way" in detail
        assert "waited" in detail or "fastest" in detail
        window.wait("document.getElementById('said').textContent.startsWith('Ranks ')")
        window.press("Escape")
        assert window.ask("timeline.chosen.message") == -1


HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("case", ["a run", "many ranks", "hostile", "nothing measured"])
def test_it_draws_runs_without_calls(tmp_path: Path, case: str) -> None:
    """And without a route, as of results whose machine is not described."""
    given = {"many ranks": lambda: synthetic_run(side=8), "nothing measured": nothing_measured}.get(case, synthetic_run)()
    if case == "hostile":
        given["topology"]["node_name"] = [HOSTILE] * len(given["topology"]["node_name"])
    results.write(tmp_path / "run", given, {**synthetic_meta(), "notes": ["</script>"]})
    with shown(timeline.write(tmp_path / "run")) as window:
        window.ask("document.querySelector('canvas').focus()")
        for key in ("n", "Enter", "N", "p", "-", "]", "End"):
            window.press(key)
        said = window.ask("document.querySelector('main').textContent")
        assert "There are no calls in these results." in said and "</script>" in said
        assert ("The page has no route" in said or "on one node" in said) == (case != "nothing measured")
        assert window.ask("document.querySelectorAll('img').length") == 0 and (HOSTILE in said) == (case == "hostile")


SEARCH = """
(() => {
  for (const [id, value] of Object.entries(ASKED)) document.getElementById(id).value = value;
  document.querySelector("form").requestSubmit();
})()
"""
FIRST_CALLS = """
(() => {
  const { store, view } = timeline, i = store.calls.first[5] + 3;
  look(view, { t0: store.calls.begin[i], t1: store.calls.begin[i] + store.calls.took[i], row0: 5, row1: 7 });
  drawNow();
})()
"""
LABELLED = "[...document.querySelectorAll('input, select')].every((one) => document.querySelector(`label[for=${one.id}]`))"
CANVAS = "(() => { const c = document.querySelector('canvas'); return [c.tabIndex, c.role, c.ariaLabel]; })()"
DIFFERENCE = """
(() => {
  const { store, levels } = timeline, width = levels.levels[2].parts;
  const paint = (given) => {
    const out = new Uint32Array(store.ranks * width);
    paintRows(store, given, 0, store.end, 0, store.ranks, width, out);
    return new Uint8Array(out.buffer);
  };
  const coarse = paint(levels), exact = paint({ ...levels, levels: [] });
  return Math.max(...coarse.map((value, i) => Math.abs(value - exact[i])));
})()
"""


def search(window: Driven, **asked: str) -> str:
    """What the page says of what it is asked for, by the names of the fields."""
    window.ask(SEARCH.replace("ASKED", json.dumps(asked)))
    return str(window.ask("document.getElementById('found').textContent"))


@pytest.mark.slow
@needs_browser
def test_a_click_chooses_a_message_or_a_call(tmp_path: Path) -> None:
    with shown(replayed(tmp_path) / "timeline.html") as window:
        window.ask("look(timeline.view, {t0: 0, t1: timeline.store.end / 4}); drawNow()")
        box = window.ask("document.querySelector('canvas').getBoundingClientRect().toJSON()")
        ax, ay, bx, by = window.ask("endsOf(timeline.canvas, timeline.store, timeline.view, 3)")
        window.click(box["left"] + (ax + bx) / 2, box["top"] + (ay + by) / 2)
        assert window.ask("timeline.chosen.message") >= 0
        search(window, least="1 GiB")  # no message is drawn
        window.ask(FIRST_CALLS)
        box = window.ask("document.querySelector('canvas').getBoundingClientRect().toJSON()")
        window.click(box["left"] + box["width"] / 2, box["top"] + box["height"] / 4)
        assert window.ask("timeline.chosen.call - timeline.store.calls.first[5]") == 3
        assert "MPI_Allreduce of rank 5" in window.ask("document.getElementById('detail').textContent")


@pytest.mark.slow
@needs_browser
def test_what_is_looked_for_is_found(tmp_path: Path) -> None:
    place = replayed(tmp_path)
    run = results.load(place)
    assert run.calls is not None
    with shown(place / "timeline.html") as window:
        said = search(window, ranks="2, 4-5", least="1 KiB")
        ranks = [2, 4, 5]
        messages = run.messages.filter((pl.col("src").is_in(ranks) | pl.col("dst").is_in(ranks)) & (pl.col("bytes") >= 1024))
        calls = run.calls.filter(pl.col("rank").is_in(ranks) & (pl.col("bytes") >= 1024))
        assert said.startswith(f"Found: {len(calls)} of {len(run.calls)} calls")
        assert f", {len(messages)} of {len(run.messages)} messages" in said
        window.ask("document.querySelector('canvas').focus()")
        window.press("n")
        assert window.ask("timeline.store.messages.bytes[timeline.chosen.message]") == 100_000
        window.press("N")
        assert window.ask("rankOfCall(timeline.store, timeline.chosen.call)") == 2
        for wrong in ({"ranks": "3-99"}, {"ranks": "x"}, {"ranks": "", "least": "many"}):
            search(window, **wrong)
            assert "give " in window.ask("document.querySelector('[role=alert]').textContent")
        names = window.ask("[...document.getElementById('call').options].map((option) => option.textContent)")
        said = search(window, ranks="", least="", call=str(names.index("MPI_Allreduce") - 1))
        assert said.startswith(f"Found: {RANKS * ROUNDS} of ")


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [1240, 400])
def test_it_is_read_without_seeing_it_and_on_a_narrow_screen(tmp_path: Path, width: int) -> None:
    with shown(replayed(tmp_path) / "timeline.html", width) as window:
        assert window.ask("document.documentElement.scrollWidth") <= width
        canvas = window.ask(CANVAS)
        assert canvas[:2] == [0, "application"] and "Arrow keys" in canvas[2]
        assert window.ask(LABELLED)
        window.ask("document.querySelectorAll('details.inview').forEach((one) => { one.open = true; })")
        window.wait("document.querySelectorAll('details.inview tbody tr').length > 20")
        window.ask("document.querySelector('details.inview tbody button').click()")
        assert window.ask("timeline.chosen.message") == 0
        window.call("Emulation.setEmulatedMedia", media="print")
        assert window.ask("getComputedStyle(document.querySelector('.search')).display") == "none"


@pytest.mark.slow
@needs_browser
def test_levels_of_detail_agree_with_the_calls(tmp_path: Path) -> None:
    """A pixel has the same colour from a level as from the calls themselves."""
    with shown(replayed(tmp_path, rounds=100) / "timeline.html") as window:
        assert window.ask(DIFFERENCE) <= 3, "of 255, by rounding at each level"
        assert 1000 < window.ask("timeline.canvas.drawn.length") < 1650 < window.ask("timeline.store.messages.count")
