# SPDX-License-Identifier: Apache-2.0
"""The schema of files of faults: the one list of their keys, units and meanings (docs/faults.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from exanet.machine.constant import Duration, Strict, Text

LONGEST_PS = 10**18
"""The latest time of a change, and the longest interval: about 12 days."""

MOST_CHANGES = 1_000_000
"""Changes that one listed event may make."""

DETECTION_PS = 10**9
"""Of a host's death: that of LO|FA|MO with a watchdog of 1 ms (docs/karma.md), rounded up to its period."""


def _refuse(text: str) -> PydanticCustomError:
    return PydanticCustomError("exanet", "{text}", {"text": text})


def _within(time_ps: int) -> int:
    if time_ps > LONGEST_PS:
        raise _refuse("times are at most 10^6 s, about 12 days; give a shorter one")
    return time_ps


_Time = Annotated[Duration, Field(ge=0), AfterValidator(_within)]
_Interval = Annotated[Duration, Field(gt=0), AfterValidator(_within)]
_Seed = Annotated[int, Field(ge=0, lt=1 << 64, strict=True)]
_Count = Annotated[int, Field(ge=1, le=MOST_CHANGES, strict=True)]


def _share(value: Any) -> float:
    """A share or a rate, as a number: YAML 1.1 takes 1e-6 for a text."""
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise _refuse("expected a number above 0, at most 1, e.g. 0.001 or 1e-9") from None


_Share = Annotated[float, BeforeValidator(_share), Field(gt=0, le=1)]
_Part = Annotated[float, BeforeValidator(_share), Field(ge=0.001, lt=1)]

_KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "down": ((), ""),
    "up": ((), ""),
    "lossy": (("lost_packets", "bit_errors", "seed"), "bit_errors: 1e-9"),
    "slow": (("rate",), "rate: 0.5"),
    "interface": ((), ""),
    "host": ((), ""),
    "impaired": (("corrupted_packets", "duplicated_packets", "reordered_packets", "delay", "seed"), "corrupted_packets: 0.001"),
}
"""What an event may be, the keys that go with it, and an example of these."""

_RESOLVED = {"delay": "delay_ps"}
_DELAY_PS = 1_000_000


def _listed(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


class Event(Strict):
    """What goes down, comes up, slows down, stops or loses and impairs packets, once or again and again."""

    at: _Time = Field(description="Virtual time of the event.")
    down: Text | None = Field(
        default=None,
        description="The node or link that goes down, by the names of docs/topologies.md, or random ones (links:3:1, nodes:1:1).",
    )
    up: Text | None = Field(default=None, description="The node or link of which all that brought it down ends, named in the same way.")
    lossy: Text | None = Field(
        default=None,
        description="The link that loses single packets from then on, in both directions; for a node, each of its links. At packet level.",
    )
    slow: Text | None = Field(
        default=None,
        description="The link that has a share of its rate left (lanes are lost), in both directions; for a node, each of its links.",
    )
    interface: Text | None = Field(
        default=None,
        description="The node whose interface stops: it neither sends nor receives, while the router there forwards. all: each node.",
    )
    host: Text | None = Field(
        default=None,
        description="The node whose host dies for good, with the ranks on it, and whose interface stops. In exanet run and replay.",
    )
    impaired: Text | None = Field(
        default=None,
        description="The node to which packets come corrupted, twice or out of order. all: each node. Between interfaces, at packet level.",
    )
    rate: _Part | None = Field(default=None, description="For a slow link: the share of its rate that is left, e.g. 0.5 for 2 of 4 lanes.")
    lost_packets: _Share | None = Field(default=None, description="For a lossy link: the share of packets that it loses.")
    bit_errors: _Share | None = Field(
        default=None, description="For a lossy link: the bit-error rate. A wrong bit anywhere in a packet loses the packet."
    )
    corrupted_packets: _Share | None = Field(default=None, description="For an impaired node: the share of packets with wrong bits.")
    duplicated_packets: _Share | None = Field(default=None, description="For an impaired node: the share of packets that come twice.")
    reordered_packets: _Share | None = Field(
        default=None, description="For an impaired node: the share of packets that are held back while later ones overtake them."
    )
    delay: _Interval | None = Field(
        default=None, description="For an impaired node: the time for which reordered packets are held back. Default: 1 us."
    )
    seed: _Seed | None = Field(
        default=None, description="For a lossy link or an impaired node: the seed from which packets are drawn. Default: 1."
    )
    for_: _Interval | None = Field(
        default=None, alias="for", description="Duration of what the event begins. Default: until an event ends it."
    )
    period: _Interval | None = Field(default=None, description="For what fails again and again: the time from one failure to the next.")
    count: _Count | None = Field(default=None, description="For what fails again and again: the number of failures.")

    @model_validator(mode="after")
    def _whole(self) -> Event:
        said = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(said) != 1:
            raise _refuse(f"an event takes one of {_listed(list(_KINDS))}, e.g. down: links:1:1")
        self._check_keys(said[0])
        if self.up is not None and (self.for_ or self.period or self.count):
            raise _refuse("'up' does not take 'for', 'period' or 'count'; take them out, or write 'down'")
        if self.host is not None and (self.for_ or self.period or self.count):
            raise _refuse("'host' does not take 'for', 'period' or 'count': a host that has died stays dead; take them out")
        if (self.period is None) != (self.count is None):
            raise _refuse(
                "'period' and 'count' belong together: a flapping link goes down 'count' times, once in each period; add the other"
            )
        if self.period is not None and (self.for_ is None or self.for_ >= self.period):
            raise _refuse("a flapping link must be down for less than its period; set 'for', e.g. to a tenth of it")
        if self.at + (self.count or 0) * (self.period or 0) > LONGEST_PS:
            raise _refuse("its last failure lies beyond 10^6 s; give a smaller count or period")
        return self

    def _check_keys(self, kind: str) -> None:
        """Each kind has the keys that it needs, and no other kind's."""
        takes, example = _KINDS[kind]
        for owner, (keys, _) in _KINDS.items():
            if wrong := [key for key in keys if key not in takes and getattr(self, key) is not None]:
                raise _refuse(f"'{kind}' does not take '{wrong[0]}', as '{owner}' does; take it out")
        needed = [key for key in takes if key not in ("seed", "delay")]
        if needed and all(getattr(self, key) is None for key in needed):
            raise _refuse(f"'{kind}' needs {_listed(needed)}, e.g. {example}")
        if self.delay is not None and self.reordered_packets is None:
            raise _refuse("'delay' is that of reordered packets; add 'reordered_packets', or take 'delay' out")
        if sum(share or 0 for share in (self.corrupted_packets, self.duplicated_packets, self.reordered_packets)) > 1:
            raise _refuse("a packet is corrupted, duplicated or reordered: their shares are at most 1 together")

    def changes(self) -> Iterator[dict[str, Any]]:
        """What begins, in the order of time, each with the time that it lasts, or what ends: as the simulator takes
        it."""
        if self.up is not None:
            yield {"what": self.up, "at_ps": self.at, "up": True}
            return
        kind = next(kind for kind in _KINDS if getattr(self, kind) is not None)
        change: dict[str, Any] = {"what": getattr(self, kind)} | ({} if kind == "down" else {"kind": kind})
        begin = {_RESOLVED.get(key, key): value for key in _KINDS[kind][0] if (value := getattr(self, key)) is not None}
        if self.reordered_packets is not None:
            begin.setdefault("delay_ps", _DELAY_PS)
        for number in range(self.count or 1):
            at = self.at + number * (self.period or 0)
            yield change | {"at_ps": at, "up": False, "lasts_ps": self.for_ or 0} | begin


class Drawn(Strict):
    """Failures of all links or nodes, drawn by rate from a seed."""

    what: Literal["links", "nodes"] = Field(
        description="links: each link between routers; nodes: each router to which endpoints are attached."
    )
    mtbf: _Interval = Field(
        description="Mean time between a repair and the next failure of each; these times are exponentially distributed."
    )
    repair: _Interval | None = Field(default=None, description="Mean time until it works again. Default: it stays down.")
    until: _Interval = Field(description="Virtual time at which the drawing of failures ends.")
    seed: _Seed = Field(default=1, description="Seed of the draw.")

    def resolved(self) -> dict[str, Any]:
        """The rate as the simulator takes it."""
        return {
            "links": self.what == "links",
            "between_ps": self.mtbf,
            "repair_ps": self.repair or 0,
            "seed": self.seed,
            "until_ps": self.until,
        }


class Lofamo(Strict):
    """LO|FA|MO: watchdogs, and facts from node to node, in place of the constants of detection and reaction."""

    period: _Interval = Field(description="Period of the watchdogs of hosts and interfaces, from 1 us to 27 s.")
    master: Text | None = Field(default=None, description="The node that decides what follows. It learns as all nodes do.")
    service: _Time | None = Field(
        default=None, description="In place of 'master': latency of a network of its own, over which nodes report to the master."
    )
    policy: Literal["report", "reroute", "exclude"] = Field(
        default="reroute",
        description="What follows when the master knows. report: nothing; reroute: routes avoid links that are down; "
        "exclude: and nodes whose host or interface does not work. Default: reroute.",
    )
    seed: _Seed = Field(default=1, description="Seed from which the phases of the periods are drawn. Default: 1.")

    @model_validator(mode="after")
    def _whole(self) -> Lofamo:
        if (self.master is None) == (self.service is None):
            raise _refuse("give either 'master', the node that decides, or 'service', the latency of a network to a master outside")
        return self

    def resolved(self, line_ps: int) -> dict[str, Any]:
        """As the simulator takes it; `line_ps`: latency of the machine's links."""
        return {
            "period_ps": self.period,
            "policy": self.policy,
            "master": self.master or "",
            "service_ps": self.service or 0,
            "line_ps": line_ps,
            "seed": self.seed,
        }


class FaultsFile(Strict):
    """What fails in a run, and when."""

    description: Text | None = Field(default=None, description="One sentence on the file.")
    reaction: _Time = Field(
        default=0, description="Time from a change until routes by tables avoid the link: the reaction time of the fabric manager."
    )
    detection: _Time = Field(
        default=DETECTION_PS,
        description="Time from a host's death until all other nodes know of it, and what waits for its ranks fails. Default: 1 ms.",
    )
    lofamo: Lofamo | None = Field(
        default=None,
        description="LO|FA|MO: how a failure becomes known. Default: it is known after 'reaction' and 'detection'.",
    )
    events: list[Event] = Field(default=[], description="Changes, in any order.")
    drawn: list[Drawn] = Field(default=[], description="Failures by rate.")

    @property
    def hosts(self) -> list[int]:
        """The events in which hosts die, by their numbers."""
        return [number for number, event in enumerate(self.events) if event.host is not None]

    @model_validator(mode="after")
    def _whole(self) -> FaultsFile:
        if "detection" in self.model_fields_set and not self.hosts:
            raise _refuse("'detection' is that of hosts that die, and no event has 'host'; take 'detection' out")
        if "detection" in self.model_fields_set and self.lofamo:
            raise _refuse("with 'lofamo' each node knows of a death when facts have come to it; take 'detection' or 'lofamo' out")
        if "reaction" in self.model_fields_set and self.lofamo and self.lofamo.policy == "report":
            raise _refuse("with the policy report routes stay as they are; take 'reaction' out, or take the policy reroute")
        return self
