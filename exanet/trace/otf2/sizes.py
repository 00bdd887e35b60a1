# SPDX-License-Identifier: Apache-2.0
"""Bytes of collectives: a trace holds vectors and blocks, OTF2 what a rank sends and receives in all, to and from
itself, too.

Sums are Score-P's: of a broadcast the root sends a vector to each rank, of an allreduce each rank does, and so on; what
stays where it is in a call "in place" is not counted. Back from sums to blocks:

- With one size for all ranks the block is the sum by ranks. A sum that does not divide was "in place", and is divided
  by the other ranks.
- MPI_Gatherv, Scatterv, Allgatherv, Reduce_scatter: each rank's own sum is its block, so the ranks together have all of
  them.
- MPI_Alltoallv and Alltoallw: what goes from one rank to another follows from what the one sends and the other
  receives, in proportion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from exanet.trace.layout import BUILT_IN, COMMUTATIVE, IN_PLACE, IS_ROOT

ROOTED = ("Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce")
REDUCTIONS = ("Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan")
BY_RANK = ("Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Alltoallw", "Reduce_scatter")


@dataclass
class Collective:
    """A collective as its record has it; the name is that of the blocking call."""

    name: str
    root: int = 0
    flags: int = 0
    element: int = 0
    sent: int = 0
    received: int = 0
    sent_by_rank: list[int] = field(default_factory=list)
    received_by_rank: list[int] = field(default_factory=list)

    def fields(self, communicator: int, request: int) -> tuple[int, ...]:
        """The fields of its record."""
        lists = [len(self.sent_by_rank), *self.sent_by_rank, len(self.received_by_rank), *self.received_by_rank]
        return communicator, self.root, request, self.flags, self.element, self.sent, self.received, *lists

    @classmethod
    def of(cls, name: str, fields: Sequence[int]) -> Collective:
        """From the fields of a record."""
        count = fields[7]
        flags, element, sent, received = fields[3:7]
        return cls(name, fields[1], flags, element, sent, received, list(fields[8 : 8 + count]), list(fields[9 + count :]))


def totals(c: Collective, ranks: int, me: int) -> tuple[int, int]:
    """Bytes that rank `me` of the communicator sends and receives in all."""
    in_place = c.flags & IN_PLACE != 0
    partners = ranks - in_place
    is_root = me == c.root
    given, taken = sum(c.sent_by_rank), sum(c.received_by_rank)
    own = c.received_by_rank[me] if c.received_by_rank else 0
    match c.name:
        case "Bcast":
            return (ranks * c.sent if is_root else 0), c.sent
        case "Reduce":
            return c.sent, (ranks * c.sent if is_root else 0)
        case "Gather":
            return c.sent, (partners * c.received if is_root else 0)
        case "Gatherv":
            return c.sent, taken - own * in_place
        case "Scatter":
            return ((ranks - (c.received == 0)) * c.sent if is_root else 0), c.received
        case "Scatterv":
            kept = c.sent_by_rank[me] if c.sent_by_rank and c.received == 0 else 0
            return given - kept, c.received
        case "Allreduce":
            return (max(partners, 1) * c.sent,) * 2
        case "Scan":
            return (ranks - me) * c.sent, (me + 1) * c.sent
        case "Exscan":
            return (ranks - me - 1) * c.sent, me * c.sent
        case "Alltoall":
            return (partners if in_place else ranks) * (c.received if in_place else c.sent), partners * c.received
        case "Allgather" | "Reduce_scatter_block":
            return partners * c.received, partners * c.received
        case "Allgatherv":
            return partners * own, taken - own * in_place
        case "Reduce_scatter":
            return taken - own * in_place, partners * own
        case "Alltoallv" | "Alltoallw":
            return (taken - own, taken - own) if in_place else (given, taken)
    return 0, 0


def _flags_and_element(c: Collective, flags: int | None, element: int | None, block: int) -> Collective:
    if flags is not None:
        c.flags = flags
    elif c.name in REDUCTIONS:
        c.flags |= BUILT_IN | COMMUTATIVE
    # Unknown elements are taken to be of eight bytes, or of four.
    c.element = element if element is not None else next((size for size in (8, 4) if block % size == 0), 1) if block else 0
    return c


def from_totals(name: str, ranks: int, me: int, root: int, sent: int, received: int, flags: int | None, element: int | None) -> Collective:
    """The collective whose sums these are, of one size for all ranks; flags and element where they are known."""
    c = Collective(name, root if name in ROOTED and root < ranks else 0)
    is_root = name in ROOTED and root == me
    partners = max(ranks - 1, 1)
    in_place = flags & IN_PLACE != 0 if flags is not None else received % ranks != 0
    each = received // (partners if in_place else ranks)
    match name:
        case "Bcast":
            c.sent = block = received
        case "Reduce":
            c.sent = block = sent or received // partners
        case "Gather":
            block = sent or received // partners
            c.sent, c.received = sent, block if is_root else 0
            c.flags |= IN_PLACE * (is_root and sent == 0 < received)
        case "Scatter":
            block = received or sent // partners
            c.sent, c.received = block if is_root else 0, received
        case "Scan" | "Exscan":
            plain = (sent + received) // (ranks + 1)
            inclusive = name == "Scan" and received == (me + 1) * plain and sent == (ranks - me) * plain
            c.sent = block = plain if inclusive else (sent + received) // partners
        case "Allreduce":
            c.sent = block = each
        case "Alltoall" | "Allgather":
            c.received = block = each
            c.sent = 0 if in_place else sent // ranks
            c.flags |= IN_PLACE * in_place
        case "Reduce_scatter_block":
            c.received = block = each
            c.flags |= IN_PLACE * in_place
        case _:
            block = 0
    c.flags |= IS_ROOT * is_root
    return _flags_and_element(c, flags, element, block)


def from_all_totals(name: str, me: int, root: int, sums: Sequence[tuple[int, int]], flags: int | None, element: int | None) -> Collective:
    """The collective with sizes by rank in which each rank of the communicator sends and receives these sums."""
    ranks = len(sums)
    c = Collective(name, root if name in ROOTED and root < ranks else 0)
    is_root = name in ROOTED and root == me
    sent, received = sums[me]
    all_sent, all_received = sum(each for each, _ in sums), sum(each for _, each in sums)
    partners = max(ranks - 1, 1)
    match name:
        case "Gatherv":
            c.sent = sent
            c.received_by_rank = [each for each, _ in sums] if is_root else []
            c.flags |= IN_PLACE * (is_root and sent == 0 < received)
        case "Scatterv":
            c.received = received
            c.sent_by_rank = [each for _, each in sums] if is_root else []
        case "Allgatherv":
            in_place = flags & IN_PLACE != 0 if flags is not None else all_sent != ranks * received
            c.received_by_rank = [each // (partners if in_place else ranks) for each, _ in sums]
            c.sent = 0 if in_place else c.received_by_rank[me]
            c.flags |= IN_PLACE * in_place
        case "Reduce_scatter":
            in_place = flags & IN_PLACE != 0 if flags is not None else all_received != ranks * sent
            c.received_by_rank = [each // (partners if in_place else ranks) for _, each in sums]
            c.flags |= IN_PLACE * in_place
        case _:
            c.sent_by_rank, c.received_by_rank = _shares(me, sums, all_received)
            flags = 0
    c.flags |= IS_ROOT * is_root
    return _flags_and_element(c, flags, element, max(sent, received))


def _shares(me: int, sums: Sequence[tuple[int, int]], whole: int) -> tuple[list[int], list[int]]:
    """What `me` sends to each rank and receives from it. All ranks find the same, so that no message lacks its other
    end."""
    ends = [0]
    for _, received in sums:
        ends.append(ends[-1] + received)

    def share(source: int, target: int) -> int:
        sent = sums[source][0]
        return sent * ends[target + 1] // max(whole, 1) - sent * ends[target] // max(whole, 1)

    everyone = range(len(sums))
    return [share(me, rank) for rank in everyone], [share(rank, me) for rank in everyone]
