# SPDX-License-Identifier: Apache-2.0
"""Do endpoints behind switches cost the latency of their interface, and does a machine file say it where it means
something?"""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet import machine, sim
from exanet.errors import InputError

SWITCH = """
extends: {base}
name: tried
power: null
topology: {{kind: {kind}, shape: {{value: {shape}, source: test, kind: chosen}}}}
router:
  latency: {{value: 47 cycles, source: test, kind: chosen}}
{more}
"""
LINK = "links:\n  link: {latency: {value: 25 ns, source: test, kind: chosen}}\n"


def described(folder: Path, *, base: str = "torus-512", kind: str = "fat-tree", shape: str = "[2]", more: str = "") -> machine.Machine:
    file = folder / "machine.yaml"
    file.write_text(SWITCH.format(base=base, kind=kind, shape=shape, more=more) + LINK)
    return machine.load(file)


def latency_ns(network: machine.Machine) -> float:
    """Of a short packet between two endpoints, with nobody else about."""
    point = sim.simulate(network, offered=0.001, spec=sim.TrafficSpec(packet_bytes=16))
    return float(point["zero_load_ns"])


def test_two_endpoints_on_a_switch_of_300_ns_are_not_three_switches_apart(tmp_path: Path) -> None:
    least = latency_ns(described(tmp_path))
    assert 300 + 2 * 25 < least < 510  # a switch, two links, 16 bytes at 10 Gb/s on each, and 6 cycles of interfaces
    as_a_switch = latency_ns(described(tmp_path, more="  endpoint_latency: {value: 47 cycles, source: test, kind: chosen}"))
    assert as_a_switch - least == pytest.approx(2 * 44 * 6.4)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"more": "  endpoint_latency: {value: 2 cycles, source: test, kind: chosen}"}, "must be from 3 to 1000000 cycles"),
        (
            {"kind": "torus", "shape": "[4, 4]", "more": "  endpoint_latency: {value: 4 cycles, source: test, kind: chosen}"},
            "the endpoints of a torus are routers themselves",
        ),
    ],
)
def test_a_latency_that_cannot_be_is_refused_where_it_stands(tmp_path: Path, spec: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=f"machine.yaml:8:.*{message}"):
        described(tmp_path, **spec)
