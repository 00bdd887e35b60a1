# SPDX-License-Identifier: Apache-2.0
"""Which ranks the communicators of a DUMPI trace have.

Problem: each rank numbers communicators for itself, and says of a split only its own colour and key. Model: the calls
that make communicators are matched across ranks, the first on a communicator with the first of its other members and so
on; groups are worked out rank by rank. Limits: communicators of two groups (MPI_Intercomm_create) are refused; a
Cartesian grid has the first ranks in their order, though MPI may have given them others.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from exanet.trace.dumpi.file import Call, DumpiFile

NO_COMM, WORLD, SELF = 1, 2, 3
MAKING = ("Comm_dup", "Comm_create", "Comm_split", "Cart_create", "Cart_sub", "Graph_create")
GROUPS = (
    *("Comm_group", "Group_incl", "Group_excl", "Group_range_incl", "Group_range_excl"),
    *("Group_union", "Group_intersection", "Group_difference"),
)
_NO_GROUP, _EMPTY = 1, 2


@dataclass(eq=False)
class Communicator:
    """Its members are ranks of MPI_COMM_WORLD; `grid` are the sizes of a Cartesian one."""

    members: tuple[int, ...]
    grid: tuple[int, ...] = ()


@dataclass
class _Rank:
    file: DumpiFile
    left: deque[Call]  # calls that make groups and communicators, not yet worked out
    known: dict[int, Communicator]
    groups: dict[int, tuple[int, ...]] = field(default_factory=dict)
    made: dict[int, Communicator | None] = field(default_factory=dict)  # by the call's place in the file
    turns: dict[Communicator, int] = field(default_factory=lambda: defaultdict(int))


def found(files: Sequence[DumpiFile], calls: Iterable[Iterable[Call]]) -> list[dict[int, Communicator | None]]:
    """What each call of MAKING has made, by rank and place in the file; None: the rank is no member.

    Args:
        files: The ranks' files.
        calls: Of each rank those of MAKING and GROUPS.

    Raises InputError.
    """
    world = Communicator(tuple(range(len(files))))
    ranks = [
        _Rank(file, deque(each), {WORLD: world, SELF: Communicator((rank,))})
        for rank, (file, each) in enumerate(zip(files, calls, strict=True))
    ]
    waiting: dict[tuple[Communicator, int], dict[int, Call]] = defaultdict(dict)
    ready = deque(range(len(ranks)))
    while ready:
        rank = ready.popleft()
        key = _advance(ranks[rank])
        if key is None:
            continue
        waiting[key][rank] = ranks[rank].left[0]
        if len(waiting[key]) == len(key[0].members):
            _make(ranks, key[0], waiting.pop(key))
            ready.extend(key[0].members)
    for each in ranks:
        if each.left:
            call = each.left[0]
            raise each.file.wrong(call.at, f"MPI_{call.name} is not called by all members of its communicator; record the program anew")
    return [each.made for each in ranks]


def _advance(rank: _Rank) -> tuple[Communicator, int] | None:
    """Works groups out, up to the next communicator that is made: of what, and the how many-th."""
    while rank.left:
        call = rank.left[0]
        if call.name in MAKING:
            parent = _known(rank, call)
            return parent, rank.turns[parent]
        _group(rank, call)
        rank.left.popleft()
    return None


def _known(rank: _Rank, call: Call) -> Communicator:
    number = call.fields["comm"]
    if number not in rank.known:
        raise rank.file.wrong(call.at, f"MPI_{call.name} on communicator {number}, which no call that is read has made")
    return rank.known[number]


def _make(ranks: Sequence[_Rank], parent: Communicator, calls: dict[int, Call]) -> None:
    """Of all members of `parent`."""
    names = {call.name for call in calls.values()}
    if len(names) > 1:
        rank, call = min(calls.items())
        other = next(name for name in sorted(names) if name != call.name)
        raise ranks[rank].file.wrong(call.at, f"MPI_{call.name}, where another rank has MPI_{other}; record the program anew")
    parts: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
    grids: dict[Any, tuple[int, ...]] = {}
    for place, rank in enumerate(parent.members):
        call = calls[rank]
        if call.fields["new"] > NO_COMM:
            part, key, grid = _part(ranks[rank], parent, call, place)
            parts[part].append((key, place, rank))
            grids[part] = grid
    new = {part: Communicator(tuple(rank for _, _, rank in sorted(members)), grids[part]) for part, members in parts.items()}
    of_rank = {rank: made for made in new.values() for rank in made.members}
    for rank in parent.members:
        call, made, each = calls[rank], of_rank.get(rank), ranks[rank]
        each.left.popleft()
        each.made[call.at] = made
        each.turns[parent] += 1
        if made is not None:
            each.known[call.fields["new"]] = made


def _part(rank: _Rank, parent: Communicator, call: Call, place: int) -> tuple[Any, int, tuple[int, ...]]:
    """Which of the new communicators the rank is in, its key there, and the sizes of a grid."""
    fields = call.fields
    if call.name == "Comm_split":
        return fields["color"], fields["key"], ()
    if call.name == "Comm_create":
        group = rank.groups.get(fields["group"], ())
        mine = parent.members[place]
        if mine not in group:
            raise rank.file.wrong(
                call.at, f"MPI_Comm_create makes communicator {fields['new']} of group {fields['group']}, which it is not in"
            )
        return group, group.index(mine), ()
    if call.name == "Cart_create":
        return 0, place, tuple(fields["sizes"])
    if call.name == "Cart_sub":
        return _of_grid(rank, parent, call, place)
    return 0, place, parent.grid


def _of_grid(rank: _Rank, parent: Communicator, call: Call, place: int) -> tuple[Any, int, tuple[int, ...]]:
    """Members whose places differ in no dimension but those that are kept."""
    kept = call.fields["kept"]
    if len(kept) != len(parent.grid) or prod(parent.grid) != len(parent.members):
        raise rank.file.wrong(call.at, "MPI_Cart_sub of a communicator that is no grid of so many dimensions; record the program anew")
    places = []
    for size in reversed(parent.grid):
        place, here = divmod(place, size)
        places.append(here)
    there = tuple(reversed(places))
    part = tuple(here for here, keeps in zip(there, kept, strict=True) if not keeps)
    key = 0
    for here, size, keeps in zip(there, parent.grid, kept, strict=True):
        key = key * size + here if keeps else key
    return part, key, tuple(size for size, keeps in zip(parent.grid, kept, strict=True) if keeps)


def _group(rank: _Rank, call: Call) -> None:
    fields = call.fields
    if call.name == "Comm_group":
        rank.groups[fields["group"]] = _known(rank, call).members
        return
    first = rank.groups.get(fields["group"], ())
    if call.name in ("Group_incl", "Group_excl", "Group_range_incl", "Group_range_excl"):
        places = fields["ranks"] if "ranks" in fields else [place for each in fields["ranges"] for place in _range(rank, call, each)]
        if any(not 0 <= place < len(first) for place in places):
            raise rank.file.wrong(call.at, f"MPI_{call.name} names ranks that group {fields['group']} has not; record the program anew")
        chosen = set(places)
        made = [first[place] for place in places] if call.name.endswith("incl") else [r for p, r in enumerate(first) if p not in chosen]
    else:
        second = rank.groups.get(fields["group2"], ())
        inside = set(second)
        if call.name == "Group_union":
            made = [*first, *(each for each in second if each not in first)]
        else:
            made = [each for each in first if (each in inside) == (call.name == "Group_intersection")]
    rank.groups[fields["new"]] = tuple(made)


def _range(rank: _Rank, call: Call, ends: Sequence[int]) -> range:
    if len(ends) != 3 or ends[2] == 0:
        raise rank.file.wrong(call.at, f"MPI_{call.name} with a range that has no first, last and step; record the program anew")
    first, last, step = ends
    return range(first, last + (1 if step > 0 else -1), step)
