# SPDX-License-Identifier: Apache-2.0
"""`exanet validate` without its options: measures the published figures again and says how far ours are from them."""

from __future__ import annotations

import json
from typing import Any, get_args

from rich.markup import escape

from exanet import optional, terminal
from exanet.errors import InputError
from exanet.near import nearest
from exanet.quantity import counted
from exanet.validate.registry import Experiment, Kind, Verdict, experiments, published
from exanet.validate.runner import RunFailed, Runner


def status_of(rows: list[dict[str, Any]], strict: bool = False) -> int:
    """The exit status: 1 if a row failed (`strict`: or is off by any reading, or was skipped), 2 if all were
    skipped, else 0."""
    verdicts = {row["verdict"] for row in rows}
    if verdicts == {"skipped"}:
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
            problems.append(f"--only {name}: there is no such row; {hint}Rows: {', '.join(known)}")
    if not wanted:
        problems.append(f"--only: give ids of rows, e.g. --only P03,P05; rows: {', '.join(known)}")
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
        what = (fact["id"], fact["quantity"], fact["source"], fact["kind"])
        shown.add_row(*what, "--long" if fact["long"] else "", ", ".join(fact["needs"]))
    terminal.console().print(shown)
    terminal.console().print(f"\n{len(facts)} rows. Measure some of them with --only, e.g. exanet validate --only {facts[0]['id']}.")


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
    if missing := optional.missing(row.needs):
        return {**out, "verdict": "skipped", "remark": "; ".join(missing)}
    try:
        found = row.measure(runner)
    except RunFailed as failure:
        return {**out, "verdict": "failed", "remark": str(failure)}
    error = None if row.kind in ("shape", "beside") else row.error(found.value, float(fact["value"]))
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


_COLOURS = {"passed": "green", "off": "yellow", "failed": "red", "skipped": "dim", "beside": "dim"}


def show(rows: list[dict[str, Any]]) -> None:
    """The table, each row with its remark below."""
    table = terminal.table("id", "quantity", "published", "ours", "error", "allowed", "kind", "", left=2)
    for column in table.columns[-2:]:
        column.justify = "left"
    for row in rows:
        verdict = f"[{_COLOURS[row['verdict']]}]{'' if row['verdict'] == 'beside' else row['verdict']}[/]"
        table.add_row(row["id"], row["quantity"], _published(row), _ours(row), _error(row), _allowed(row), row["kind"], verdict)
        for one in row["readings"]:
            verdict = f"[{_COLOURS[one['verdict']]}]{one['verdict']}[/]"
            figures = (f"{one['published']:.4g} {row['unit']}", f"{one['ours']:.4g} {row['unit']}", _error(one))
            table.add_row("", f"  or: {one['text']}", *figures, _allowed(row), "", verdict)
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


def _published(row: dict[str, Any]) -> str:
    return f"{'~' if row['approximate'] else ''}{row['published']} {row['unit']}".strip()


def _ours(row: dict[str, Any]) -> str:
    if row["ours"] is None:
        return "" if row["verdict"] == "skipped" else "no result"
    return row["shown"] or f"{row['ours']:.4g} {row['unit']}"


def _error(row: dict[str, Any]) -> str:
    return "" if row["error"] is None else f"{row['error'] * 100:+.1f} %"


def _allowed(row: dict[str, Any]) -> str:
    return "no worse" if row["kind"] == "bound" else "" if row["allowed"] is None else f"{row['allowed'] * 100:g} %"
