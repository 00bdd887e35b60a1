# SPDX-License-Identifier: Apache-2.0
"""Interfaces as the command line names them: NODE=NAME, with keys behind commas."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exanet import keys
from exanet.errors import InputError

DIRECT = "direct"
"""In place of a node: frames between such interfaces do not cross the network."""
HOST = "host"
"""In place of a namespace: that of the command."""

_KEYS = ("address", "mac", "mtu", "netns")
_FORM = (
    "give NODE=NAME, a node's number or 'direct', and the name of the interface, e.g. 0=tap0, and behind commas "
    "address=10.0.0.1/24 (or none), mac=02:00:00:00:00:01, mtu=9000, netns=NAME (or host)"
)
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_LEAST_MTU, _MOST_MTU = 68, 65_521
"""Of IPv4 (RFC 791), and of Linux's TAP interfaces."""
MOST_INTERFACES = 64


@dataclass(frozen=True)
class Tap:
    """An interface: where it is in the machine, and in the host."""

    node: int | None  # None: on none
    name: str
    mac: str
    address: str  # with the length of its network; "": none
    mtu: int
    netns: str | None  # one that is there already, or HOST; None: one of its own

    @property
    def namespace(self) -> str:
        """Its namespace's name; "" for the host's."""
        return "" if self.netns == HOST else self.netns or f"exanet-{self.name}"

    @property
    def mac_number(self) -> int:
        """Its address as the simulator takes it."""
        return int(self.mac.replace(":", ""), 16)

    @property
    def place(self) -> str:
        """Its node, for people."""
        return DIRECT if self.node is None else f"node {self.node}"


@dataclass(frozen=True)
class Options:
    """Options of a bridge, as the command line has them."""

    machine: str
    taps: Sequence[Tap]
    background: str | None = None
    slow: float = 1.0
    ring: int = 1024
    interrupts_ps: int = 0
    capture: Path | None = None
    texts: Sequence[str] = field(default_factory=tuple)  # the interfaces, as they were given


def parse(texts: Sequence[str], mtu: int) -> list[Tap]:
    """The interfaces; `mtu` is theirs where nothing is said. Raises InputError with all that is wrong."""
    if len(texts) < 2:
        raise InputError(f"--tap: a bridge has at least two interfaces; {_FORM}")
    if len(texts) > MOST_INTERFACES:
        raise InputError(f"--tap: a bridge has at most {MOST_INTERFACES} interfaces")
    taps, problems = [], []
    for number, text in enumerate(texts, 1):
        try:
            taps.append(_tap(text, number, mtu))
        except InputError as error:
            problems += error.messages
    if problems:
        raise InputError(problems)
    for what, values in (
        ("name", [tap.name for tap in taps]),
        ("MAC address", [tap.mac for tap in taps]),
        ("node", [str(tap.node) for tap in taps if tap.node is not None]),
    ):
        if twice := [value for value in values if values.count(value) > 1]:
            raise InputError(f"--tap: two interfaces have the {what} {twice[0]}; give each one its own")
    return taps


def _tap(text: str, number: int, mtu: int) -> Tap:
    what = f"--tap {text}"
    first, *parts = text.split(",")
    node, equals, name = first.partition("=")
    if not equals or not name or not (node == DIRECT or (node.isascii() and node.isdecimal() and len(node) < 10)):
        raise InputError(f"{what}: '{first}' is not understood; {_FORM}")
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,15}", name) or name in (".", ".."):
        raise InputError(f"{what}: '{name}' is no name of an interface; take up to 15 letters, digits, '.', '_' and '-'")
    given = keys.read(what, parts, _KEYS, _FORM)
    mac = given.get("mac", f"02:65:78:61:00:{number:02x}").lower()
    if not _MAC.fullmatch(mac) or int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00":
        raise InputError(f"{what}: '{mac}' is no address of one interface; give six bytes such as 02:00:00:00:00:01")
    netns = given.get("netns")
    if netns is not None and not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", netns):
        raise InputError(f"{what}: '{netns}' is no name of a namespace")
    return Tap(
        node=None if node == DIRECT else int(node),
        name=name,
        mac=mac,
        address=_address(what, given.get("address", f"10.77.{int(node == DIRECT)}.{number}/24")),
        mtu=_mtu(what, given["mtu"]) if "mtu" in given else mtu,
        netns=netns,
    )


def _address(what: str, text: str) -> str:
    if text == "none":
        return ""
    try:
        found = ipaddress.ip_interface(text)
    except ValueError:
        raise InputError(f"{what}: '{text}' is no address; give one with its network's length, e.g. 10.0.0.1/24 or fd00::1/64") from None
    return str(found)


def _mtu(what: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 6 or not _LEAST_MTU <= int(text) <= _MOST_MTU:
        raise InputError(f"{what}: mtu '{text}' is not a whole number from {_LEAST_MTU} to {_MOST_MTU}")
    return int(text)
