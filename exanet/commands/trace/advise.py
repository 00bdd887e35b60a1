# SPDX-License-Identifier: Apache-2.0
"""`exanet trace advise`: the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from exanet import lightly
from exanet.commands.options import Faults, Json, LevelOfPrograms, MachineOption, MapSeed, Quiet, check_seed
from exanet.commands.replay import Collective, Compute, Mapping, Rules
from exanet.errors import InputError


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The folder of a trace.")],
    *,
    machine: MachineOption,
    mapping: Mapping = "linear",
    compute: Compute = 1.0,
    collective: Collective = None,
    rules: Rules = None,
    level: LevelOfPrograms = "packet",
    faults: Faults = None,
    seed: MapSeed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what would make a recorded program faster on a machine: up to three changes, each confirmed by a replay.

    Tried are other placements, a larger limit of eager messages, other algorithms of collectives, faster links of the
    busiest class, the machine without its faults, and a late rank with the computing of the others. What each is
    expected to save follows from the critical path.

    \b
    exanet run -m exanest -n 16 --record trace -- ./solver
    exanet trace advise trace -m exanest --map round-robin
    """
    with lightly.imports():
        from exanet import advise, programs, replay
        from exanet.progress import share_done

    programs.check_compute(f"--compute {compute:g}", compute)
    check_seed(seed)
    _check_trace(trace)
    options = replay.Options(
        [str(trace)], machine, mapping, compute, seed=seed, level=level, rules=rules, collective=collective, faults=faults
    )
    with share_done("replays", quiet or as_json) as progress:
        found = advise.advise(replay.chosen(options), progress)
    typer.echo(json.dumps(data(found), indent=2) if as_json else text(found))


def _check_trace(trace: Path) -> None:
    """Raises InputError on results of a run, which have no calls to replay."""
    if (trace / "summary.json").exists() and not (trace / "trace.json").exists():
        raise InputError(
            f"{trace}: these are results of a run, not a trace; record the program (`exanet run --record FOLDER`) and name that folder"
        )


def text(found: Any) -> str:
    """What the command prints."""
    from exanet.quantity import counted, time_text

    best = found.best()
    lines = [f"{found.run.setting.trace.folder}: {time_text(found.run.took_ps)}"]
    lines += [f"{number}. {each.text()}: {time_text(each.took_ps)}." for number, each in enumerate(best, 1)]
    if not best:
        lines.append("Nothing that was tried saves 1 % or more.")
    if more := len(found.confirmed) - len(best):
        lines.append(f"{counted(more, 'other change')} would save less, too; --json has all.")
    if found.others:
        lines.append(f"Not confirmed by a replay: {'; '.join(each.candidate.what for each in found.others)}.")
    return "\n".join(lines)


def data(found: Any) -> dict[str, Any]:
    """What it prints as JSON."""
    rows = [
        {
            "kind": each.candidate.kind,
            "why": each.candidate.why,
            "change": each.candidate.what,
            "predicted_percent": round(each.predicted_percent, 3),
            "replayed_percent": round(each.replayed_percent, 3),
            "replayed_ps": each.took_ps,
            "confirmed": each in found.confirmed,
        }
        for each in (*found.confirmed, *found.others)
    ]
    return {"trace": str(found.run.setting.trace.folder), "virtual_ps": found.run.took_ps, "findings": rows}
