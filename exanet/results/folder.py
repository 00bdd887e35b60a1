# SPDX-License-Identifier: Apache-2.0
"""The folder that a run leaves behind.

What the simulator measured becomes one table a file (Parquet), the headline one JSON file, and everything that differs
between two repeats of the same run (wall time, host, time of day) a second JSON file. The first two are a pure function
of the simulation: two runs without measured compute time give the same bytes, so that `cmp` answers whether two runs
were the same run.

The folder is built beside its final place and renamed, so that a reader never meets half of it. `docs/results.md` says
what each column is.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from exanet.directory import MARKS, commands
from exanet.errors import InputError
from exanet.files import json_bytes, parquet, plain, why
from exanet.quantity import count_text, counted, time_text
from exanet.results import energy, gateways, handlers, host, notebook, processors, storage

FORMAT = 1
"""Raised when a file or column changes its meaning or goes away."""

PROTOCOLS = ("eager", "rendezvous", "put", "get", "atomic")
"""Protocols of messages; index as the simulator reports it."""

HOTTEST_LINKS = 20

FAULT_COUNTS = (
    "lost_packets",
    "failed_operations",
    "retransmitted_packets",
    "duplicate_packets",
    "corrupted_packets",
    "given_up_packets",
)
"""Of a run with --faults; all but the first two where interfaces retransmit end to end."""

AWARENESS = ("detected_ps", "first_known_ps", "master_known_ps", "all_known_ps")
"""Columns of faults with LO|FA|MO: who came to know of a change, and when; null where nobody did."""

_WITHOUT_MPI = ("none", "OpenSHMEM", "libfabric alone")
"""What run.json says of a program that makes no calls of MPI."""
MOST_BINS = 1024
"""Bins of the timeline; of a longer run they are longer."""

# Parameters of the run: the same for two repeats. Every other key of `meta` goes to run.json.
_ASKED = (
    "program",
    "machine_name",
    "ranks",
    "map",
    "compute",
    "start_ps",
    "mpi",
    "seed",
    "fabric",
    "level",
    "faults",
    "background",
    "storage",
    "cpu",
    "handlers",
    "notes",
    "exanet_version",
    "trace",
    "collectives",
    "rules",
    "offload",
    "mpi_calls",
    "sockets",
    "recorded",
    "jobs",
)


@dataclass(frozen=True)
class Run:
    """A result folder read back: the two JSON files as dicts, each table as a frame (columns: docs/results.md)."""

    summary: dict[str, Any]
    run: dict[str, Any]
    ranks: pl.DataFrame
    nodes: pl.DataFrame
    links: pl.DataFrame
    pairs: pl.DataFrame
    messages: pl.DataFrame
    message_sizes: pl.DataFrame
    latency: pl.DataFrame
    timeline: pl.DataFrame
    mpi_calls: pl.DataFrame
    energy: pl.DataFrame
    queues: pl.DataFrame | None = None  # of a replay by packets
    programs: pl.DataFrame | None = None  # of a replay of several
    throughput: pl.DataFrame | None = None  # as well
    faults: pl.DataFrame | None = None  # of a run with --faults
    fault_costs: pl.DataFrame | None = None  # as well
    calls: pl.DataFrame | None = None  # of a run with --timeline
    critical_path: pl.DataFrame | None = None  # as well
    gateways: pl.DataFrame | None = None  # of a machine whose networks gateways join

    def __repr__(self) -> str:
        return f"<Run: {self.title()}, {time_text(self.summary['virtual_ps'])}>"

    def tables(self) -> dict[str, pl.DataFrame]:
        """Those that there are, by their names."""
        return {name: frame for name in Run.__dataclass_fields__ if isinstance(frame := getattr(self, name), pl.DataFrame)}

    def _repr_html_(self) -> str:
        waits, virtual_ps = int(self.ranks["wait_ps"].sum()), int(self.ranks["virtual_ps"].sum())
        facts = {
            "virtual time": time_text(self.summary["virtual_ps"]),
            "waiting": f"{100 * waits / virtual_ps if virtual_ps else 0:.1f} % of all ranks' time",
            "messages": count_text(int(self.summary["messages"])),
        }
        return notebook.shown(self.title(), facts, self.tables(), ("ranks", "mpi_calls"))

    def title(self) -> str:
        """Program, ranks and machine."""
        asked = self.summary["run"]
        words = [Path(str(word)).name for word in asked.get("program") or ["a program"]]
        program = next((word for word in words[:2] if word.endswith(".py")), words[0])
        return f"{program}, {counted(len(self.ranks), 'rank')} on {asked.get('machine_name', 'a simulated machine')}"


_SOMETIMES = ("queues", "programs", "throughput", "faults", "fault_costs", "calls", "critical_path", "gateways")

TABLES = tuple(name for name in Run.__dataclass_fields__ if name not in ("summary", "run", *_SOMETIMES))

_OTHER_TABLES = (
    "points",
    "sources",
    "pairs",
    "classes",
    "sizes",
    "flows",
    "flow_rates",
    "link_use",
    "intervals",
    "jobs",
    "runs",
    *_SOMETIMES,
)
"""Files that other commands than `exanet run` leave, beside tables that have a name of TABLES."""

_COMPARED = ("compared", "settings", "differences")
"""Those of `exanet compare`."""

_REPRODUCED = ("reproduced", "curves")
"""Those of `exanet reproduce`."""

_BRIDGED = ("interfaces", "frame_flows", "frames")
"""Those of `exanet bridge`."""

_ALL_TABLES = (*TABLES, *_OTHER_TABLES, *_COMPARED, *_REPRODUCED, *_BRIDGED)

FILES = frozenset(("report.html", "timeline.html", "run.json", "summary.json", *(f"{name}.parquet" for name in _ALL_TABLES)))
"""Every file that any command publishes."""


def write(
    directory: str | os.PathLike[str],
    results: Mapping[str, Any],
    meta: Mapping[str, Any],
    *,
    tables: Mapping[str, pl.DataFrame] | None = None,
    fresh: bool = False,
) -> Path:
    """Write `results` (Simulator.results()) of the run described by `meta` into `directory`, whole or not at all;
    returns the folder.

    `meta` keys: program (argv), machine (resolved dict), machine_name, ranks, map, compute, mpi, exanet_version, and
    whatever else is worth keeping of the run (started, ...), which goes to run.json; `tables` are those of to_tables(),
    if they are there already; `fresh` as for publish(). Raises InputError when the folder cannot be written.
    """
    directory = Path(directory)
    tables = to_tables(results, meta.get("machine", {})) if tables is None else tables
    files = {f"{name}.parquet": parquet(frame) for name, frame in tables.items()}
    files["run.json"] = json_bytes(_host_facts(results, meta))
    # last: its presence says that the folder is whole
    files["summary.json"] = json_bytes(summarize(results, meta, tables))
    return publish(directory, files, fresh=fresh)


def asked(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Of write()'s `meta` what says what was run: the same for two repeats."""
    return {key: meta[key] for key in _ASKED if key in meta}


def load(directory: str | os.PathLike[str]) -> Run:
    """Read a folder that write() made. Raises InputError when it is missing, incomplete, another command's or of
    another format."""
    directory = Path(directory)
    try:
        if (found := commands(directory)) and "run" not in found:
            table = next((name for name in MARKS.get(found[0], ()) if (directory / name).exists()), "summary.json")
            raise InputError(f"{directory}: results of exanet {found[0]}, not of exanet run; read its tables by themselves, first {table}")
        summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
        run = json.loads((directory / "run.json").read_text(encoding="utf-8"))
        if summary.get("format") != FORMAT:
            raise InputError(f"{directory}: results of format {summary.get('format')}; this exanet reads format {FORMAT}: run it again")
        names = (*TABLES, *(name for name in _SOMETIMES if (directory / f"{name}.parquet").exists()))
        return Run(summary=summary, run=run, **{name: pl.read_parquet(directory / f"{name}.parquet") for name in names})
    except FileNotFoundError as error:
        raise InputError(f"{directory}: not a result folder, {Path(error.filename or '').name} is missing") from error
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{directory}: cannot read the results: {error}") from error


# -- tables ------------------------------------------------------------------------------------------------------------


def to_tables(results: Mapping[str, Any], machine: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The frames of TABLES, rows in an order that depends on nothing but their content; `machine` is the resolved
    description."""
    topology, virtual_ps = results["topology"], int(results["summary"]["virtual_ps"])
    nodes = _nodes(topology)
    ranks = _frame(results["ranks"]).sort("rank")
    return {
        "ranks": ranks.with_columns(_pick("node_name", nodes["name"], ranks["node"])),
        "nodes": nodes,
        "links": _links(results["links"], topology, nodes, virtual_ps),
        "pairs": _frame(results["pairs"]).sort("src", "dst"),
        "messages": _messages(results["messages"]),
        "message_sizes": _frame(results["message_sizes"]).sort("lower_bytes"),
        "latency": _latency(results),
        "timeline": _timeline(results["timeline"], virtual_ps),
        "mpi_calls": _mpi_calls(results["mpi_calls"]),
        "energy": energy.frame(energy.table(machine, results["links"], time_ps=virtual_ps, **_delivered(results))),
        **({"faults": fault_table(results["faults"])} if "faults" in results else {}),
        **({"fault_costs": _fault_costs(results, virtual_ps)} if "fault_intervals" in results else {}),
        **{name: results[name] for name in ("calls", "critical_path") if name in results},
        **({"gateways": gateways.table(results["gateways"], nodes["name"], virtual_ps)} if "gateways" in results else {}),
    }


def fault_table(faults: Mapping[str, Any]) -> pl.DataFrame:
    """A row for each node or link that failed or came back, in the order of time."""
    texts = ("kind", "what")
    frame = _frame({name: values for name, values in faults.items() if name not in texts})
    known = [pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in AWARENESS if name in frame.columns]
    return frame.with_columns(*known).with_columns(
        pl.col("up").cast(pl.Boolean), *(pl.Series(name, [str(value) for value in faults[name]], pl.String) for name in texts)
    )


def _fault_costs(results: Mapping[str, Any], virtual_ps: int) -> pl.DataFrame:
    """A row for each interval between changes: what was lost, sent again and waited for in it, and what began it."""
    frame = _frame(results["fault_intervals"])
    frame = frame.with_columns(pl.col("from_ps").shift(-1, fill_value=max(virtual_ps, *frame["from_ps"])).alias("to_ps"))
    changes = fault_table(results["faults"]).group_by("time_ps", maintain_order=True).agg(pl.col("what").first(), pl.len().alias("changes"))
    frame = frame.join(changes, left_on="from_ps", right_on="time_ps", how="left", maintain_order="left")
    counts = [name for name in frame.columns if name not in ("from_ps", "to_ps", "what", "changes")]
    return frame.select("from_ps", "to_ps", pl.col("what").fill_null(""), pl.col("changes").fill_null(0).cast(pl.Int64), *counts)


def _delivered(results: Mapping[str, Any]) -> dict[str, int]:
    """Packets that crossed the network, and their payload: that of messages where the simulator does not count it."""
    total = results["summary"]
    return {"packets": int(total["packets"]), "payload_bytes": int(total.get("payload_bytes", total["bytes"]))}


def _frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Counts become signed, so that a reader may subtract them; a tag uses all of its 64 bits."""
    return pl.DataFrame({name: pl.Series(np.asarray(values), dtype=_type(name, values)) for name, values in columns.items()})


def _type(name: str, values: Any) -> type[pl.DataType]:
    if np.asarray(values).dtype.kind == "f" and len(values):
        return pl.Float64
    return pl.UInt64 if name == "tag" else pl.Int64


def _pick(name: str, names: Sequence[str] | pl.Series, index: pl.Series) -> pl.Series:
    """A column of names, by their index."""
    return pl.Series(name, names, pl.String).gather(index)


def _nodes(topology: Mapping[str, Any]) -> pl.DataFrame:
    position = np.asarray(topology["position"], dtype=np.float64).reshape(-1, 3)
    names = [str(name) for name in topology["node_name"]]
    return pl.DataFrame(
        {"node": np.arange(len(names), dtype=np.int64), "name": names, "x": position[:, 0], "y": position[:, 1], "z": position[:, 2]},
        schema_overrides={"name": pl.String},
    )


def _links(links: Mapping[str, Any], topology: Mapping[str, Any], nodes: pl.DataFrame, virtual_ps: int) -> pl.DataFrame:
    frame = _frame(links)
    return frame.with_columns(
        _pick("node_name", nodes["name"], frame["node"]),
        _pick("to_node_name", nodes["name"], frame["to_node"]),
        pl.Series("port_name", [str(name) for name in topology["port_name"]], pl.String),
        (pl.col("busy_ps") * (100.0 / virtual_ps) if virtual_ps else pl.lit(0.0)).alias("use_percent"),
    ).sort("node", "port")


def _messages(messages: Mapping[str, Any]) -> pl.DataFrame:
    frame = _frame(messages)
    return frame.with_columns(_pick("protocol", PROTOCOLS, frame["protocol"])).sort(
        "posted_ps", "src", "dst", "tag", "bytes", "delivered_ps"
    )


def _latency(results: Mapping[str, Any]) -> pl.DataFrame:
    parts = [_frame(results[f"{kind}_latency"]).insert_column(0, pl.lit(kind).alias("kind")) for kind in ("packet", "message")]
    bounds = [pl.col("lower_ns").cast(pl.Float64), pl.col("upper_ns").cast(pl.Float64), pl.col("count").cast(pl.Int64)]
    return pl.concat([part.with_columns(bounds) for part in parts]).filter(pl.col("count") > 0).sort("kind", "lower_ns")


def _timeline(timeline: Mapping[str, Any], virtual_ps: int) -> pl.DataFrame:
    """One row a rank and bin, from 0 to the end of the run. The last bin is cut there, so that shares of its time
    stay right."""
    given, bin_ps = np.shape(timeline["wait_ps"]), int(timeline["bin_ps"])
    ranks, measured = given if len(given) == 2 else (0, 0)
    # The simulator's bins end with the last one that something happened in; a run that computes on is longer.
    fold = 1
    while -(-virtual_ps // (bin_ps * fold)) > MOST_BINS:
        fold *= 2
    bin_ps *= fold
    bins = -(-virtual_ps // bin_ps)
    start = np.arange(bins, dtype=np.int64) * bin_ps
    columns = {
        "rank": np.repeat(np.arange(ranks, dtype=np.int64), bins),
        "start_ps": np.tile(start, ranks),
        "end_ps": np.tile(np.minimum(start + bin_ps, virtual_ps), ranks),
    }
    # The simulator may split the time outside of waiting further; what it splits is passed on.
    for name in ("wait_ps", "library_ps", "sent_bytes"):
        if name in timeline:
            values, kept = np.zeros((ranks, bins), dtype=np.int64), min(measured, bins * fold)
            if kept:
                folded = np.add.reduceat(np.asarray(timeline[name], dtype=np.int64)[:, :kept], np.arange(0, kept, fold), axis=1)
                values[:, : folded.shape[1]] = folded
            columns[name] = values.reshape(-1)
    return pl.DataFrame(columns)


def _mpi_calls(calls: Mapping[str, Any]) -> pl.DataFrame:
    frame = _frame({name: values for name, values in calls.items() if name != "names"})
    return frame.with_columns(_pick("call", calls["names"], frame["call"])).sort("rank", "call")


# -- headline ----------------------------------------------------------------------------------------------------------


def summarize(results: Mapping[str, Any], meta: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """The content of summary.json: a pure function of the simulation."""
    total, ranks, links = results["summary"], tables["ranks"], tables["links"]
    hottest = links.filter(pl.col("packets") > 0).sort(["busy_ps", "node", "port"], descending=[True, False, False]).head(HOTTEST_LINKS)
    busiest = ("node_name", "port_name", "to_node_name", "use_percent", "packets", "payload_bytes", "busy_ps", "waited_ps")
    machine = meta.get("machine", {})
    after = ranks.with_columns(after_ps=pl.col("virtual_ps") - pl.col("last_call_ps"))
    return {
        "format": FORMAT,
        "complete": bool(total["complete"]),
        "reason": str(total.get("reason", "")),
        "virtual_ps": int(total["virtual_ps"]),
        "messages": int(total["messages"]),
        "message_bytes": int(total["bytes"]),
        "packets": int(total["packets"]),
        "packet_hops": int(total["packet_hops"]),
        "events": int(total["events"]),
        "cycles": int(total.get("cycles", 0)),
        "reductions": int(total.get("reductions", 0)),
        "page_lookups": int(total.get("page_lookups", 0)),
        "page_walks": int(total.get("page_walks", 0)),
        "messages_dropped": int(results.get("messages_dropped", 0)),
        **{key: int(results[key]) for key in FAULT_COUNTS if key in results},
        **({"dead_ranks": list(total["dead_ranks"])} if "dead_ranks" in total else {}),
        **({"background": dict(results["background"])} if "background" in results else {}),
        **(
            {"segments": int(ranks["segments_sent"].sum()), "stream_bytes": int(ranks["stream_bytes_sent"].sum())}
            if "segments_sent" in ranks.columns
            else {}
        ),
        **(
            {"datagrams": int(ranks["datagrams_sent"].sum()), "datagrams_dropped": int(ranks["datagrams_dropped"].sum())}
            if "datagrams_sent" in ranks.columns
            else {}
        ),
        **({"storage": storage.totals(ranks), "storage_percent": _share(ranks, "storage_ps")} if storage.has(ranks) else {}),
        **({"processor": processors.totals(ranks)} if processors.has(ranks) else {}),
        **({"handlers": handlers.totals(total["handlers"])} if "handlers" in total else {}),
        **({"gateways": tables["gateways"].to_dicts()} if "gateways" in tables else {}),
        "compute_percent": _share(ranks, "compute_ps"),
        "wait_percent": _share(ranks, "wait_ps"),
        "library_percent": _share(ranks, "library_ps"),
        "after_last_call_percent": 0.0 if meta.get("mpi") in _WITHOUT_MPI else _share(after, "after_ps"),
        "clock_reads": int(ranks["clock_reads"].sum()),
        "clock_reads_percent": _share(ranks, "clock_reads_ps"),
        "packet_latency": latency_statistics(tables["latency"], "packet"),
        "message_latency": latency_statistics(tables["latency"], "message"),
        "hottest_links": hottest.select(busiest).to_dicts(),
        "energy": energy.totals(tables["energy"].to_dicts(), _delivered(results)["payload_bytes"]),
        "run": asked(meta),
        "machine_sha256": hashlib.sha256(json.dumps(machine, sort_keys=True, default=plain).encode()).hexdigest(),
        "machine": machine,
        "topology": {key: value for key, value in results["topology"].items() if np.ndim(value) == 0},
        "ranks": ranks.to_dicts(),
        **({"programs": tables["programs"].to_dicts()} if "programs" in tables else {}),
    }


def lasted_ps(ranks: pl.DataFrame) -> pl.Expr:
    """How long each rank took, from its program's start, which a replay may put off."""
    return pl.col("virtual_ps") - pl.col("start_ps") if "start_ps" in ranks.columns else pl.col("virtual_ps")


def _share(ranks: pl.DataFrame, column: str) -> float:
    # As numbers that do not wrap: a rank's time alone may be half of what 64 bits hold.
    whole = float(ranks.select(lasted_ps(ranks).cast(pl.Float64).sum()).item())
    return 100.0 * float(ranks[column].cast(pl.Float64).sum()) / whole if whole else 0.0


def latency_statistics(latency: pl.DataFrame, kind: str) -> dict[str, float | int]:
    """Percentiles of one histogram, interpolated within a bucket; the maximum is the upper edge of the highest
    bucket in use."""
    rows = latency.filter(pl.col("kind") == kind)
    if rows.is_empty():
        return {"count": 0}
    lower, upper, count = (rows[name].to_numpy().astype(np.float64) for name in ("lower_ns", "upper_ns", "count"))
    below = np.concatenate(([0.0], np.cumsum(count)))
    figures: dict[str, float | int] = {"count": int(below[-1])}
    for name, percent in (("p50_ns", 50.0), ("p90_ns", 90.0), ("p99_ns", 99.0)):
        rank = below[-1] * percent / 100.0
        i = min(int(np.searchsorted(below[1:], rank)), len(count) - 1)
        figures[name] = round(float(lower[i] + (upper[i] - lower[i]) * (rank - below[i]) / count[i]), 3)
    figures["max_ns"] = float(upper[-1])
    return figures


def _host_facts(results: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    wall_s, virtual_ps = float(results["summary"].get("wall_s", 0.0)), int(results["summary"]["virtual_ps"])
    return {
        "wall_s": wall_s,
        "slowdown": wall_s * 1e12 / virtual_ps if virtual_ps else None,
        "host_system": host.system(),
        "host_cores": os.cpu_count(),
        **{key: value for key, value in meta.items() if key not in _ASKED and key != "machine"},
    }


# -- files -------------------------------------------------------------------------------------------------------------


def publish(directory: Path, files: Mapping[str, bytes], *, fresh: bool = False) -> Path:
    """Fill a folder beside `directory`, then rename it there; in a folder that is there already, rename file by file,
    summary.json last.

    What an earlier run has left there and this one does not write is removed; files that no command publishes stay.
    With `fresh` nothing is written into a folder that is there: when another run has taken `directory` (NAME-1)
    meanwhile, it is the next free number. Returns the folder. Raises InputError; then earlier results are as they were,
    or have no summary.json.
    """
    while fresh and directory.exists():
        directory = _next_number(directory)
    there = directory.is_dir()
    # Of a long name only a part: the whole of it may leave no space for more.
    beside = directory / f".new.{os.getpid()}" if there else directory.absolute().with_name(f".{directory.name[:40]}.{os.getpid()}")
    try:
        beside.mkdir(parents=True)
        for name, content in files.items():
            (beside / name).write_bytes(content)
        if not there:
            return _rename(beside, directory, fresh)
        # Until the new summary.json is there (it comes last), a reader sees that the folder is not whole.
        (directory / "summary.json").unlink(missing_ok=True)
        for name in files:
            if name != "summary.json":
                (beside / name).replace(directory / name)
        for name in FILES - files.keys():
            (directory / name).unlink(missing_ok=True)
        (beside / "summary.json").replace(directory / "summary.json")
        return directory
    except OSError as error:
        raise InputError(f"cannot write the results to {directory}: {why(error)}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _rename(beside: Path, directory: Path, fresh: bool) -> Path:
    while True:
        try:
            beside.rename(directory)
            return directory
        except OSError as error:
            # Another run has been faster.
            if not fresh or error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
            directory = _next_number(directory)


def _next_number(directory: Path) -> Path:
    stem, _, number = directory.name.rpartition("-")
    return directory.with_name(f"{stem}-{int(number) + 1}")
