# SPDX-License-Identifier: Apache-2.0
"""Folders of results: tables, summary, and the page that shows them. docs/results.md says what each file holds."""

from exanet.results.folder import (
    FILES,
    MOST_BINS,
    TABLES,
    Run,
    asked,
    json_bytes,
    latency_figures,
    load,
    parquet,
    publish,
    summarize,
    to_tables,
    write,
    write_whole,
)
from exanet.results.long_table import LongTable

__all__ = [
    "FILES",
    "MOST_BINS",
    "TABLES",
    "LongTable",
    "Run",
    "asked",
    "json_bytes",
    "latency_figures",
    "load",
    "parquet",
    "publish",
    "summarize",
    "to_tables",
    "write",
    "write_whole",
]
