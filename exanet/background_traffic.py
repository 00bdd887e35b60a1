# SPDX-License-Identifier: Apache-2.0
"""Background traffic of programs (`--background`): what others send on the machine meanwhile.

The text is a traffic as `exanet sim --traffic` has it, with its keys behind commas: `uniform,load=0.3,bytes=64KiB`,
`matrix:FILE,load=0.5`, `flows:FILE,start=1ms`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from exanet import keys, units
from exanet.bounds import time_within
from exanet.errors import InputError
from exanet.quantity import bytes_text, count_text, counted, time_text
from exanet.units import UnitError

_KEYS = ("load", "outstanding", "bytes", "sizes", "seed", "start", "end")
_OF_PATTERNS = ("load", "outstanding", "bytes", "sizes")
_MOST_OUTSTANDING = 1024
_FORM = f"give TRAFFIC,KEY=VALUE,... with the keys {', '.join(_KEYS)}, e.g. uniform,load=0.3,bytes=64KiB, or flows:FILE,start=1ms"
BYTES = 64 << 10
"""Size of a message, where nothing else is said."""


def resolved(text: str | None, machine: dict[str, Any]) -> dict[str, Any]:
    """The traffic as a key of the resolved `machine`, as the simulator takes it; none without a text. Raises
    InputError."""
    if text is None:
        return {}
    from exanet.sim import matrix

    traffic = parse(text)
    return {"background": traffic | {"pattern": matrix.in_full(traffic["pattern"], machine)}}


def parse(text: str) -> dict[str, Any]:
    """The traffic, with a file by its name. Raises InputError."""
    what = f"--background {text}"
    traffic, *parts = re.split(r",(?=\w+=)", text)
    if not traffic or "=" in traffic.partition(":")[0]:
        raise InputError(f"{what}: there is no traffic in front; {_FORM}")
    if "," in traffic and not traffic.startswith(("matrix:", "flows:")):
        raise InputError(f"{what}: '{traffic.partition(',')[2]}' is not understood; {_FORM}")
    given = keys.read(what, parts, _KEYS, _FORM)
    if traffic.startswith("flows:"):
        if chosen := [key for key in _OF_PATTERNS if key in given]:
            raise InputError(f"{what}: a list of flows says when each begins and how long it is; leave out {', '.join(chosen)}")
    elif ("load" in given) == ("outstanding" in given):
        raise InputError(
            f"{what}: say how much each endpoint sends, as a share of what its link carries (load=0.3), or how many messages it keeps "
            "under way (outstanding=1); one of the two"
        )
    if "bytes" in given and "sizes" in given:
        raise InputError(f"{what}: messages have one size (bytes) or those of a distribution (sizes); leave one of them out")
    values = {key: _value(f"{what}: {key}", key, value) for key, value in given.items()}
    if "end" in values and values["end"] <= values.get("start", 0):
        raise InputError(f"{what}: it ends before it begins; give an end that is later than the start, or leave it out")
    return {
        "pattern": traffic,
        "load": values.get("load", 0.0),
        "outstanding": values.get("outstanding", 0),
        "message_bytes": values.get("bytes", BYTES),
        "sizes": values.get("sizes", ""),
        "seed": values.get("seed", 1),
        "start_ps": values.get("start", 0),
        "end_ps": values.get("end", 0),
    }


def note(text: str | None, found: Mapping[str, Any]) -> str | None:
    """What the traffic did, as a sentence; None where there was none."""
    if not text or "background" not in found:
        return None
    sent = found["background"]
    took = (
        f", {count_text(sent['arrived'])} of them arrived after {time_text(1e3 * sent['latency_ns'])} on average, "
        f"99 % within {time_text(1e3 * sent['latency_p99_ns'])}"
        if sent["arrived"]
        else ""
    )
    failed = f", {count_text(sent['failed'])} failed" if sent["failed"] else ""
    return (
        f"background {text}: {counted(sent['messages'], 'message')}, {bytes_text(sent['bytes'])}{took}{failed}; "
        "figures of packets and links include them"
    )


def _value(what: str, key: str, text: str) -> Any:
    try:
        if key == "bytes":
            return units.parse(text, units.BYTES)
        if key in ("start", "end"):
            time_ps = units.parse(text, units.TIME)
            time_within(what, time_ps)
            return time_ps
    except UnitError as error:
        raise InputError(f"{what}: {error}") from None
    if key == "load":
        return _load(what, text)
    if key == "outstanding":
        if not text.isdecimal() or not 1 <= int(text) <= _MOST_OUTSTANDING:
            raise InputError(f"{what}: '{text}' is not a whole number from 1 to {_MOST_OUTSTANDING}")
        return int(text)
    if key == "seed":
        if not text.isdecimal() or not int(text) < 1 << 64:
            raise InputError(f"{what}: '{text}' is not a whole number from 0 to 2^64 - 1")
        return int(text)
    return text


def _load(what: str, text: str) -> float:
    try:
        load = float(text)
    except ValueError:
        load = 0.0
    if not 0 < load <= 1000:
        raise InputError(f"{what}: '{text}' is no load; give a number above 0 and up to 1000, where 1 fills a link")
    return load
