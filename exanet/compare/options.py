# SPDX-License-Identifier: Apache-2.0
"""Which options two runs were asked for differently.

A replay and a run have some of them in other words: a replay's computing is a factor on what was recorded, and it has
rules for algorithms, which a run has from its MPI. They are compared by what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exanet.compare.sides import flat
from exanet.quantity import time_text
from exanet.results import Run
from exanet.trace.rules import of_mpi

TRAFFIC = ("background", "jobs", "offload", "collectives", "rules", "mpi_calls")
"""Options that decide what is sent: other traffic, and how collectives are carried out."""

OPTIONS = (*TRAFFIC, "level", "fabric", "compute", "start", "mpi", "ranks", "seed", "exanet_version")
"""Options that may make a difference, in the order in which they are named."""

_DEFAULTS = {"mpi_calls": "library", "fabric": "model"}
"""Of options that the request does not always have."""

_REPLAYED = ", replayed"


def differing(own: Run, other: Run) -> Iterator[tuple[str, str]]:
    """Each option that differs, and by what: "collectives", "allreduce=ring instead of none"."""
    requests = [run.summary["run"] for run in (own, other)]
    beside_a_run = not alike(own, other)
    means = [_means(request, beside_a_run=beside_a_run) for request in requests]
    for option in OPTIONS:
        if means[0][option] != means[1][option]:
            asked = [_text(request.get(option)) for request in requests] if option == "compute" else [meant[option] for meant in means]
            yield option, " instead of ".join(asked)


def alike(own: Run, other: Run) -> bool:
    """Whether both are replays, or both are runs."""
    return replayed(own) == replayed(other)


def replayed(run: Run) -> bool:
    return "trace" in run.summary["run"]


def _means(request: Mapping[str, Any], *, beside_a_run: bool) -> dict[str, str]:
    """What each option stands for; `beside_a_run`: one of the two is a run, the other a replay."""
    found = {option: _text(request.get(option, _DEFAULTS.get(option))) for option in OPTIONS}
    found["start"] = time_text(request["start_ps"]) if "start_ps" in request else "none"
    found["mpi"] = found["mpi"].removesuffix(_REPLAYED)
    if "trace" in request:
        found["compute"] = _computing(request)
    if beside_a_run:
        found["mpi"] = found["mpi"].rstrip(" .0123456789")  # a trace has no version
        found["mpi_calls"] = ""  # a replay has no library that carries them out
        if "trace" not in request:
            found["rules"] = of_mpi(found["mpi"])
    return found


def _computing(request: Mapping[str, Any]) -> str:
    """What a replay computes, as its run would say it, if all was recorded in one way."""
    recorded = request.get("recorded") or []
    asked = {run.get("compute") for run in (recorded if isinstance(recorded, list) else [recorded])}
    given = _text(request.get("compute"))
    if asked == {"off"}:
        return "off"
    return str(asked.pop()) if len(asked) == 1 and None not in asked and given == "1 of the recorded" else given


def _text(value: Any) -> str:
    """A value as the command line has it; "none" of one that is not there."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={text}" for key, inner in value.items() for name, text in flat(inner, str(key)).items()) or "none"
    return ",".join(map(str, value)) or "none" if isinstance(value, list | tuple) else "none" if value is None else str(value)
