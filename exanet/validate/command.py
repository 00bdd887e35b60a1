# SPDX-License-Identifier: Apache-2.0
"""`exanet validate`: measures the published figures again and says how far ours are from them."""

from __future__ import annotations

import difflib
import json
import signal
import sys
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exanet.errors import InputError
from exanet.validate.registry import Experiment, Kind, experiments, published
from exanet.validate.runner import RunFailed, Runner

_WIDE = 200  # columns when the output is no terminal


def command(
    only: Annotated[str | None, typer.Option("--only", metavar="ID,...", help="Measure these rows only.")] = None,
    long: Annotated[bool, typer.Option("--long", help="Measure those as well that take minutes: large networks.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data instead of a table.")] = False,
) -> None:
    """Measure published figures again, on the simulated machines and in the gateware; exit code 0 if all are within their tolerance."""
    chosen = select(only, long)
    # A terminated validation takes its run with it, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console = Console(stderr=True)
    rows: list[dict[str, Any]] = []
    with console.status("") as status:
        runner = Runner(tell=lambda what: status.update(f"{len(rows) + 1} of {len(chosen)}: {what}"))
        for row in chosen.values():
            runner.tell(f"{row.id}: {published()[row.id]['quantity']}")
            rows.append(measure(row, runner))
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        show(rows)
    raise typer.Exit(1 if any(row["passed"] is False for row in rows) else 0)


def select(only: str | None, long: bool = False) -> dict[str, Experiment]:
    """The experiments of a comma-separated list of ids, or all, those that take long if wanted. Raises InputError."""
    known = experiments()
    if only is None:
        return {name: row for name, row in known.items() if long or not row.long}
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    problems = []
    for name in wanted:
        if name not in known:
            close = difflib.get_close_matches(name.upper(), known, 1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            problems.append(f"--only {name}: there is no such row; {hint}Rows: {', '.join(known)}")
    if not wanted:
        problems.append(f"--only: give ids of rows, e.g. --only P03,P05; rows: {', '.join(known)}")
    if problems:
        raise InputError(problems)
    return {name: known[name] for name in known if name in wanted}


def measure(row: Experiment, runner: Runner) -> dict[str, Any]:
    """One row of the table, as data. A run that fails fails its row."""
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
        "tolerance": row.tolerance,
        "tolerance_in": "points" if row.points else "share",
    }
    try:
        found = row.measure(runner)
    except RunFailed as failure:
        return {**out, "ours": None, "shown": "", "error": None, "passed": False, "remark": str(failure), "data": None}
    error = None if row.kind in ("shape", "beside") else row.error(found.value, float(fact["value"]))
    passed = row.passes(found, fact["value"])
    return {**out, "ours": found.value, "shown": found.text, "error": error, "passed": passed, "remark": found.remark, "data": found.data}


def show(rows: list[dict[str, Any]]) -> None:
    """The table, each row with its remark below."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "quantity"):
        table.add_column(heading)
    for heading in ("published", "ours", "error", "allowed"):
        table.add_column(heading, justify="right")
    table.add_column("kind")
    table.add_column("")
    for row in rows:
        verdict = {True: "[green]pass[/green]", False: "[red]FAIL[/red]", None: ""}[row["passed"]]
        table.add_row(row["id"], row["quantity"], _published(row), _ours(row), _error(row), _allowed(row), row["kind"], verdict)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    console.print(table)
    console.print()
    for row in rows:
        console.print(f"[bold]{row['id']}[/bold] {escape(row['remark'])}")
    judged = [row["passed"] for row in rows if row["passed"] is not None]
    kinds = {kind: sum(row["kind"] == kind for row in rows) for kind in get_args(Kind)}
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    console.print(f"\n{sum(judged)} of {len(judged)} rows with a verdict within their tolerance ({counted}).")


def _published(row: dict[str, Any]) -> str:
    return f"{'~' if row['approximate'] else ''}{row['published']} {row['unit']}".strip()


def _ours(row: dict[str, Any]) -> str:
    if row["ours"] is None:
        return "no result"
    return row["shown"] or f"{row['ours']:.4g} {row['unit']}"


def _error(row: dict[str, Any]) -> str:
    if row["error"] is None:
        return ""
    return f"{row['error']:+.2f} points" if row["tolerance_in"] == "points" else f"{row['error'] * 100:+.1f} %"


def _allowed(row: dict[str, Any]) -> str:
    if row["kind"] in ("shape", "bound", "beside"):
        return "no worse" if row["kind"] == "bound" else ""
    return f"{row['tolerance']:g} points" if row["tolerance_in"] == "points" else f"{row['tolerance'] * 100:g} %"
