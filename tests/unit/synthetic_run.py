# SPDX-License-Identifier: Apache-2.0
"""Makes up what Simulator.results() returns: a halo exchange of ranks in a cube on QFDBs in a torus, so that results
and report can be tested without a simulator. Figures are plausible, not right."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

CORES, MPSOCS = 4, 4
VIRTUAL_PS = 48_300_000_000
BIN_PS = 250_000_000


def _torus(shape: tuple[int, int, int]) -> tuple[dict[str, Any], dict[tuple[int, int], int], dict[str, list[Any]]]:
    """Topology block, {(node, to): row} and the link columns that do not count anything."""
    qfdbs = [(x, y, z) for z in range(shape[2]) for y in range(shape[1]) for x in range(shape[0])]
    index = {q: i for i, q in enumerate(qfdbs)}
    corner = ((0.0, 0.0), (0.3, 0.0), (0.0, 0.3), (0.3, 0.3))
    names = [f"qfdb({x},{y},{z}).F{m + 1}" for x, y, z in qfdbs for m in range(MPSOCS)]
    position = np.array([(x + corner[m][0], y + corner[m][1], z) for x, y, z in qfdbs for m in range(MPSOCS)])
    columns: dict[str, list[Any]] = {key: [] for key in ("node", "port", "link_class", "to_node")}
    ports: list[str] = []
    row: dict[tuple[int, int], int] = {}

    def add(node: int, port: int, link_class: int, to: int, name: str) -> None:
        row.setdefault((node, to), len(ports))
        for key, value in zip(columns, (node, port, link_class, to), strict=True):
            columns[key].append(value)
        ports.append(name)

    for q, i in index.items():
        for m in range(MPSOCS):
            for k, other in enumerate(o for o in range(MPSOCS) if o != m):
                add(i * MPSOCS + m, k, 0, i * MPSOCS + other, f"F{other + 1}")
        for axis in range(3):
            for side, step in (("+", 1), ("-", -1)):
                to = list(q)
                to[axis] = (to[axis] + step) % shape[axis]
                if shape[axis] > (1 if side == "+" else 2):
                    add(i * MPSOCS, 3 + len(ports) % 6, 1, index[to[0], to[1], to[2]] * MPSOCS, "XYZ"[axis] + side)
    topology = {"nodes": len(names), "node_name": names, "position": position, "port_name": ports, "hops": {"mean": 3.2}}
    return topology, row, columns


def _path(src: int, dst: int, shape: tuple[int, int, int]) -> list[int]:
    """Nodes on the way: to the QFDB's network MPSoC, x, y, z, then to the node."""

    def split(node: int) -> list[int]:
        q = node // MPSOCS
        return [q % shape[0], q // shape[0] % shape[1], q // (shape[0] * shape[1])]

    at, end = split(src), split(dst)
    way = [src]
    if at != end and src % MPSOCS:
        way.append(src - src % MPSOCS)
    for axis in range(3):
        while at[axis] != end[axis]:
            forward = (end[axis] - at[axis]) % shape[axis]
            at[axis] = (at[axis] + (1 if forward * 2 <= shape[axis] else -1)) % shape[axis]
            way.append(((at[2] * shape[1] + at[1]) * shape[0] + at[0]) * MPSOCS)
    if way[-1] != dst:
        way.append(dst)
    return way


def _pairs(side: int) -> Counter[tuple[int, int]]:
    """Messages between ranks: six neighbours in a periodic cube, and a reduction tree."""
    found: Counter[tuple[int, int]] = Counter()
    for rank in range(side**3):
        at = (rank % side, rank // side % side, rank // side**2)
        for axis in range(3):
            for step in (1, -1):
                to = list(at)
                to[axis] = (to[axis] + step) % side
                other = (to[2] * side + to[1]) * side + to[0]
                if other != rank:
                    found[rank, other] += 1200
        bit = 1
        while bit < side**3:
            if rank ^ bit < side**3:
                found[rank, rank ^ bit] += 40
            bit *= 2
    return found


def _latency(middle_ns: float, count: int, rng: np.random.Generator) -> dict[str, Any]:
    edges = 200 * 2 ** (np.arange(120) / 8)
    counts, _ = np.histogram(rng.lognormal(np.log(middle_ns), 0.5, 20000) + 350, bins=edges)
    return {"lower_ns": edges[:-1], "upper_ns": edges[1:], "count": (counts * (count / 20000)).astype(np.int64)}


def _timeline(ranks: int, rng: np.random.Generator) -> dict[str, Any]:
    bins = -(-VIRTUAL_PS // BIN_PS)
    phase = 0.35 + 0.25 * np.sin(np.arange(bins) / 7) ** 8 + np.where(np.arange(bins) < 12, 0.3, 0.0)
    load = 0.12 * np.sin(np.arange(ranks) * 2 * np.pi / max(ranks, 1))[:, None]
    share = np.clip(phase[None, :] + load + rng.normal(0, 0.03, (ranks, bins)), 0, 1)
    sent = (1 - share) * 90_000
    return {"bin_ps": BIN_PS, "wait_ps": (share * BIN_PS).astype(np.uint64), "sent_bytes": sent.astype(np.uint64)}


def synthetic_run(side: int = 4, shape: tuple[int, int, int] = (4, 4, 2), seed: int = 1) -> dict[str, Any]:
    """side**3 ranks, four a node, on shape QFDBs."""
    rng, ranks = np.random.default_rng(seed), side**3
    topology, row, links = _torus(shape)
    pairs = _pairs(side)
    messages = np.array(list(pairs.values()), dtype=np.int64)
    sent_bytes = messages * 3100
    counted = {key: np.zeros(len(topology["port_name"]), dtype=np.int64) for key in ("packets", "payload_bytes", "busy_ps", "waited_ps")}
    for (sender, receiver), size in zip(pairs, sent_bytes, strict=True):
        way = _path(sender // CORES, receiver // CORES, shape)
        for here, there in pairwise(way):
            link = row[here, there]
            counted["payload_bytes"][link] += size
            counted["packets"][link] += size // 220
            counted["busy_ps"][link] += size * 520
            counted["waited_ps"][link] += size * 310
    timeline = _timeline(ranks, rng)
    wait = timeline["wait_ps"].sum(axis=1).astype(np.int64)
    library = (rng.uniform(0.05, 0.08, ranks) * VIRTUAL_PS).astype(np.int64)
    src, dst = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    by = {"messages_sent": (src, messages), "bytes_sent": (src, sent_bytes)}
    by |= {"messages_received": (dst, messages), "bytes_received": (dst, sent_bytes)}
    names = ["MPI_Wait", "MPI_Send", "MPI_Irecv", "MPI_Allreduce", "MPI_Bcast", "MPI_Sendrecv", "MPI_Barrier"]
    weight = np.array([0.55, 0.12, 0.02, 0.2, 0.05, 0.04, 0.02])
    upper = 2 ** np.arange(15)
    lower = np.where(upper == 1, 0, upper // 2 + 1)
    sizes = np.array([0, 0, 0, 2100, 400, 80, 0, 300, 0, 2500, 16000, 34000, 21000, 700, 0]) * (ranks // 8 + 1)
    kept = 500
    posted = np.sort(rng.integers(0, VIRTUAL_PS, kept))
    return {
        "summary": {
            "virtual_ps": VIRTUAL_PS, "events": 9_112_004, "packet_hops": int(counted["packets"].sum()),
            "packets": int(sent_bytes.sum() // 220),
            "messages": int(messages.sum()), "bytes": int(sent_bytes.sum()), "wall_s": 6.25, "complete": True, "reason": "",
        },
        "ranks": {
            "rank": np.arange(ranks), "node": np.arange(ranks) // CORES, "virtual_ps": np.full(ranks, VIRTUAL_PS),
            "compute_ps": VIRTUAL_PS - wait - library, "wait_ps": wait, "library_ps": library,
            "clock_reads": np.zeros(ranks, dtype=np.int64), "clock_reads_ps": np.zeros(ranks, dtype=np.int64),
            "last_call_ps": np.full(ranks, VIRTUAL_PS - VIRTUAL_PS // 1000),
            **{key: np.bincount(index, values, ranks).astype(np.int64) for key, (index, values) in by.items()},
            "rma_ops": np.zeros(ranks, dtype=np.int64), "rma_bytes": np.zeros(ranks, dtype=np.int64),
        },
        "links": {**{key: np.array(values) for key, values in links.items()}, **counted},
        "pairs": {"src": src, "dst": dst, "messages": messages, "bytes": sent_bytes},
        "message_sizes": {"lower_bytes": lower, "upper_bytes": upper, "messages": sizes, "bytes": sizes * (lower + upper) // 2},
        "packet_latency": _latency(900, int(sent_bytes.sum() // 220), rng),
        "message_latency": _latency(4200, int(messages.sum()), rng),
        "timeline": timeline,
        "mpi_calls": {
            "rank": np.repeat(np.arange(ranks), len(names)), "call": np.tile(np.arange(len(names)), ranks), "names": names,
            "calls": np.tile((weight * 9000).astype(np.int64), ranks),
            "time_ps": np.outer(wait + library, weight).astype(np.int64).reshape(-1),
        },
        "messages": {
            "src": rng.integers(0, ranks, kept), "dst": rng.integers(0, ranks, kept), "bytes": rng.integers(0, 9000, kept),
            "tag": rng.integers(0, 9, kept), "protocol": rng.integers(0, 2, kept), "posted_ps": posted, "delivered_ps": posted + 3_000_000,
        },
        "messages_dropped": int(messages.sum()) - kept,
        "topology": topology,
    }  # fmt: skip


def synthetic_meta(ranks: int = 64) -> dict[str, Any]:
    return {
        "program": ["lmp", "-in", "in.lj"], "machine": {"name": "exanest", "cores_per_node": CORES}, "machine_name": "exanest",
        "ranks": ranks,
        "map": "linear", "compute": "measured", "mpi": "MPICH 5.0.2", "exanet_version": "0.1.0", "started": "2026-03-01T12:00:00Z",
    }  # fmt: skip
