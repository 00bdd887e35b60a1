# SPDX-License-Identifier: Apache-2.0
"""Names from the simulator's registries: for help texts, and for pages that list it."""

from __future__ import annotations

from exanet import _core

_REGISTRIES = _core.registries()


def topologies() -> str:
    """Names of the topologies, with commas between them."""
    return ", ".join(entry["name"] for entry in _REGISTRIES["topologies"])


def routings() -> str:
    """Names of the routings."""
    return ", ".join(entry["name"] for entry in _REGISTRIES["routings"])


def patterns(*, messages: bool = True) -> str:
    """Names of the traffic patterns, each with the figure that may follow it, e.g. `incast[:SENDERS]`, or with the
    text that does; without `messages`, those of single packets alone."""
    fitting = [e for e in _REGISTRIES["patterns"] if messages or e["name"] != "flows"]
    behind = ((e["name"], f":{e['figure']}" if e["text"] else f"[:{e['figure']}]" if e["figure"] else "") for e in fitting)
    return ", ".join(name + figure for name, figure in behind)


def programs() -> str:
    """Names of the programs of communication that a job runs."""
    return ", ".join(entry["name"] for entry in _REGISTRIES["programs"])


def flow_sizes() -> str:
    """Names of the distributions of message sizes."""
    return ", ".join(_core.flow_size_names())


def nics() -> str:
    """Names of the network interfaces that a job's ranks send through."""
    return ", ".join(entry["name"] for entry in _REGISTRIES["nics"])


def controls() -> str:
    """Names of the congestion controls of interfaces."""
    return ", ".join(entry["name"] for entry in _REGISTRIES["pacings"])


def mappings() -> str:
    """Names of the mappings of jobs to endpoints."""
    return ", ".join(_core.mapping_names())
