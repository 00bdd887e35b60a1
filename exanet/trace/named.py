# SPDX-License-Identifier: Apache-2.0
"""What the calls of a rank name: communicators, requests, windows and earlier operations, which earlier calls have to
have made.

Problem: a trace that people write by hand names what is not there, and a replay finds that out in the middle, by a call
of a stream that they have not seen. Model: what a replay refuses as damaged (core/replay/rank_replay.cpp,
communicators.cpp, rank_graph.cpp) is refused here, a call after the other, by whoever knows its line. Limit: what
programs may do and a replay cannot, such as collectives between two groups, is left to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exanet.trace.forms import NAMES, Value
from exanet.trace.layout import CALLS, EMPTY, IN_PLACE, INTER, OF_WORLD, SELF, WORLD
from exanet.trace.records import INITS, RECEIVES, REQUESTED, STARTS
from exanet.trace.write import CODES

_NO_PEER, _ANY_PEER, _ANY_TAG = 0, 1, 0  # as records have them
_FIRST_OWN = 3  # communicator of a rank's own making
_FORM_OF = {code: form for form, calls in CALLS.items() for code in calls.values()}
_WAITING = frozenset(CODES[name] for name in ("Send", "Bsend", "Ssend", "Rsend", "Recv", "Mrecv"))
_BY_GROUPS = frozenset(CODES[name] for name in ("communicator", "Comm_create_group", "Intercomm_merge"))

_Values = Mapping[str, Value]


@dataclass(frozen=True)
class _Communicator:
    ranks: int
    me: int
    inter: bool = False


@dataclass
class _Request:
    persistent: bool
    active: bool


class Named:
    """What a rank has made so far. `take` raises ValueError on a call that names something else."""

    def __init__(self, rank: int, ranks: int) -> None:
        self._rank = rank
        self._ranks = ranks
        self._communicators = {WORLD: _Communicator(ranks, rank), SELF: _Communicator(1, 0)}
        self._requests: dict[int, _Request] = {}
        self._windows: set[int] = set()
        self._operations = 0  # of the present graph
        self._ended = False
        self._checks: dict[str, Callable[[int, _Values], None]] = {
            "message": self._message,
            "exchange": self._exchange,
            "requests": self._use_requests,
            "probe": self._probe,
            "collective": self._collective,
            "create": self._create,
            "neighbours": self._neighbours,
            "window": self._window,
            "access": self._access,
            "synchronise": self._synchronise,
            "operation": self._operation,
        }

    def take(self, code: int, values: _Values) -> None:
        """The next call: its code, and what stands in its record by the names of the fields."""
        if self._ended:
            raise ValueError("it stands behind the rank's Finalize; put it before that, or take it out")
        form = _FORM_OF[code]
        if form != "operation":
            self._operations = 0
        self._ended = form == "ending"
        if check := self._checks.get(form):
            check(code, values)

    # -- messages and requests -----------------------------------------------------------------------------------------

    def _message(self, code: int, values: _Values) -> None:
        self._has_ends(values["communicator"], values["peer"], None if code in RECEIVES else values["tag"])
        if code in INITS and not values["request"]:
            raise ValueError("request: a persistent one has a number from 1 on; give one")
        if code not in _WAITING:
            self._begin(values["request"], persistent=code in INITS)

    def _exchange(self, code: int, values: _Values) -> None:
        self._has_ends(values["communicator"], values["peer"], values["tag"])
        self._has_ends(values["communicator"], values["receive_peer"], None)

    def _probe(self, code: int, values: _Values) -> None:
        if values["peer"] != self._rank + 2:
            self._has_ends(values["communicator"], values["peer"], None)

    def _has_ends(self, communicator: Value, peer: Value, sent_by: Value | None) -> None:
        """Of a message that is sent by a tag, or received."""
        if peer == _NO_PEER:
            return
        self._find(communicator)
        if sent_by is not None and peer == _ANY_PEER:
            raise ValueError("peer: a message goes to one rank, and not to any; give its number")
        if sent_by == _ANY_TAG:
            raise ValueError("tag: a message is sent with one, and without the field that is any; give its number")

    def _begin(self, number: Value, *, persistent: bool = False) -> None:
        assert isinstance(number, int)
        if number:
            self._requests[number] = _Request(persistent, not persistent)

    def _use_requests(self, code: int, values: _Values) -> None:
        numbers = values["requests"]
        assert isinstance(numbers, list)
        for number in numbers:
            request = self._requests.get(number)
            if request is None:
                raise ValueError(f"requests: {number} is none that a call before has begun and that is still under way")
            if code in STARTS:
                if not request.persistent or request.active:
                    raise ValueError(
                        f"requests: {number} is {'under way' if request.persistent else 'not persistent'}, and cannot be started"
                    )
                request.active = True
            elif code == CODES["Request_free"]:
                del self._requests[number]
            elif code not in (CODES["Cancel"], CODES["Request_get_status"]):
                request.active = False
                if not request.persistent:
                    del self._requests[number]

    # -- communicators -------------------------------------------------------------------------------------------------

    def _find(self, number: Value) -> _Communicator:
        assert isinstance(number, int)
        if number not in self._communicators:
            made = f"1 is MPI_COMM_WORLD, 2 MPI_COMM_SELF{', and others are made by calls before' if number >= _FIRST_OWN else ''}"
            raise ValueError(f"communicator: {number} has not been made; {made}")
        return self._communicators[number]

    def _create(self, code: int, values: _Values) -> None:
        made, flags, members = values["made"], values["flags"], values["members"]
        assert isinstance(made, int) and isinstance(flags, int) and isinstance(members, list)
        if code not in _BY_GROUPS and not flags & INTER:
            self._find(values["from"])
        if made == 0:
            return
        if made < _FIRST_OWN:
            raise ValueError(f"made: {made} is a communicator that there always is; number others from {_FIRST_OWN} on")
        for field in ("members", "remote"):
            group = values[field]
            assert isinstance(group, list)
            if len(set(group)) < len(group):
                twice = next(each for at, each in enumerate(group) if each in group[:at])
                raise ValueError(f"{field}: rank {twice} is named twice; name each rank once")
        of_world = flags & OF_WORLD and not members
        if not of_world and self._rank not in members:
            raise ValueError(f"members: rank {self._rank} makes the communicator and is none of its members; name it, or leave made out")
        size, me = (self._ranks, self._rank) if of_world else (len(members), members.index(self._rank))
        self._communicators[made] = _Communicator(size, me, bool(flags & INTER))

    def _collective(self, code: int, values: _Values) -> None:
        communicator = self._find(values["communicator"])
        if not communicator.inter:
            self._has_sizes(NAMES[code].lower().removeprefix("i"), communicator, values)
        if NAMES[code].startswith("I"):
            self._begin(values["request"])

    @staticmethod
    def _has_sizes(name: str, communicator: _Communicator, values: _Values) -> None:
        sent, received, root, flags = values["sent"], values["received"], values["root"], values["flags"]
        assert isinstance(sent, list) and isinstance(received, list) and isinstance(root, int) and isinstance(flags, int)
        if root >= communicator.ranks:
            raise ValueError(f"root: {root} is not in the communicator, whose ranks go from 0 to {communicator.ranks - 1}")
        of_all = name in ("alltoallv", "alltoallw")
        if of_all and flags & IN_PLACE:
            sent = received
        for field, sizes in (("sent", sent), ("received", received)):
            if sizes and len(sizes) != communicator.ranks:
                raise ValueError(f"{field}: {len(sizes)} sizes for the {communicator.ranks} ranks of the communicator; give one for each")
        is_root = communicator.me == root
        lacks = {
            "sent": (of_all and not sent) or (is_root and name == "scatterv" and not sent),
            "received": (of_all or name == "reduce_scatter" or (is_root and name == "gatherv")) and not received,
        }
        size = values["receive_bytes" if name == "scatterv" else "bytes"]
        if communicator.ranks > 1 and (size or sent or received) and (missing := [field for field, is_so in lacks.items() if is_so]):
            raise ValueError(f"{missing[0]}: it is missing; give a size for each of {communicator.ranks} ranks")

    def _neighbours(self, code: int, values: _Values) -> None:
        if self._find(values["communicator"]).inter:
            raise ValueError("communicator: neighbours are of one group, and this one has two")
        for peers, sizes in (("sources", "received"), ("destinations", "sent")):
            named, given = values[peers], values[sizes]
            assert isinstance(named, list) and isinstance(given, list)
            if _ANY_PEER in named:
                raise ValueError(f"{peers}: a neighbour is one rank, or none; give its number")
            if len(named) != len(given):
                raise ValueError(f"{sizes}: {len(given)} sizes for {len(named)} {peers}; give one for each")
        if NAMES[code].startswith("I"):
            self._begin(values["request"])

    # -- windows -------------------------------------------------------------------------------------------------------

    def _window(self, code: int, values: _Values) -> None:
        number = values["window"]
        assert isinstance(number, int)
        if self._find(values["communicator"]).inter:
            raise ValueError("communicator: a window is of one group, and this one has two")
        if number == 0:
            raise ValueError("window: it has a number from 1 on; give one")
        self._windows.add(number)

    def _has_window(self, number: Value) -> None:
        if number not in self._windows:
            raise ValueError(f"window: {number} has not been made, or has been freed; name one that a call before makes")

    def _access(self, code: int, values: _Values) -> None:
        self._has_window(values["window"])
        if code in REQUESTED:
            self._begin(values["request"])

    def _synchronise(self, code: int, values: _Values) -> None:
        self._has_window(values["window"])
        flags, number = values["flags"], values["window"]
        assert isinstance(flags, int) and isinstance(number, int)
        if values["peer"] == _ANY_PEER:
            raise ValueError("peer: a lock or flush is of one rank, or of all without the field; give its number")
        if code == CODES["Win_free"] and not flags & EMPTY:
            self._windows.remove(number)

    # -- graphs --------------------------------------------------------------------------------------------------------

    def _operation(self, code: int, values: _Values) -> None:
        if code != CODES["compute"]:
            if values["peer"] == _NO_PEER:
                raise ValueError("peer: it is missing; give the rank that the message goes to, or comes from")
            self._has_ends(WORLD, values["peer"], values["tag"] if code == CODES["send"] else None)
        for field in ("after", "beside"):
            distances = values[field]
            assert isinstance(distances, list)
            for distance in distances:
                if not 0 < distance <= self._operations:
                    raise ValueError(f"{field}: {distance} is no operation before it; {self._operations} of its graph are")
        self._operations += 1
