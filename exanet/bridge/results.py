# SPDX-License-Identifier: Apache-2.0
"""What a bridge has carried: its tables on the terminal, and the folder that it leaves (docs/bridge.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from exanet import background_traffic, results, terminal
from exanet.bridge.options import Options, Tap
from exanet.files import json_bytes, parquet
from exanet.machine import Machine
from exanet.quantity import bytes_text, count_text, time_text
from exanet.release import version
from exanet.results import host

_OF_THE_HOST = ("wall_s", "cpu_s", "waited_s", "lag_ns", "lag_p50_ns", "lag_p99_ns", "lag_p999_ns", "lag_most_ns")
_DROPS = ("transmit_drops", "receive_drops", "lost", "malformed", "unaddressed")


def interfaces(found: dict[str, Any], taps: Sequence[Tap]) -> pl.DataFrame:
    """A row for each interface."""
    named = pl.DataFrame(
        {
            "interface": [tap.name for tap in taps],
            "node": pl.Series([tap.node for tap in taps], dtype=pl.Int64),
            "netns": [tap.namespace for tap in taps],
            "mac": [tap.mac for tap in taps],
            "address": [tap.address for tap in taps],
            "mtu_bytes": [tap.mtu for tap in taps],
        }
    )
    return named.hstack(pl.DataFrame({name: pl.Series(values, dtype=pl.Int64) for name, values in found["devices"].items()}))


def flows(found: dict[str, Any], taps: Sequence[Tap]) -> pl.DataFrame:
    """A row for each pair of interfaces that has exchanged frames."""
    rows = [{**row, "from": taps[row["from"]].name, "to": taps[row["to"]].name} for row in found["pairs"]]
    latencies = {f"latency_{name}ns": pl.Float64 for name in ("least_", "", "p50_", "p99_", "p999_", "most_")}
    return pl.DataFrame(rows, schema={"from": pl.String, "to": pl.String, "frames": pl.Int64, "bytes": pl.Int64, **latencies})


def frames(found: dict[str, Any], taps: Sequence[Tap]) -> pl.DataFrame:
    """A row for each frame, as many as are kept."""
    names = pl.Series([tap.name for tap in taps], dtype=pl.String)
    made = pl.DataFrame({name: pl.Series(values, dtype=pl.Int64) for name, values in found["frames"].items()})
    return made.with_columns(*(names.gather(made[end]).alias(end) for end in ("from", "to")))


def write(directory: Path, described: Machine, options: Options, found: dict[str, Any], fresh: bool) -> Path:
    """The folder: three tables, summary.json and run.json."""
    asked = {
        **described.identity(),
        "taps": list(options.texts),
        "background": options.background,
        "slow": options.slow,
        "ring": options.ring,
        "interrupts_ps": options.interrupts_ps,
        "exanet_version": version(),
    }
    summary = {key: value for key, value in found["summary"].items() if key not in _OF_THE_HOST}
    of_host = {key: found["summary"][key] for key in _OF_THE_HOST}
    beside = {"background": found["background"]} if "background" in found else {}
    pairs = flows(found, options.taps)
    files = {
        "interfaces.parquet": parquet(interfaces(found, options.taps)),
        "frame_flows.parquet": parquet(pairs),
        "frames.parquet": parquet(frames(found, options.taps)),
        "run.json": json_bytes({**of_host, "host_system": host.system()}),
        "summary.json": json_bytes({"run": asked, "machine": described.resolve(), **summary, **beside, "frame_flows": pairs.to_dicts()}),
    }
    return results.publish(directory, files, fresh=fresh)


def show(options: Options, found: dict[str, Any], console: Console) -> None:
    """The tables on the terminal."""
    table = terminal.table("interface", "place", "sent", "taken", *(name.replace("_", " ") for name in _DROPS), "interrupts", left=2)
    devices = found["devices"]
    for i, tap in enumerate(options.taps):
        counts = (count_text(int(devices[name][i])) for name in ("sent", "received", *_DROPS, "interrupts"))
        table.add_row(tap.name, tap.place, *counts)
    console.print(table)
    console.print()
    table = terminal.table("frames", "", "number", "bytes", "least latency", "mean", "99 %", "most", left=2)
    for row in found["pairs"]:
        times = (time_text(1e3 * row[f"latency_{name}ns"]) for name in ("least_", "", "p99_", "most_"))
        ends = (options.taps[row["from"]].name, f"to {options.taps[row['to']].name}")
        table.add_row(*ends, count_text(row["frames"]), bytes_text(row["bytes"]), *times)
    console.print(table)
    console.print()
    for line in lines(options, found):
        console.print(line, highlight=False, soft_wrap=True)


def lines(options: Options, found: dict[str, Any]) -> list[str]:
    """What else is to be said, as sentences."""
    s = found["summary"]
    said = [
        f"{time_text(s['virtual_ps'])} of the network in {s['wall_s']:.1f} s of the host, {s['cpu_s']:.1f} s of its processor; "
        f"frames came {time_text(1e3 * s['lag_ns'])} late on average, 99 % within {time_text(1e3 * s['lag_p99_ns'])} (host's time)"
    ]
    if s["waited_s"] > 0:
        share = 100 * s["waited_s"] / max(s["wall_s"], 1e-9)
        said.append(
            f"the network's clock stood still for {s['waited_s']:.3g} s, {share:.1f} % of the host's time, because the simulator was behind"
        )
    if s["refused"]:
        said.append(f"{count_text(s['refused'])} frames were refused by their interfaces, which were down")
    if (kept := len(found["frames"]["from"])) < s["delivered"]:
        said.append(f"frames.parquet has the first {count_text(kept)} of {count_text(s['delivered'])} frames")
    if note := background_traffic.note(options.background, found):
        said.append(note)
    return said
