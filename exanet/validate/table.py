# SPDX-License-Identifier: Apache-2.0
"""`exanet validate` without its options: measures the published figures again and says how far ours are from them."""

from __future__ import annotations

import json
import sys
from typing import Any, get_args

from rich.markup import escape

from exanet import optional, terminal
from exanet.errors import InputError
from exanet.near import nearest
from exanet.quantity import counted
from exanet.validate.registry import Experiment, Kind, Verdict, experiments, published
from exanet.validate.runner import RunFailed, Runner


def status_of(rows: list[dict[str, Any]], strict: bool = False) -> int:
    """The exit status: 1 if a row failed (`strict`: or is off by any reading, or was skipped), 2 if nothing could be
    measured, else 0."""
    verdicts = {row["verdict"] for row in rows}
    if verdicts <= {"skipped", "not reproduced"}:
        return 2
    readings = {reading["verdict"] for row in rows for reading in row["readings"]}
    return 1 if "failed" in verdicts or (strict and (verdicts & {"off", "skipped"} or "off" in readings)) else 0


def select(only: str | None, long: bool = False) -> dict[str, Experiment]:
    """The experiments of a comma-separated list of ids, or all, those that take long if wanted. Raises InputError."""
    known = experiments()
    if only is None:
        return {name: row for name, row in known.items() if long or not row.long}
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    problems = []
    for name in wanted:
        if name not in known:
            meant = nearest(name.upper(), known)
            hint = f"did you mean '{meant}'? " if meant else ""
            problems.append(f"--only {name}: there is no such row; {hint}all rows: exanet validate --list")
    if not wanted:
        problems.append("--only: give ids of rows, e.g. --only P03,P05; all rows: exanet validate --list")
    if problems:
        raise InputError(problems)
    return {name: known[name] for name in known if name in wanted}


def show_list(rows: dict[str, Experiment], as_json: bool) -> None:
    """What could be measured: the rows with their sources, without measuring any of them."""
    facts = [
        {
            "id": row.id,
            "quantity": published()[row.id]["quantity"],
            "source": published()[row.id]["source"],
            "kind": row.kind,
            "how": how(row),
            "allowed": row.allowed,
            "long": row.long,
            "needs": [optional.TOOLS[tool].name for tool in row.needs],
        }
        for row in rows.values()
    ]
    if as_json:
        print(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    shown = terminal.table("id", "quantity", "source", "kind", "", "needs", left=6)
    for fact in facts:
        what = (fact["id"], fact["quantity"], fact["source"], "not reproduced" if fact["kind"] == "none" else fact["kind"])
        shown.add_row(*what, "--long" if fact["long"] else "", ", ".join(fact["needs"]))
    console = terminal.console()
    console.print(shown)
    console.print()
    for fact in facts:
        console.print(f"[bold]{fact['id']}[/bold] {escape(fact['how'])}")
    measured = [fact["id"] for fact in facts if fact["kind"] != "none"]
    hint = f" Measure some of them with --only, e.g. exanet validate --only {measured[0]}." if measured else ""
    console.print(f"\n{counted(len(facts), 'row')}, {len(measured)} of them measured.{hint}")


def how(row: Experiment) -> str:
    """In which way a row is measured, by the text of its experiment, else of its module; or why it is not."""
    if row.kind == "none":
        return f"Not reproduced: {published()[row.id]['not_reproduced']}"
    text = row.measure.__doc__ or sys.modules[row.measure.__module__].__doc__ or ""
    return " ".join(text.split("\n\n")[0].split())


def measure(row: Experiment, runner: Runner) -> dict[str, Any]:
    """One row of the table, as data. A run that fails fails its row; a tool that is missing leaves it out."""
    fact = published()[row.id]
    out: dict[str, Any] = {
        "id": row.id,
        "quantity": fact["quantity"],
        "published": fact["value"],
        "approximate": bool(fact.get("approximate", False)),
        "unit": fact["unit"],
        "source": fact["source"],
        "conditions": fact["conditions"],
        "kind": row.kind,
        "allowed": row.allowed,
        "allowed_because": row.tolerance.reason if row.tolerance else None,
        "known_error": row.off.error if row.off else None,
        "cause": None,
        "ours": None,
        "shown": "",
        "error": None,
        "data": None,
        "readings": [],
    }
    if row.kind == "none":
        return {**out, "verdict": "not reproduced", "remark": fact["not_reproduced"]}
    if missing := optional.missing(row.needs):
        return {**out, "verdict": "skipped", "remark": "; ".join(missing)}
    try:
        found = row.measure(runner)
    except RunFailed as failure:
        return {**out, "verdict": "failed", "remark": str(failure)}
    compared = row.kind not in ("shape", "beside") and not isinstance(fact["value"], str)
    error = row.error(found.value, fact["value"]) if compared else None
    verdict = row.verdict(found, fact["value"])
    cause = row.off.cause if row.off and verdict == "off" else None
    if row.off and verdict == "failed":
        cause = f"was known to be off by {row.off.error:+.1%}: what has changed since?"
    return {
        **out, "ours": found.value, "shown": found.text, "error": error, "verdict": verdict, "cause": cause, "remark": found.remark,
        "data": found.data,
        "readings": [
            {
                "text": one.text, "ours": one.ours, "published": one.published, "error": row.error(one.ours, one.published),
                "verdict": row.reading_verdict(one),
            }
            for one in found.readings
        ],
    }  # fmt: skip


_COLOURS = {"passed": "green", "off": "yellow", "failed": "red", "skipped": "dim", "beside": "dim", "not reproduced": "dim"}


def show(rows: list[dict[str, Any]]) -> None:
    """The table, each row with its remark below."""
    table = terminal.table("id", "quantity", "published", "ours", "error", "allowed", "kind", "", left=2)
    for column in table.columns[-2:]:
        column.justify = "left"
    for row in rows:
        verdict = f"[{_COLOURS[row['verdict']]}]{'' if row['verdict'] == 'beside' else row['verdict']}[/]"
        table.add_row(row["id"], row["quantity"], published_text(row), ours_text(row), error_text(row), _allowed(row), _kind(row), verdict)
        for one in row["readings"]:
            verdict = f"[{_COLOURS[one['verdict']]}]{one['verdict']}[/]"
            shown = (number(one["published"], row["unit"]), number(one["ours"], row["unit"]), error_text(one))
            table.add_row("", f"  or: {one['text']}", *shown, _allowed(row), "", verdict)
    console = terminal.console()
    console.print(table)
    console.print()
    for row in rows:
        cause = f" [yellow]{row['verdict'].capitalize()}:[/] {escape(row['cause'])}" if row["cause"] else ""
        console.print(f"[bold]{row['id']}[/bold] {escape(row['remark'])}{cause}")
    console.print(f"\n{summary(rows)}")


def summary(rows: list[dict[str, Any]]) -> str:
    """The rows statuses by their verdicts, and those that passed by kind."""
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in get_args(Verdict)}
    words = {"beside": "beside, without a verdict"}
    kinds = {kind: sum(row["kind"] == kind and row["verdict"] == "passed" for row in rows) for kind in get_args(Kind)}
    statuses = [f"{count} {words.get(verdict, verdict)}" for verdict, count in counts.items() if count]
    passed = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    if passed:
        statuses[0] += f" ({passed})"
    off = sum(row["verdict"] == "passed" and any(one["verdict"] == "off" for one in row["readings"]) for row in rows)
    readings = f" {off} of those that passed are off by another reading of their source." if off else ""
    return f"{counted(len(rows), 'row')}: {', '.join(statuses)}.{readings}"


def published_text(row: dict[str, Any]) -> str:
    return f"{'~' if row['approximate'] else ''}{number(row['published'], row['unit'])}"


def number(value: Any, unit: str) -> str:
    """A figure, or several, with their unit. Several of one unit have it once."""
    several = isinstance(value, (list, tuple))
    shown = ", ".join(_plain(one) for one in value) if several else _plain(value)
    units = unit.split(", ")
    if several and len(units) == len(value):
        return ", ".join(f"{_plain(one)} {name}" for one, name in zip(value, units, strict=True))
    return f"{shown} {unit}".strip()


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.0f}" if value >= 10_000 else f"{value:.4g}"


def _kind(row: dict[str, Any]) -> str:
    return "" if row["kind"] == "none" else row["kind"]


def ours_text(row: dict[str, Any]) -> str:
    if row["ours"] is None:
        return "" if row["verdict"] in ("skipped", "not reproduced") else "no result"
    return row["shown"] or number(row["ours"], row["unit"])


def error_text(row: dict[str, Any]) -> str:
    """How far ours is from the published figure; more than ten times as much is said so."""
    if row["error"] is None:
        return ""
    return f"{row['error'] + 1:.0f} times" if row["error"] >= 10 else f"{row['error'] * 100:+.1f} %"


def _allowed(row: dict[str, Any]) -> str:
    return "no worse" if row["kind"] == "bound" else "" if row["allowed"] is None else f"{row['allowed'] * 100:g} %"
