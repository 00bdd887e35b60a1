# SPDX-License-Identifier: Apache-2.0
"""The folder that `exanet sim jobs` leaves behind. docs/simulate.md says what each file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exanet.machine import Machine


def write(
    directory: Path,
    described: Machine,
    what: str,
    found: dict[str, Any],
    rows: list[dict[str, Any]],
    summary: dict[str, Any],
    wall_s: float,
    fresh: bool,
) -> Path:
    """`what` is what the page's title says that they ran on."""
    import polars as pl

    from exanet import results
    from exanet.files import json_bytes, parquet
    from exanet.results import energy, host, report

    messages = [pl.DataFrame(row["message"]).insert_column(0, pl.lit(number).alias("job")) for number, row in enumerate(found["jobs"])]
    tables = {"jobs": pl.DataFrame(rows), "messages": pl.concat(messages), "links": pl.DataFrame(found["links"])}
    if "energy" in found:
        tables["energy"] = energy.frame(found["energy"])
    if "faults" in found:
        tables["faults"] = results.fault_table(found["faults"])
    if "queued" in found:
        tables["queues"] = report.queue_table(found, found["watched_ps"])
    networks, drawings = report.networks(described, [("all jobs", found, found.get("watched_ps", 0))])
    texts = summary["run"]["jobs"]
    columns = (
        "ranks", "rounds", "priority", "finished_ns", "first_finished_ns", "accepted_gbps", "messages", "message_ns",
        "message_p50_ns", "message_p99_ns", "fairness",
    )  # fmt: skip
    page = {
        "title": f"{', '.join(texts)} on {what}",
        "jobs": [[text, *(row[name] for name in columns)] for text, row in zip(texts, rows, strict=True)],
        "messages": [list(row) for row in tables["messages"].iter_rows()],
        "energy": [list(row.values()) for row in found.get("energy", ())],
        "run": summary["run"],
        "networks": networks,
        "drawings": drawings,
    }
    scripts = ("format.js", "parts.js", "machine.js", "network.js", "energy.js", "jobs.js")
    files = {f"{name}.parquet": parquet(frame) for name, frame in tables.items()}
    files["report.html"] = report.fill(str(page["title"]), page, scripts).encode()
    files["run.json"] = json_bytes({"wall_s": wall_s, "cpu_s": found["cpu_s"], "host_system": host.system()})
    files["summary.json"] = json_bytes({**summary, "machine": described.resolve(), "jobs": rows})
    return results.publish(directory, files, fresh=fresh)
