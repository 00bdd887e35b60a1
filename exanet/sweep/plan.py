# SPDX-License-Identifier: Apache-2.0
"""Plans a sweep: a grid over machines, constants of their descriptions, traffic, loads and seeds.

Every field of `exanet.sim.TrafficSpec` is an axis, by its name; so are `machine`, `faults` (files of faults, or none),
`load`, and, under `vary`, any constant of a machine file by its dotted name. A sweep over jobs has those of `JobsSpec`
in their place, one over traces those of `TracesSpec`. The runs are all combinations, the load fastest, or as many as
`sample` draws of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from exanet import faults, machine, replay, units
from exanet.bounds import MOST_LOAD, percentages
from exanet.errors import InputError
from exanet.machine import Machine, located
from exanet.machine.located import Located, Mark
from exanet.near import nearest
from exanet.quantity import counted
from exanet.sim import TrafficSpec, matrix
from exanet.sim.jobs import Job
from exanet.sim.spec import distributions
from exanet.sweep import replays
from exanet.sweep.checks import Checks
from exanet.sweep.replays import Traces, TracesSpec
from exanet.units import UnitError

SATURATION = "saturation"
"""In place of a load: the highest one that is still accepted, found by bisection."""

NO_FAULTS = "none"
"""In place of a file of faults: nothing fails."""

MOST_RUNS = 1_000_000
_PLACE = re.compile(r":\d+:\d+: error: ")  # in a message
_DEFAULT_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class JobsSpec:
    """Parameters of a run of jobs; `job` as `exanet sim --job` has it, several together with " + " between them."""

    job: str
    mapping: str = "linear"
    packet_bytes: int | None = None
    seed: int = 1
    nic: str = "ideal"


@dataclass(frozen=True)
class Run:
    """One simulation: what it is called in the table, and what it takes."""

    columns: dict[str, Any]
    machine: dict[str, Any]  # resolved
    load: float | None  # None: search for saturation
    spec: dict[str, Any]  # fields of TrafficSpec, or of JobsSpec; of traces what the result depends on
    programs: Sequence[dict[str, Any]] = ()  # of traces: with their files, which make no difference to the result

    @property
    def key(self) -> str:
        """The same for two runs that must have the same result."""
        text = json.dumps([self.machine, self.load, self.spec], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Plan:
    """All runs, in the order of the table."""

    name: str
    runs: list[Run]
    axes: dict[str, list[Any]]  # those with more than one value
    kind: type = TrafficSpec

    @property
    def to_the_end(self) -> bool:
        """Whether runs end by themselves, and their times count: those of jobs and traces."""
        return self.kind is not TrafficSpec


# -- values ------------------------------------------------------------------------------------------------------------


def _word(at: Located) -> str:
    if not isinstance(at.value, str | int | float) or isinstance(at.value, bool):
        raise InputError(at.mark.error("expected a word"))
    return str(at.value)


def _whole(at: Located) -> int:
    if not isinstance(at.value, int) or isinstance(at.value, bool):
        raise InputError(at.mark.error(f"expected a whole number, not {at.value}"))
    return at.value


def _number(at: Located) -> float:
    if not isinstance(at.value, int | float) or isinstance(at.value, bool) or not math.isfinite(at.value):
        raise InputError(at.mark.error(f"expected a number, not {at.value}"))
    return float(at.value)


def _duration(at: Located) -> int | None:
    if at.value == "auto":
        return None  # until latency has settled
    try:
        return units.parse(str(at.value), units.TIME)
    except UnitError as error:
        raise InputError(at.mark.error(str(error))) from None


def _bytes(at: Located) -> int:
    if not isinstance(at.value, str):
        return _whole(at)  # the axis' name says the unit
    try:
        return units.parse(at.value, units.BYTES)
    except UnitError as error:
        raise InputError(at.mark.error(str(error))) from None


def _constant(at: Located) -> Located:
    if isinstance(at.value, dict):
        raise InputError(at.mark.error("give the value alone, e.g. router.inter_fifo: [512 words, 1024 words]"))
    return at


def _text(at: Located) -> str:
    return str(at.plain())


def _load(at: Located) -> float | None:
    if at.value == SATURATION:
        return None
    value = _number(at)
    if not 0 <= value <= MOST_LOAD:
        raise InputError(
            at.mark.error(
                f"load {at.value}: give numbers above 0, at most {MOST_LOAD}; 1 fills a link of each sender; 0 for a burst of messages; "
                f"or '{SATURATION}'{percentages([value])}"
            )
        )
    return value


def _traffic(at: Located) -> str:
    from exanet import _core

    text, known = _word(at), _core.traffic_patterns()
    if text.split(":")[0] not in known:
        raise InputError(at.mark.error(f"there is no traffic '{text}'; {_hint(text, known)}"))
    return text


def _job(at: Located) -> str:
    text = _word(at)
    try:
        for part in text.split(" + "):
            Job.parse(part)
    except InputError as error:
        raise InputError([at.mark.error(message.removeprefix("--job ")) for message in error.messages]) from None
    return text


def _hint(text: str, known: Sequence[str]) -> str:
    meant = nearest(text, known)
    return f"did you mean '{meant}'?" if meant else f"use one of {', '.join(known)}"


def _key_hint(key: str, known: Sequence[str]) -> str:
    hint = _hint(key, known)
    if hint.startswith("use"):
        hint += "; or, under 'vary' or with --set, a constant of the machines by its dotted name, e.g. router.inter_fifo"
    return hint


def _trace(at: Located, folder: Path | None) -> str:
    text = replays.relative(_word(at), folder)
    try:
        for program in replay.programs_of(replay.Options(text.split(" + "), "")):
            replay.loaded(program)
    except InputError as error:
        raise InputError([at.mark.error(message) for message in error.messages]) from None
    return text


def _collective(at: Located) -> str:
    text = _word(at)
    try:
        replays.collectives(text)
    except InputError as error:
        raise InputError([at.mark.error(message.removeprefix("--collective ")) for message in error.messages]) from None
    return text


def _rules(at: Located) -> str:
    text = _word(at)
    try:
        replays.chosen_rules(text)
    except InputError as error:
        raise InputError([at.mark.error(f"{message.removeprefix('--')}, or {replays.DEFAULT}") for message in error.messages]) from None
    return text


def _reader(name: str, kind: str, folder: Path | None) -> Callable[[Located], Any]:
    if name == "trace":
        return lambda at: _trace(at, folder)
    if name == "mapping" and folder is not None:
        return lambda at: replays.mapping_relative(_word(at), folder)
    if name == "collective":
        return _collective
    if name == "rules":
        return _rules
    if name == "traffic":
        return lambda at: matrix.relative(_traffic(at), folder)
    if name == "job":
        return _job
    if name.endswith("_ps"):
        return _duration
    if name.endswith("_bytes"):
        return _bytes
    return _whole if "int" in kind else _number if "float" in kind else _word


def _kind(given: Mapping[str, Located]) -> type:
    return TracesSpec if "trace" in given else JobsSpec if "job" in given else TrafficSpec


def _fields(kind: Any) -> dict[str, Any]:
    """Axis name to field of TrafficSpec, JobsSpec or TracesSpec."""
    return {field.name.removesuffix("_ps"): field for field in fields(kind)}


def columns_of(plan: Plan) -> dict[str, str]:
    """Axis name to column of the table."""
    return {name: field.name for name, field in _fields(plan.kind).items()}


# -- the file ----------------------------------------------------------------------------------------------------------


def read(path: Path | None, options: Mapping[str, Located]) -> Plan:
    """The plan in the file, if there is one, with `options` laid over its keys.

    Raises InputError with every problem of the file, each at its place.
    """
    tree = located.read(path) if path else Located({}, Mark("the options"))
    if not isinstance(tree.value, dict):
        raise InputError(tree.mark.error("a sweep is a mapping of axes to values, e.g. 'machine: [torus-512, fat-tree-1024]'"))
    given: dict[str, Located] = dict(tree.value)
    # what the user names is found where the user is
    folders = {key: path.parent for key in ("machine", "faults") if key not in options} if path else {}
    for key, value in options.items():
        if "." in key:
            vary = given.get("vary") or Located({}, value.mark)
            given["vary"] = Located({**vary.value, key: value}, vary.mark, vary.keys)
        else:
            given[key] = value
    kind = _kind(given)
    of = {JobsSpec: " of a sweep over jobs", TracesSpec: " of a sweep over traces"}.get(kind, "")
    if "message" in given:
        _name_messages(given)
    known = ("name", "description", "machine", "faults", "vary", *_fields(kind), *(("load",) if kind is TrafficSpec else ()), "sample")
    problems = [
        tree.keys.get(key, at.mark).error(f"unknown key '{key}'{of}; {_key_hint(key, known)}")
        for key, at in given.items()
        if key not in known
    ]
    marks: dict[tuple[str, Any], Mark] = {}
    with_files = ("trace", "mapping") if kind is TracesSpec else ("traffic",)
    beside = {name: path.parent for name in with_files if name not in options} if path else {}
    axes = _axes(given, _fields(kind), marks, problems, beside)
    name = path.stem if path else "sweep"
    if "name" in given:
        name = str(given["name"].value)
        if isinstance(given["name"].value, list | dict | None) or not name.strip():
            problems.append(tree.keys["name"].error("'name' takes a word, e.g. name: buffers"))
    if "machine" not in given:
        problems.append(tree.mark.error("'machine' is missing: name the machines to compare, e.g. machine: [torus-512, fat-tree-1024]"))
    chosen = _sample(given, math.prod(len(values) for values in axes.values()), tree.mark, problems)
    if problems:
        raise InputError(problems)
    runs = _runs(axes, chosen, _fields(kind), folders, marks)
    return Plan(name, runs, _several(axes), kind)


def _name_messages(given: dict[str, Located]) -> None:
    """Takes `message`, with what `--message` takes, for one of the axes `message_bytes` and `message_sizes`. Raises
    InputError."""
    at = given.pop("message")
    drawn = [value.value in distributions() for value in _values(at)]
    if any(drawn) and not all(drawn):
        raise InputError(
            at.mark.error(f"'message' takes sizes, e.g. 64 KiB, or names, {', '.join(distributions())}: not both in one sweep")
        )
    name = "message_sizes" if any(drawn) else "message_bytes"
    if name in given:
        raise InputError(at.mark.error(f"'message' and '{name}' are the same: keep one"))
    for value in _values(at):
        if not isinstance(value.value, str):
            raise InputError(value.mark.error(f"{value.value} has no unit; a size needs one, e.g. 64 KiB"))
    given[name] = at


def _values(at: Located) -> list[Located]:
    values = at.value if isinstance(at.value, list) else [at]
    if not values:
        raise InputError(at.mark.error("an axis needs at least one value"))
    return values


def _axes(
    given: Mapping[str, Located],
    known: Mapping[str, Any],
    marks: dict[tuple[str, Any], Mark],
    problems: list[str],
    beside: Mapping[str, Path],
) -> dict[str, list[Any]]:
    """Values by axis, in the order of the runs; machines and varied constants as Located. The places of the others go
    to `marks`.

    Files of an axis are named from its folder in `beside`, if there is one.
    """
    axes: dict[str, list[Any]] = {}

    def take(name: str, at: Located, reader: Callable[[Located], Any]) -> None:
        seen: dict[Any, Any] = {}
        try:
            for value in _values(at):
                try:
                    made = reader(value)
                    seen.setdefault(_text(made) if isinstance(made, Located) else made, made)
                    if not isinstance(made, Located):
                        marks.setdefault((name, made), value.mark)
                except InputError as error:
                    problems.extend(error.messages)
        except InputError as error:
            problems.extend(error.messages)
        axes[name] = list(seen.values())

    def text(at: Located) -> Located:
        return Located(_word(at), at.mark)

    take("machine", given.get("machine", Located("", Mark(""))), text)
    if "faults" in given:
        take("faults", given["faults"], text)
    vary = given.get("vary", Located({}, Mark("")))
    if isinstance(vary.value, dict):
        for name, at in vary.value.items():
            take(name, at, _constant)
    else:
        problems.append(vary.mark.error("'vary' takes constants of a machine file with their values, e.g. router.inter_fifo: [512 words]"))
    for name, field in known.items():
        if name in given:
            take(name, given[name], _reader(field.name, str(field.type), beside.get(name)))
        elif field.default is not MISSING:
            axes[name] = [field.default]
    if "load" in given:
        take("load", given["load"], _load)
    elif _kind(given) is TrafficSpec:
        axes["load"] = list(_DEFAULT_LOADS)
    return axes


def _several(axes: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    return {
        name: [_text(value) if isinstance(value, Located) else value for value in values]
        for name, values in axes.items()
        if len(values) > 1
    }


def _sample(given: Mapping[str, Located], total: int, mark: Mark, problems: list[str]) -> Sequence[int]:
    """Combinations that are run."""
    wanted = given.get("sample")
    if wanted is None:
        if total > MOST_RUNS:
            problems.append(
                mark.error(f"{counted(total, 'run')}; at most {MOST_RUNS}: take values out, or draw some of them with 'sample'")
            )
            return ()
        return range(total)
    keys = wanted.value if isinstance(wanted.value, dict) else {}
    unknown = [key for key in keys if key not in ("runs", "seed")]
    runs = keys["runs"].value if "runs" in keys else None
    seed = keys["seed"].value if "seed" in keys else 1
    if unknown or type(runs) is not int or type(seed) is not int or not 1 <= runs <= MOST_RUNS:
        problems.append(wanted.mark.error(f"'sample' takes the number of runs, from 1 to {MOST_RUNS}, and a seed: {{runs: 100, seed: 1}}"))
        return ()
    return sorted(random.Random(seed).sample(range(total), min(runs, total)))


def _runs(
    axes: Mapping[str, list[Any]],
    chosen: Sequence[int],
    known: Mapping[str, Any],
    folders: Mapping[str, Path],
    marks: Mapping[tuple[str, Any], Mark],
) -> list[Run]:
    varied = [name for name in axes if name not in (*known, "machine", "faults", "load")]
    named = [name for name in ("machine", "faults") if name in axes]
    # Where all interfaces are ideal there is no column of them, as before there were others.
    hidden = {"nic"} if axes.get("nic") == ["ideal"] else set()
    usual: dict[str, Any] = {name: field.default for name, field in known.items()}
    if "trace" in axes:
        del usual["trace"]
        usual["trace"] = None  # none at all, and the last to be blamed
    else:
        usual["job" if "job" in axes else "load"] = "barrier" if "job" in axes else 0.5
    traces = Traces()
    checks = Checks(marks, usual, traces)
    machines: dict[tuple[Any, ...], tuple[Machine, dict[str, Any]] | None] = {}
    problems: dict[str, None] = {}
    runs = []
    for number in chosen:
        picked: dict[str, Any] = {}
        for name in reversed(list(axes)):
            number, index = divmod(number, len(axes[name]))
            picked[name] = axes[name][index]
        packets = picked.get("level", "packet") != "flow"
        which = (packets, *(_text(picked[name]) for name in (*named, *varied)))
        if which not in machines:
            changes = {name: picked[name] for name in varied}
            try:
                machines[which] = _resolve({name: picked[name] for name in named}, changes, packets, folders, hosts="trace" in axes)
            except InputError as error:
                problems |= dict.fromkeys(error.messages)
                machines[which] = None
        found = machines[which]
        if found is None:
            continue
        problems |= dict.fromkeys(checks.problems(which, *found, picked))
        if not problems:
            runs.append(_run(picked, (*named[1:], *varied), known, found, hidden, traces))
    if problems:
        raise InputError(list(problems))
    _name_machines(runs)
    return runs


def _name_machines(runs: Sequence[Run]) -> None:
    """Machines are called by their names; or, if two have the same name, all of them as they were given: the table
    shows them so."""
    names = {(run.columns["machine"], run.machine["name"]) for run in runs}
    if len({name for _, name in names}) == len(names):
        for run in runs:
            run.columns["machine"] = run.machine["name"]


def _beside(text: str, folder: Path | None) -> str:
    """A file's name as the process finds it; the name of a machine as it is."""
    a_file = os.sep in text or text.endswith((".yaml", ".yml"))
    return str(folder / Path(text).expanduser()) if folder is not None and a_file else text


def _resolve(
    files: Mapping[str, Located], changes: Mapping[str, Located], packets: bool, folders: Mapping[str, Path], *, hosts: bool
) -> tuple[Machine, dict[str, Any]]:
    named = files["machine"]
    try:
        found = machine.load(_beside(str(named.value), folders.get("machine")), changes, packets=packets)
        named = files.get("faults", named)
        if "faults" in files and named.value != NO_FAULTS:
            found = faults.add(found, _beside(str(named.value), folders.get("faults")), hosts=hosts)
        return found, found.resolve()
    except InputError as error:
        placed = [message if _PLACE.search(message) else named.mark.error(message.replace(": error: ", ": ")) for message in error.messages]
        raise InputError(placed) from None


def _run(
    picked: Mapping[str, Any],
    varied: Sequence[str],
    known: Mapping[str, Any],
    found: tuple[Machine, dict[str, Any]],
    hidden: Set[str],
    traces: Traces,
) -> Run:
    described, resolved = found
    spec = {field.name: picked[name] for name, field in known.items()}
    if "trace" in spec:
        placed = traces.placed(described, resolved, spec)
        columns = {"machine": _text(picked["machine"]), **{name: _text(picked[name]) for name in varied}, **spec}
        return Run(columns, resolved, None, traces.depends_on(placed, spec), placed)
    if spec["packet_bytes"] is None:
        spec["packet_bytes"] = resolved["router"]["max_payload_bytes"]
    shown = {name: value for name, value in spec.items() if name not in hidden}
    if "traffic" in spec:  # workers read no files, and a run's key is of what is in them
        spec["traffic"] = matrix.in_full(spec["traffic"], resolved)
    columns = {"machine": _text(picked["machine"]), **{name: _text(picked[name]) for name in varied}, **shown}
    return Run(columns, resolved, picked.get("load"), spec)
