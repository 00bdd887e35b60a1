# SPDX-License-Identifier: Apache-2.0
"""`exanet reproduce`: papers, their curves, and what comes into the folder."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet.cli import app
from exanet.errors import InputError
from exanet.validate import figures, reproduce, table
from exanet.validate.figures import Curve, Drawing
from exanet.validate.registry import experiments, papers, published
from exanet.validate.runner import Runner

DRAWING = Drawing("a figure", "across", "up", (Curve("ours", (1.0, 2.0), (3.0, 4.0)), Curve("P03", (1.0,), (3.5,), published=True)))
with_pictures = pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed (extra plots)")


def test_every_paper_has_figures_of_its_own_name() -> None:
    for paper in papers():
        names = [figure.name for figure in figures.figures(paper)]
        assert names and len(names) == len(set(names))


def test_the_list_names_papers_with_their_rows() -> None:
    done = CliRunner().invoke(app, ["reproduce", "--list", "--json"])
    found = {one["paper"]: one for one in json.loads(done.stdout)}
    assert found.keys() == {"prototype", "micpro18", "karma17", "red-sea", "apenet13"}
    assert sum(one["rows"] for one in found.values()) == len(published())
    measured = sum(row.kind != "none" for row in experiments().values())
    assert sum(one["measured"] for one in found.values()) == measured


@pytest.mark.parametrize(
    ("given", "message"), [(["karma18"], "karma18: there is no such paper; did you mean 'karma17'?"), ([], "name a paper")]
)
def test_an_unknown_paper_is_bad_input(given: list[str], message: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", *given, "-o", str(tmp_path / "new")])
    assert isinstance(done.exception, InputError) and message in done.exception.messages[0]
    assert not (tmp_path / "new").exists()


def test_without_matplotlib_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reproduce.importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["reproduce", "karma17", "-o", str(tmp_path / "new")])
    assert isinstance(done.exception, InputError) and "pip install '.[plots]'" in done.exception.messages[0]
    assert not (tmp_path / "new").exists()


def test_curves_have_ours_and_the_published_points() -> None:
    drawn, missing = reproduce.drawings(reproduce.paper_of("apenet13"), Runner(), lambda what: None)
    assert not missing
    ours, theirs = drawn["link-bandwidth"].curves
    assert list(ours.y) == sorted(ours.y) and len(ours.x) == 5
    assert theirs.published and theirs.level and theirs.y == (2.6, 2.6)


@with_pictures
def test_the_folder_has_rows_points_and_pictures_and_no_earlier_ones(tmp_path: Path) -> None:
    rows = [table.measure(experiments()["E15"], Runner()), table.measure(experiments()["E39"], Runner())]
    content = reproduce.files(reproduce.paper_of("micpro18"), rows, {"one": DRAWING})
    assert content == reproduce.files(reproduce.paper_of("micpro18"), rows, {"one": DRAWING}), "the same bytes"
    assert content["figure-one.png"].startswith(b"\x89PNG") and b"<svg" in content["figure-one.svg"]
    place = tmp_path / "folder"
    reproduce.write(place, content | {"figure-two.svg": b"", "figure-two.png": b""})
    reproduce.write(place, content)
    assert {file.name for file in place.iterdir()} == content.keys()
    found = pl.read_parquet(place / "reproduced.parquet")
    assert found["ours"].to_list() == ["64, 576, 1728", None] and found["verdict"].to_list() == ["passed", "not reproduced"]
    points = pl.read_parquet(place / "curves.parquet")
    assert points.rows() == [("one", "ours", False, 1.0, 3.0), ("one", "ours", False, 2.0, 4.0), ("one", "P03", True, 1.0, 3.5)]
    assert json.loads((place / "summary.json").read_text())["paper"] == "micpro18"


def test_a_figure_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(runner: Runner) -> Drawing:
        raise reproduce.RunFailed("the program did not run")

    monkeypatch.setattr(figures, "figures", lambda paper: [figures.Figure(paper, "one", fails, ())])
    drawn, missing = reproduce.drawings(reproduce.paper_of("karma17"), Runner(), lambda what: None)
    assert (drawn, missing) == ({}, {"one": "the program did not run"})
