# SPDX-License-Identifier: Apache-2.0
"""Reads the folder of any command: a Run of `exanet run` and `exanet replay`, otherwise Results."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from exanet.directory import commands
from exanet.encoding import check_name
from exanet.errors import InputError
from exanet.results import folder, notebook
from exanet.results.folder import Run


@dataclass(frozen=True)
class Results:
    """What another command than `exanet run` and `exanet replay` has left.

    `command`: "sim", "sweep" or "karma". `summary` and `run`: summary.json and run.json ({} where there is none).
    `tables`: a frame for each file NAME.parquet, by its name, also as attributes: `points`, `links`, `latency`, ... of
    simulations, `jobs` of jobs, `runs` of a sweep.
    """

    command: str
    summary: dict[str, Any]
    run: dict[str, Any]
    tables: dict[str, pl.DataFrame]

    def __repr__(self) -> str:
        return f"<Results of exanet {self.command}: {', '.join(sorted(self.tables))}>"

    def _repr_html_(self) -> str:
        return notebook.shown(f"Results of exanet {self.command}", {}, self.tables, ("points", "jobs", "runs"))

    def __getattr__(self, name: str) -> pl.DataFrame:
        if not name.startswith("_") and name in self.tables:
            return self.tables[name]
        raise AttributeError(f"these results have no table {name!r}; there are {', '.join(sorted(self.tables))}")


def load(directory: str | os.PathLike[str]) -> Run | Results:
    """Reads the folder that a command has left: a Run of `exanet run` and `exanet replay`, otherwise Results.

    Raises InputError where there are no results, or they are incomplete or of another format.
    """
    place = Path(directory)
    check_name(place, "")
    found = commands(place)
    if not found or "run" in found:
        return folder.load(place)
    try:
        read = {
            name: json.loads((place / f"{name}.json").read_text(encoding="utf-8"))
            for name in ("summary", "run")
            if (place / f"{name}.json").exists()
        }
        tables = {file.stem: pl.read_parquet(file) for file in sorted(place.glob("*.parquet"))}
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{place}: cannot read the results: {error}") from None
    return Results(found[0], read.get("summary", {}), read.get("run", {}), tables)
