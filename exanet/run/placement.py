# SPDX-License-Identifier: Apache-2.0
"""Puts ranks on nodes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from exanet.errors import InputError
from exanet.quantity import counted

KINDS = "linear, round-robin, random, random:SEED, networks (half of the ranks on each of two), or a file with a node number a line"
REPLAY_KINDS = KINDS.replace("round-robin", "round-robin, switch, node")
"""Of a replay: those of jobs (exanet sim jobs), too."""


def place(
    mapping: str,
    *,
    ranks: int,
    nodes: int,
    cores_per_node: int,
    seed: int = 1,
    kinds: str = KINDS,
    networks: Sequence[Sequence[int]] | None = None,
) -> list[int]:
    """The node of each rank.

    linear fills the cores of a node before it goes on to the next; round-robin gives one rank to each node in turn;
    random deals the ranks to cores drawn at random, always the same for the same `seed`, or for SEED in its place
    (random:SEED); networks halves the ranks among the `networks` of a machine whose networks gateways join, one to each
    node in turn; anything else names a file. `networks` are lists of the nodes on which ranks may run, by default all.
    `kinds` are those that an error names. Raises InputError.
    """
    usable = range(nodes) if networks is None else [node for own in networks for node in own]
    cores = len(usable) * cores_per_node
    check("--map ''", mapping, kinds)
    if ranks < 1:
        raise InputError(f"-n {ranks}: a run has at least one rank")
    if ranks > cores:
        raise InputError(
            f"-n {ranks}: the machine has {counted(cores, 'core')} ({counted(len(usable), 'node')} of {cores_per_node}); "
            f"ask for at most {counted(cores, 'rank')}"
        )
    if mapping == "linear":
        return [usable[rank // cores_per_node] for rank in range(ranks)]
    if mapping == "round-robin":
        return [usable[rank % len(usable)] for rank in range(ranks)]
    if mapping.partition(":")[0] == "random":
        order = list(range(cores))
        random.Random(seed_of(mapping, seed)).shuffle(order)
        return [usable[core // cores_per_node] for core in order[:ranks]]
    if mapping == "networks":
        return _halved(ranks, networks, cores_per_node)
    placed = _from_file(Path(mapping), ranks=ranks, nodes=nodes, cores_per_node=cores_per_node, kinds=kinds)
    elsewhere = [rank for rank, node in enumerate(placed) if networks is not None and node not in usable]
    if elsewhere:
        on = f"rank {elsewhere[0]} is on node {placed[elsewhere[0]]}, a gateway's, on which no rank runs"
        raise InputError(f"--map {mapping}: {on}; put it elsewhere")
    return placed


def _halved(ranks: int, networks: Sequence[Sequence[int]] | None, cores_per_node: int) -> list[int]:
    """The first half of the ranks on the first network, the others on the second. Raises InputError."""
    if networks is None or len(networks) < 2:
        raise InputError("--map networks: this machine is one network; give another placement, e.g. --map round-robin")
    placed: list[int] = []
    for which, own, count in zip(("first", "second"), networks, (ranks - ranks // 2, ranks // 2), strict=True):
        if count > len(own) * cores_per_node:
            raise InputError(
                f"--map networks: the {which} network has {counted(len(own) * cores_per_node, 'core')} on nodes that are no gateway's, "
                f"and {counted(count, 'rank')} of the run are to be there; ask for fewer ranks, or give another placement"
            )
        placed += [own[rank % len(own)] for rank in range(count)]
    return placed


def seed_of(mapping: str, seed: int) -> int:
    """The seed of random:SEED, else `seed`. Raises InputError."""
    _, colon, given = mapping.partition(":")
    if not colon:
        return seed
    if not (given.isascii() and given.isdecimal()) or len(given) > 20 or int(given) >= 1 << 64:
        raise InputError(f"--map {mapping}: give the seed as a whole number from 0 to 2^64 - 1, e.g. random:1, or --map random and --seed")
    return int(given)


def check(what: str, mapping: str, kinds: str = KINDS) -> None:
    """Raises InputError on an empty one."""
    if not mapping.strip():
        raise InputError(f"{what}: it is empty; give {kinds}")


def _from_file(path: Path, *, ranks: int, nodes: int, cores_per_node: int, kinds: str) -> list[int]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file"
        raise InputError(f"--map {path}: {why}; give {kinds}") from None
    problems: list[str] = []
    placed: list[int] = []
    used: Counter[int] = Counter()
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if not text.isdecimal() or int(text) >= nodes:
            problems.append(f"{path}:{number}:1: error: {text!r} is not a node; give a number from 0 to {nodes - 1}")
            continue
        node = int(text)
        used[node] += 1
        if used[node] == cores_per_node + 1:
            problems.append(f"{path}:{number}:1: error: node {node} has only {cores_per_node} cores; put this rank elsewhere")
        placed.append(node)
    if not problems and len(placed) < ranks:
        found = f"{counted(len(placed), 'rank')} {'is' if len(placed) == 1 else 'are'} placed" if lines else "the file is empty"
        problems.append(f"{path}:{max(len(lines), 1)}:1: error: {found}, the run has {counted(ranks, 'rank')}; add a line for each rank")
    if problems:
        raise InputError(problems)
    return placed[:ranks]
