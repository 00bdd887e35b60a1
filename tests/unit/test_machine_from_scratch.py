# SPDX-License-Identifier: Apache-2.0
"""Machine files that an architect writes from nothing: what may be left out, how figures are written, and what the
messages say."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import cli, machine, sim
from exanet.errors import InputError
from exanet.machine import located
from exanet.sim.jobs import Job, finish

NETWORK = """name: mine
description: A fat tree
topology:
  kind: fat-tree
  shape: [4, 4]
router:
  clock: 500 MHz
  latency: 20 cycles
  word: 128 bit
  header: 1 word
  footer: 1 word
  max_payload: 256 B
  intra_fifo: 256 words
  inter_fifo: 256 words
  header_fifo: 64 words
  virtual_channels: 1
  intra_ports: 2
links:
  link:
    rate: 100 Gb/s
    word: 64 bit
    pause_every: 0
    framing: 2 words
    latency: 25 ns
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.yaml"
    file.write_text(text)
    return file


def refused(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as refusal:
        machine.load(written(folder, text))
    return [message.replace(f"{folder}/", "") for message in refusal.value.messages]


def test_a_network_needs_values_alone_and_no_interface(tmp_path: Path) -> None:
    described = machine.load(written(tmp_path, NETWORK))
    resolved = described.resolve()
    assert "ni" not in resolved and "cores_per_node" not in resolved
    assert (described.nodes, described.cores, described.memory_bytes) == (16, None, None)
    constants = dict(described.constants())
    assert constants["links.link.latency"].value == 25_000
    assert {(constant.kind, constant.source) for constant in constants.values()} == {("chosen", "the user")}
    point = sim.simulate(described, offered=0.2, spec=sim.TrafficSpec(measure_ps=2_000_000))
    assert point["measured"] > 0
    assert finish(described, [Job("barrier")])["finished_ns"] > 0


def test_what_needs_an_interface_says_so_in_one_message(tmp_path: Path) -> None:
    file = written(tmp_path, NETWORK)
    with pytest.raises(InputError, match="--nic exanet: the machine mine is a network alone, without 'ni'"):
        finish(str(file), [Job("barrier")], nic="exanet")
    done = CliRunner().invoke(cli.app, ["run", "-m", str(file), "-n", "2", "--", "true"])
    assert isinstance(done.exception, InputError)
    [message] = done.exception.messages
    assert message.startswith(f"{file}:1:1: error: this machine is a network alone: to run programs it needs 'hardware' and 'ni'")


def test_a_network_alone_is_described(tmp_path: Path) -> None:
    file = str(written(tmp_path, NETWORK))
    for options in ([], ["--json"], ["--topology", "torus:4,4"]):
        assert CliRunner().invoke(cli.app, ["machines", file, *options]).exit_code == 0


def test_a_plain_value_may_be_varied(tmp_path: Path) -> None:
    file = str(written(tmp_path, NETWORK))
    changed = machine.load(file, located.values({"router.latency": "60 ns", "router.clock": "1 GHz"}, "command line"))
    assert changed.model.router.latency.value == 60
    with pytest.raises(InputError, match=r"the machine has no constant 'links\.link'"):
        machine.load(file, located.values({"links.link": "x"}, "command line"))


@pytest.mark.parametrize(
    ("old", "new", "key", "value"),
    [
        ("latency: 20 cycles", "latency: 40 ns", ("router", "latency_cycles"), 20),
        ("latency: 20 cycles", "latency: {value: 0.04 us, source: x, kind: published}", ("router", "latency_cycles"), 20),
        ("latency: 25 ns", "latency: 12.5 cycles", ("links", "latency_ps"), 25_000),
    ],
)
def test_a_time_may_be_given_in_cycles_and_cycles_as_a_time(tmp_path: Path, old: str, new: str, key: tuple[str, str], value: int) -> None:
    resolved = machine.load(written(tmp_path, NETWORK.replace(old, new))).resolve()
    section = resolved[key[0]][0] if key[0] == "links" else resolved[key[0]]
    assert section[key[1]] == value


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        (
            "latency: 20 cycles",
            "latency: 41 ns",
            ["mine.yaml:8:12: error: 'router.latency': 41 ns is 20.5 cycles of router.clock, which is not a whole number; "
             "write 20 cycles (40 ns) or 21 cycles (42 ns)"],
        ),
        (
            "latency: 25 ns",
            "latency: 0.0001 cycles",
            ["mine.yaml:24:14: error: 'links.link.latency': 0.0001 cycles is 1/5 ps, which is not a whole number; choose a value that is"],
        ),
        (
            "clock: 500 MHz\n  latency: 20 cycles",
            "clock: 500 Mz\n  latency: 40 ns",
            ["mine.yaml:7:10: error: 'router.clock': 'Mz' is not a unit of frequency; did you mean 'MHz'? "
             "(units: Hz, kHz, MHz, GHz, THz)",
             "mine.yaml:8:12: error: 'router.latency': 40 ns cannot be turned into a number of clock cycles: router.clock must be a "
             "frequency whose period is a whole number of picoseconds, e.g. 500 MHz"],
        ),
    ],
)  # fmt: skip
def test_a_part_of_a_cycle_is_refused(tmp_path: Path, old: str, new: str, messages: list[str]) -> None:
    assert refused(tmp_path, NETWORK.replace(old, new)) == messages


def test_missing_keys_say_what_to_extend(tmp_path: Path) -> None:
    text = "name: mine\ndescription: x\ntopology: {kind: dragonfly, shape: [2]}\n"
    assert refused(tmp_path, text)[1:] == [
        "mine.yaml:1:1: error: 'router' is missing; give it the keys clock, latency, word, header, footer, max_payload, intra_fifo, "
        "inter_fifo, header_fifo, virtual_channels, intra_ports",
        "mine.yaml:1:1: error: keys are missing; take them from a machine like it, e.g. extends: dragonfly-114582, or begin with a file "
        "that is whole: exanet machines new NAME",
    ]
    assert not any("keys are missing" in line for line in refused(tmp_path, "extends: torus-512\ntopology: null\n"))


@pytest.mark.parametrize(
    ("line", "place", "key", "example"),
    [
        ("    framing: ", "19:3", "'framing' is missing in 'links.link'", "framing: 32 words"),
        ("  virtual_channels: ", "6:1", "'virtual_channels' is missing in 'router'", "virtual_channels: 2"),
        ("  shape: ", "3:1", "'shape' is missing in 'topology'", "shape: [4, 4, 2]"),
    ],
)
def test_an_example_of_a_missing_key_is_reported_as_one(tmp_path: Path, line: str, place: str, key: str, example: str) -> None:
    text = "".join(kept for kept in NETWORK.splitlines(keepends=True) if not kept.startswith(line))
    assert text != NETWORK
    how = "give this machine's own value; an example of its form, no value to take"
    assert refused(tmp_path, text)[0] == f"mine.yaml:{place}: error: {key}; {how}: {example}"


def test_a_problem_of_an_inherited_key_names_the_key_and_the_file_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(NETWORK)
    assert refused(tmp_path, "extends: ./base.yaml\nname: mine\nrouter:\n  max_payload: 4 KiB\n") == [
        "mine.yaml:1:10: error: 'router.intra_fifo', inherited from base.yaml:13:15: must hold at least two packets of max_payload; "
        "make it deeper",
        "mine.yaml:1:10: error: 'router.inter_fifo', inherited from base.yaml:14:15: must hold two packets of max_payload for each virtual "
        "channel; make it deeper: 512 words or more",
    ]


class TestJumbo:
    """Packets of 9 kB, as Ethernet's jumbo frames are."""

    FIFOS = "max_payload: 9000 B\n  intra_fifo: 2048 words\n  inter_fifo: 2048 words"
    SWITCH = (
        "  kind: input-queued\n"
        "  switch: {queues: virtual-output, arbitration: round-robin, flow_control: credits, speed_up: 100 %, classes: 1}\n"
    )

    def file(self, folder: Path, more: str = "") -> Path:
        old = "max_payload: 256 B\n  intra_fifo: 256 words\n  inter_fifo: 256 words"
        assert old in NETWORK
        return written(folder, NETWORK.replace(old, self.FIFOS).replace("router:\n", f"router:\n{more}"))

    @pytest.mark.parametrize("switching", [None, "cut-through", "wormhole"])
    def test_they_take_their_time(self, tmp_path: Path, switching: str | None) -> None:
        more = "" if switching is None else self.SWITCH.replace("{queues", f"{{switching: {switching}, queues")
        described = machine.load(self.file(tmp_path, more))
        point = sim.simulate(described, offered=0.0, spec=sim.TrafficSpec(traffic="complement", message_bytes=9000))
        assert point["mean_message_packets"] == 1
        assert point["latency_least_ns"] == pytest.approx(point["zero_load_ns"], rel=1e-3)
        assert point["zero_load_ns"] > 9000 * 8 / 100  # its time on one link, and the rest of the way
        loaded = sim.simulate(described, offered=0.4, spec=sim.TrafficSpec(measure_ps=50_000_000))
        assert loaded["accepted_load"] == pytest.approx(0.4, rel=0.15)

    def test_interfaces_take_them(self, tmp_path: Path) -> None:
        text = (
            "extends: exanest-qfdb\nname: mine\nrouter: {max_payload: 9000 B, intra_fifo: 4096 words, inter_fifo: 4096 words}\n"
            "ni: {dma_block: 16 KiB}\n"
        )
        small, large = (finish(str(written(tmp_path, t)), [Job("alltoall", size_bytes=1 << 18)], nic="exanet") for t in
                        ("extends: exanest-qfdb\nname: mine\n", text))  # fmt: skip
        assert large["packets"] < small["packets"] / 20
        assert 0.7 * small["finished_ns"] < large["finished_ns"] < small["finished_ns"]

    def test_what_they_need_is_reported_of_each_key(self, tmp_path: Path) -> None:
        reported = refused(tmp_path, "extends: exanest\nname: mine\nrouter: {max_payload: 9000 B}\n")
        keys = ("router.inter_fifo", "ni.dma_block")
        assert [key for key in keys if any(f"'{key}', inherited from" in line for line in reported)] == list(keys), reported
        assert all(line.startswith("mine.yaml:1:10: error: ") for line in reported)
        assert "must be from 16 B to 16384 B" in refused(tmp_path, "extends: exanest\nname: mine\nrouter: {max_payload: 17 kB}\n")[0]


class TestNew:
    def test_the_start_is_taken_as_it_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        made = CliRunner().invoke(cli.app, ["machines", "new", "my-network"])
        assert made.exit_code == 0 and "my-network.yaml is written" in made.stdout
        assert CliRunner().invoke(cli.app, ["check", "my-network.yaml"]).exit_code == 0
        done = CliRunner().invoke(cli.app, ["sim", "-m", "my-network.yaml", "--load", "0.2", "--measure", "1 us"])
        assert done.exit_code == 0, done.output
        assert machine.load("my-network.yaml").name == "my-network"
        assert Path("my-network.yaml").read_text().count("#") > 20

    def test_a_file_that_is_there_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("a.yaml").write_text("mine")
        for words in (["new", "a"], ["new", "a.yaml"]):
            done = CliRunner().invoke(cli.app, ["machines", *words])
            assert isinstance(done.exception, InputError) and "a.yaml is there already" in str(done.exception)
        assert Path("a.yaml").read_text() == "mine"

    @pytest.mark.parametrize("words", [["new"], ["new", "A b"], ["new", "none/a"], ["new", "a", "--json"], ["torus-512", "a"]])
    def test_what_cannot_be_is_one_message(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.chdir(tmp_path)
        done = CliRunner().invoke(cli.app, ["machines", *words])
        assert isinstance(done.exception, InputError) and len(done.exception.messages) == 1
        assert not list(tmp_path.iterdir())
