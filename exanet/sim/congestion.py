# SPDX-License-Identifier: Apache-2.0
"""Congestion control in simulations of traffic: which interfaces serve it, and what is refused."""

from __future__ import annotations

from typing import Any

from exanet import _core, units
from exanet.errors import InputError
from exanet.sim.spec import TrafficSpec


def control_of(resolved: dict[str, Any]) -> str:
    """The congestion control of the machine's interfaces."""
    return str(resolved.get("ni", {}).get("congestion_control", "none"))


def refuse(resolved: dict[str, Any], why: str, instead: str) -> None:
    """Raises InputError where the machine has a congestion control that would say nothing in the run."""
    if (control := control_of(resolved)) != "none":
        raise InputError(f"the machine {resolved['name']} has 'congestion_control: {control}', but {why}: {instead}, or say none")


def interfaces(resolved: dict[str, Any], spec: TrafficSpec, payload: int) -> str:
    """The interfaces that messages go through, as asked or by the machine's congestion control. Raises InputError on
    what does not fit."""
    if spec.level == "flow":
        if spec.nic not in (None, "ideal"):
            raise InputError(f"nic {spec.nic} is of the packet level: leave it out, or --level flow")
        refuse(resolved, "the flow level has max-min fair rates without one", "leave out --level flow")
        return "ideal"
    if spec.nic is None and control_of(resolved) == "none":
        return "ideal"
    nic = spec.nic or serving(control_of(resolved))
    if nic == "ideal":
        refuse(resolved, "interfaces without costs have no congestion control", "take --nic exanet")
        return nic
    check_costed(resolved, nic, payload)
    if spec.pace != "free":
        raise InputError(f"pace {spec.pace} is of ideal interfaces: leave it out, or take --nic ideal")
    return nic


def serving(control: str) -> str:
    """The interfaces that serve a congestion control: with RDMA engines, unless it needs each packet acknowledged."""
    kind = next(entry for entry in _core.registries()["pacings"] if entry["name"] == control)
    return "exanet" if kind["blocks"] else "ultra-ethernet"


def check_costed(resolved: dict[str, Any], nic: str, payload: int) -> None:
    """Raises InputError where a machine has no figures for interfaces with costs, or they send no such packets."""
    if "ni" not in resolved:
        raise InputError(
            f"--nic {nic}: the machine {resolved['name']} is a network alone, without 'ni', the times of its interfaces; write them in its "
            "file, take them from a machine that has them (extends), or leave --nic out"
        )
    most = resolved["router"]["max_payload_bytes"]
    if payload != most:
        raise InputError(
            f"packets of {units.format_bytes(payload)}: {nic} interfaces send packets of {units.format_bytes(most)}, as the machine says; "
            "leave out --packet-bytes, or change router.max_payload"
        )
