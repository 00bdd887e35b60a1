# SPDX-License-Identifier: Apache-2.0
"""Folders of results: tables, summary, and the page that shows them. docs/results.md says what each file holds."""

from exanet.results.folder import (
    FILES,
    MOST_BINS,
    TABLES,
    Run,
    asked,
    fault_table,
    latency_statistics,
    load,
    publish,
    summarize,
    to_tables,
    write,
)

__all__ = [
    "FILES",
    "MOST_BINS",
    "TABLES",
    "Run",
    "asked",
    "fault_table",
    "latency_statistics",
    "load",
    "publish",
    "summarize",
    "to_tables",
    "write",
]
