# SPDX-License-Identifier: Apache-2.0
"""What a section of a machine file on devices of nodes does not go together with yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exanet.machine.schema import MachineFile, rails_of

Problems = Iterator[tuple[tuple[str, ...], str]]


def problems(model: MachineFile, section: str, why: Mapping[str, str]) -> Problems:
    """By key: what the machine has, or lacks, of the things that `why` names, with its reason for each."""
    ni = model.ni
    found = {
        "no interface": ("ni", ni is None),
        "gateway": ("gateway", model.gateway is not None),
        "gpu": ("gpu", model.gpu is not None),
        "rails": ("topology", rails_of(model) > 1),
        "cycle-accurate": ("ni", ni is not None and ni.transfers == "gateware"),
        "shared memory": ("ni", ni is not None and ni.shared_memory_rate is not None and ni.shared_memory_rate.value > 0),
    }
    for what, reason in why.items():
        key, given = found[what]
        if given:
            yield (key if getattr(model, key) is not None else section,), f"{reason}; leave one out, or set {section} to null"
