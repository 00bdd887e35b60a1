# SPDX-License-Identifier: Apache-2.0
"""The machines with caRVnet's figures: are their constants distinguished by kind, and do they take the time that
their cycles say?"""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet import machine, sim
from exanet.sim.jobs import Job, finish
from exanet.validate.runner import Runner

CARVNET = ("carvnet", "carvnet-a53", "carvnet-100mhz")
LINE_CYCLES, CORE_NS = 20, 10  # published: R35


def cycle_ns(name: str) -> float:
    return float(machine.load(name).resolve()["router"]["cycle_ps"]) / 1000


@pytest.mark.parametrize("name", CARVNET)
def test_what_is_calibrated_is_distinguished_from_what_is_published(name: str) -> None:
    kinds = {key: constant.kind for key, constant in machine.load(name).constants()}
    from_72_cycles = {"ni.library_receive", "ni.mailbox", "ni.mailbox_read"}
    assert {key for key, kind in kinds.items() if kind == "calibrated"} == (set() if name == "carvnet-a53" else from_72_cycles)
    assert kinds["hardware.core_clock"] == "published"
    assert kinds["links.link.rate"] == ("derived" if name == "carvnet-100mhz" else "published")


@pytest.mark.parametrize("name", CARVNET)
def test_a_link_takes_a_word_of_the_router_in_each_cycle(name: str) -> None:
    resolved = machine.load(name).resolve()
    (link,) = resolved["links"]
    assert link["word_bits"] == resolved["router"]["word_bits"] == 128
    assert link["word_time_ps"] == resolved["router"]["cycle_ps"]
    assert link["latency_ps"] % resolved["router"]["cycle_ps"] == 0
    least = LINE_CYCLES * CORE_NS * 1000
    assert least <= link["latency_ps"] < least + resolved["router"]["cycle_ps"]


def test_words_of_links_may_be_of_another_width_than_the_interfaces(tmp_path: Path) -> None:
    """Twice as wide, at the same rate: 512 B are 34 words of the router, and the frame one of the link."""
    file = tmp_path / "wide.yaml"
    file.write_text("extends: carvnet\nname: wide\ndescription: words of links of 256 bits\nlinks: {link: {word: 256 bit}}\n")
    narrow, wide = (finish(name, [Job("alltoall", ranks=2, size_bytes=1 << 18)], nic="exanet") for name in ("carvnet", str(file)))
    assert narrow["packets"] == wide["packets"]
    assert 1 < wide["finished_ns"] / narrow["finished_ns"] < 36 / 35


@pytest.mark.parametrize("name", CARVNET)
def test_a_packet_alone_takes_the_cycles_of_the_micro_architecture(name: str) -> None:
    """docs/microarchitecture.md, latency in an empty network: one hop of 16 bytes, with four lanes."""
    words, line = 3, machine.load(name).resolve()["links"][0]["latency_ps"] / 1000
    start = 2 + 4
    left = max(2 + words, words + 1)
    tail = max(start + 1 + words, left + 3 + 2) + 3
    request = start + 1 + 1 + 3
    cycles = max(request + words, tail) + 2
    spec = sim.TrafficSpec(traffic="neighbour", packet_bytes=16)
    point = sim.simulate(machine.load(name), offered=0.01, spec=spec)
    assert point["latency_least_ns"] == pytest.approx(cycles * cycle_ns(name) + line)


def test_user_to_user_takes_the_published_cycles_and_less_where_the_interface_is_faster() -> None:
    """16 bytes: two stores, library and mailbox; the interface's cycles and the line's; the bounds were set before
    the first run."""
    runner = Runner()
    ours = {name: runner.run("packets", name, (0, 1), 16, mpi="none")["one_way_ns"]["16"] for name in CARVNET}
    assert ours["carvnet-100mhz"] == pytest.approx(720)
    interface = (72 - LINE_CYCLES - 2 - 2 - 15) * cycle_ns("carvnet") + 200.96
    edges = 2 * cycle_ns("carvnet")  # a store begins at an edge of the interface's clock
    for name, core in (("carvnet", 20 + 20 + 3 * 50), ("carvnet-a53", 25.6 + 2 * 104.325 + 100 + 20)):
        assert core + interface <= ours[name] <= core + interface + edges
