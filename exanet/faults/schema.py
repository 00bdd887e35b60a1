# SPDX-License-Identifier: Apache-2.0
"""The schema of files of faults: the one list of their keys, units and meanings (docs/faults.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from exanet.machine.constant import Duration, Strict, Text

LONGEST_PS = 10**18
"""The latest time of a change, and the longest interval: about 12 days."""

MOST_CHANGES = 1_000_000
"""Changes that one listed event may make."""

_Time = Annotated[Duration, Field(ge=0, le=LONGEST_PS)]
_Interval = Annotated[Duration, Field(gt=0, le=LONGEST_PS)]
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


def _refuse(text: str) -> PydanticCustomError:
    return PydanticCustomError("exanet", "{text}", {"text": text})


_Share = Annotated[float, BeforeValidator(_share), Field(gt=0, le=1)]


class Event(Strict):
    """A node or a link goes down or comes up, once or again and again, or a link loses single packets."""

    at: _Time = Field(description="Virtual time of the event.")
    down: Text | None = Field(
        default=None,
        description="The node or link that goes down, by the names of docs/topologies.md, or random ones (links:3:1, nodes:1:1).",
    )
    up: Text | None = Field(default=None, description="The node or link that comes up again, named in the same way.")
    lossy: Text | None = Field(
        default=None,
        description="The link that loses single packets from then on, in both directions; for a node, each of its links. At packet level.",
    )
    lost_packets: _Share | None = Field(default=None, description="For a lossy link: the share of packets that it loses.")
    bit_errors: _Share | None = Field(
        default=None, description="For a lossy link: the bit-error rate. A wrong bit anywhere in a packet loses the packet."
    )
    seed: _Seed | None = Field(default=None, description="For a lossy link: the seed from which losses are drawn. Default: 1.")
    for_: _Interval | None = Field(
        default=None, alias="for", description="Duration of the failure or loss. Default: until an event ends it."
    )
    period: _Interval | None = Field(default=None, description="For a flapping link: the time from one failure to the next.")
    count: _Count | None = Field(default=None, description="For a flapping link: the number of failures.")

    @model_validator(mode="after")
    def _whole(self) -> Event:
        if sum(what is not None for what in (self.down, self.up, self.lossy)) != 1:
            raise _refuse("an event takes one of 'down', 'up' and 'lossy', e.g. down: links:1:1")
        if (self.lossy is not None) != (self.lost_packets is not None or self.bit_errors is not None):
            raise _refuse("'lossy' needs 'lost_packets', 'bit_errors' or both, and no other event takes them, e.g. bit_errors: 1e-9")
        if self.lossy is None and self.seed is not None:
            raise _refuse("only 'lossy' takes 'seed'; random links have a seed in their name, e.g. links:1:7")
        if self.up is not None and (self.for_ or self.period or self.count):
            raise _refuse("'up' does not take 'for', 'period' or 'count'; take them out, or write 'down'")
        if (self.period is None) != (self.count is None):
            raise _refuse(
                "'period' and 'count' belong together: a flapping link goes down 'count' times, once in each period; add the other"
            )
        if self.period is not None and (self.for_ is None or self.for_ >= self.period):
            raise _refuse("a flapping link must be down for less than its period; set 'for', e.g. to a tenth of it")
        if self.at + (self.count or 0) * (self.period or 0) > LONGEST_PS:
            raise _refuse("its last failure lies beyond 10^6 s; give a smaller count or period")
        return self

    def changes(self) -> Iterator[dict[str, Any]]:
        """The changes as the simulator takes them, in the order of time."""
        if self.lossy is not None:
            loss = {
                "lost_packets": self.lost_packets or 0.0,
                "bit_errors": self.bit_errors or 0.0,
                "seed": 1 if self.seed is None else self.seed,
            }
            yield from self._each(self.lossy, {"lossy": True, **loss}, {"lossy": True})
        elif self.down is not None:
            yield from self._each(self.down, {"up": False}, {"up": True})
        else:
            yield {"what": self.up, "at_ps": self.at, "up": True}

    def _each(self, what: str, begin: dict[str, Any], end: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for number in range(self.count or 1):
            at = self.at + number * (self.period or 0)
            yield {"what": what, "at_ps": at, **begin}
            if self.for_ is not None:
                yield {"what": what, "at_ps": at + self.for_, **end}


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


class FaultsFile(Strict):
    """What fails in a run, and when."""

    description: Text | None = Field(default=None, description="One sentence on the file.")
    reaction: _Time = Field(
        default=0, description="Time from a change until routes by tables avoid the link: the reaction time of the fabric manager."
    )
    events: list[Event] = Field(default=[], description="Changes, in any order.")
    drawn: list[Drawn] = Field(default=[], description="Failures by rate.")
