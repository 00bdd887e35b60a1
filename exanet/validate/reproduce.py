# SPDX-License-Identifier: Apache-2.0
"""`exanet reproduce`: the rows of one paper, and its figures, as files of a folder."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from rich.markup import escape

from exanet import optional, results, terminal
from exanet.errors import InputError
from exanet.files import json_bytes, parquet
from exanet.near import nearest
from exanet.quantity import counted
from exanet.validate import figures, table
from exanet.validate.registry import Experiment, Paper, experiments, papers, published
from exanet.validate.runner import RunFailed, Runner

_COLUMNS = ("id", "quantity", "unit", "source", "kind", "verdict", "error", "allowed", "remark", "cause")
_PICTURES = ("svg", "png")


def paper_of(name: str) -> Paper:
    """The paper of that short name. Raises InputError."""
    known = papers()
    if name not in known:
        meant = nearest(name.lower(), known)
        hint = f"did you mean '{meant}'? " if meant else ""
        raise InputError(f"{name}: there is no such paper; {hint}papers: {', '.join(known)}")
    return known[name]


def check_pictures() -> None:
    """Raises InputError where pictures cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("matplotlib is not installed: it draws the pictures; pip install '.[plots]' in the source folder")


def show_papers(as_json: bool) -> None:
    """The papers, with their rows and figures."""
    found: list[dict[str, Any]] = []
    known = experiments()
    for paper in papers().values():
        measured = [row for row in paper.rows if known[row].kind != "none"]
        quick = [row for row in measured if not known[row].long]
        names = [figure.name for figure in figures.figures(paper.name)]
        found.append(
            {
                "paper": paper.name,
                "title": paper.title,
                "where": paper.where,
                "rows": len(paper.rows),
                "measured": len(measured),
                "quick": len(quick),
                "figures": names,
            }
        )
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    shown = terminal.table("paper", "rows", "measured", "quick", "figures", left=1)
    for one in found:
        shown.add_row(*(str(one[key]) for key in ("paper", "rows", "measured", "quick")), str(len(one["figures"])))
    console = terminal.console()
    console.print(shown)
    console.print()
    for one in found:
        drawn = f" Figures: {', '.join(one['figures'])}." if one["figures"] else ""
        console.print(f"[bold]{one['paper']}[/bold] {escape(one['title'])}, {escape(one['where'])}.{drawn}")


def rows_of(paper: Paper, long: bool) -> dict[str, Experiment]:
    """The paper's rows, those that take long if wanted."""
    known = experiments()
    return {row: known[row] for row in paper.rows if long or not known[row].long}


def drawings(paper: Paper, runner: Runner, report: Callable[[str], None]) -> tuple[dict[str, figures.Drawing], dict[str, str]]:
    """The paper's figures by name, and why others are missing."""
    found, missing = {}, {}
    for figure in figures.figures(paper.name):
        if absent := optional.missing(figure.needs):
            missing[figure.name] = "; ".join(absent)
            continue
        report(f"figure {figure.name}")
        try:
            found[figure.name] = figure.draw(runner)
        except RunFailed as failure:
            missing[figure.name] = str(failure)
    return found, missing


def files(paper: Paper, rows: list[dict[str, Any]], drawn: dict[str, figures.Drawing]) -> dict[str, bytes]:
    """What the folder gets: rows and points as tables, pictures, and all as JSON."""
    from exanet.validate import draw

    content = {"reproduced.parquet": parquet(_row_frame(rows)), "curves.parquet": parquet(_curve_frame(drawn))}
    for name, drawing in drawn.items():
        content |= {f"figure-{name}.{form}": picture for form, picture in draw.pictures(drawing).items()}
    curves = {name: {"title": one.title, "across": one.across, "up": one.up} for name, one in drawn.items()}
    summary = {"paper": paper.name, "title": paper.title, "where": paper.where, "figures": curves, "rows": rows}
    return content | {"summary.json": json_bytes(summary)}


def write(directory: Path, content: dict[str, bytes]) -> Path:
    """Fills the folder; pictures of an earlier paper there go. Raises InputError."""
    place = results.publish(directory, content)
    for form in _PICTURES:
        for earlier in place.glob(f"figure-*.{form}"):
            if earlier.name not in content:
                earlier.unlink()
    return place


def show(rows: list[dict[str, Any]], missing: dict[str, str], drawn: dict[str, figures.Drawing], place: Path) -> None:
    """The table of `exanet validate`, the figures, and where everything is."""
    table.show(rows)
    console = terminal.console()
    for name, drawing in drawn.items():
        console.print(f"{place}/figure-{name}.svg, .png: {escape(drawing.title)}")
    for name, why in missing.items():
        console.print(f"[yellow]no figure {name}:[/] {escape(why)}")
    console.print(f"{counted(len(rows), 'row')} in {place}/reproduced.parquet, points of figures in {place}/curves.parquet")


def _row_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    def texts(value: Any) -> str | None:
        return None if value is None else ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

    data: dict[str, list[Any]] = {key: [row[key] for row in rows] for key in _COLUMNS}
    data |= {"published": [texts(published()[row["id"]]["value"]) for row in rows], "ours": [texts(row["ours"]) for row in rows]}
    numbers = {"error": pl.Float64, "allowed": pl.Float64}
    return pl.DataFrame(data, schema={key: numbers.get(key, pl.String) for key in data})


def _curve_frame(drawn: dict[str, figures.Drawing]) -> pl.DataFrame:
    points = [
        {"figure": name, "curve": curve.label, "published": curve.published, "x": x, "y": y}
        for name, drawing in drawn.items()
        for curve in drawing.curves
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    schema = {"figure": pl.String, "curve": pl.String, "published": pl.Boolean, "x": pl.Float64, "y": pl.Float64}
    return pl.DataFrame(points, schema=schema)
