# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest

from exanet import machine
from exanet.errors import InputError
from exanet.machine import located

SHIPPED = {"exanest": (128, 512), "exanest-blade": (16, 64), "exanest-qfdb": (4, 16), "trenz-2x2": (4, 16)}
RACKS = {"track-1": (432, 1728), "track-2": (3840, 15360)}


def refused(tmp_path: Path, text: str) -> list[str]:
    """The messages for a machine file, without its folder."""
    file = tmp_path / "m.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refusal:
        machine.load(file)
    return [message.replace(f"{tmp_path}/", "") for message in refusal.value.messages]


@pytest.mark.parametrize(("name", "size"), (SHIPPED | RACKS).items())
def test_shipped_machines_have_their_published_size(name: str, size: tuple[int, int]) -> None:
    loaded = machine.load(name)
    assert (loaded.name, loaded.nodes, loaded.cores) == (name, *size)
    assert loaded.description


def test_all_machine_files_are_shipped_and_load() -> None:
    assert set(machine.names()) >= set(SHIPPED | RACKS)
    for name in machine.names():
        assert machine.load(name).name == name, "a machine's name is its file's"


def test_resolved_prototype_holds_integers_in_base_units() -> None:
    resolved = machine.load("exanest").resolve()
    assert resolved["topology"] == {"kind": "qfdb-torus", "shape": [4, 4, 2]}
    assert resolved["router"]["cycle_ps"] == 6400
    assert [link["name"] for link in resolved["links"]] == ["intra-qfdb", "inter-qfdb"]
    for link in resolved["links"]:
        assert (link["word_bits"], link["word_time_ps"], link["pause_every"], link["framing_words"]) == (64, 6400, 32, 2)
    assert resolved["ni"]["store_word_ps"] == 25600
    assert resolved["ni"]["mailbox_read_ps"] == 13300
    for section in (resolved["router"], resolved["ni"], *resolved["links"]):
        assert all(type(value) is int for key, value in section.items() if key not in ("name", "vc_allocation"))


def test_every_constant_has_a_source() -> None:
    for name in machine.names():
        found = list(machine.load(name).constants())
        assert len(found) > 40
        assert all(constant.source and constant.kind for _, constant in found)


def test_pauses_take_their_share_of_the_rate() -> None:
    assert machine.load("exanest").link_rate("intra-qfdb") * 33 == 10**10 * 32


def test_unknown_machine_names_a_close_one() -> None:
    with pytest.raises(InputError) as refusal:
        machine.load("exanst")
    assert "did you mean 'exanest'?" in refusal.value.messages[0]
    assert "track-1" in refusal.value.messages[0]


def test_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        machine.load(tmp_path / "none.yaml")
    assert refusal.value.messages == [f"{tmp_path}/none.yaml: error: cannot be read: No such file or directory"]


def test_all_problems_are_reported_each_in_its_place(tmp_path: Path) -> None:
    assert refused(
        tmp_path,
        """extends: exanest
name: mine
descripton: x
router:
  clok: {value: 1 GHz, source: x, kind: chosen}
  latency: 4.5 ns
  word: {value: 128, source: x, kind: chose}
links:
  intra-qfdb:
    latency: {value: 1.0005 ns, source: x, kind: chosen}
""",
    ) == [
        "m.yaml:3:1: error: unknown key 'descripton'; did you mean 'description'?",
        "m.yaml:5:3: error: unknown key 'clok' in 'router'; did you mean 'clock'?",
        "m.yaml:6:12: error: 'router.latency': 4.5 ns is 0.703125 cycles of router.clock, which is not a whole number; "
        "write 0 cycles (0 ps) or 1 cycles (6.4 ns)",
        "m.yaml:7:17: error: 'router.word': 128 has no unit; a width needs one, e.g. 64 bit",
        "m.yaml:7:39: error: 'kind' must be one of 'published', 'derived', 'calibrated', 'chosen'; did you mean 'chosen'?",
        "m.yaml:10:22: error: 'links.intra-qfdb.latency': 1.0005 ns is 2001/2 ps, which is not a whole number; choose a value that is",
    ]


@pytest.mark.parametrize(
    ("given", "place", "text"),
    [
        ("router: {intra_ports: 2}", "3:23", "intra_ports must be at least 3 with 'transfers: gateware'"),
        ("router: {word: 256 bit}", "3:16", "word must be 128 bit with 'messages: gateware', whose interface has words of that width"),
        ("router: {word: 64 bit}", "3:16", "word must be 128 bit with 'messages: gateware'"),
        ("router: {header: 2 words}", "3:18", "header must be 1 word with 'messages: gateware'"),
        ("router: {footer: 0 words}", "3:18", "footer must be 1 word with 'messages: gateware'"),
        ("router: {max_payload: 256 B}", "3:23", "max_payload must be at least 512 B with 'transfers: gateware'"),
        ("ni: {packetizer: 5 ns}", "3:18", "packetizer must be 0 with 'messages: gateware', which takes the gateware's cycles"),
        ("ni: {translation: 1 ns}", "3:19", "translation must be 0 with 'transfers: gateware', which takes the gateware's cycles"),
        ("ni: {reduction_trees: 17}", "3:23", "reduction_trees must be at most 16 with 'reductions: gateware'"),
        ("ni: {pages: 8 KiB}", "3:13", "pages must be 4 KiB, 64 KiB or 2 MiB"),
        ("ni: {pages: 4 KiB, reductions: times, transfers: times}", "3:13", "pages need 'transfers: gateware'"),
        ("ni: {packet_max: 128 B}", "3:18", "packet_max must be at most 64 B with 'messages: gateware'"),
    ],
)
@pytest.mark.parametrize("packets", [True, False])
def test_what_an_interface_in_the_gatewares_cycles_does_not_take(tmp_path: Path, given: str, place: str, text: str, packets: bool) -> None:
    (tmp_path / "m.yaml").write_text(f"extends: exanest-ni\nname: mine\n{given}\n")
    with pytest.raises(InputError) as refusal:
        machine.load(tmp_path / "m.yaml", packets=packets)
    assert refusal.value.messages[0].startswith(f"{tmp_path}/m.yaml:{place}: error: {text}")


CONTRADICTIONS = [
    ("topology: {shape: {value: [4, 4], source: x, kind: chosen}}", "3 dimensions"),
    ("topology: {shape: {value: [4194304, 4, 2], source: x, kind: chosen}}", "a dimension of the topology's shape is 4194304"),
    ("topology: {shape: {value: [65535, 65535, 2], source: x, kind: chosen}}", "more than 1048576 points"),
    ("topology: {kind: mesh}", "a mesh has no links of the kind 'intra-qfdb'"),
    ("topology: {kind: mesh}", "a mesh needs links of the kind 'link'"),
    ("router: {clock: {value: 7 MHz, source: x, kind: chosen}}", "whole number of picoseconds"),
    ("router: {clock: {value: 0, source: x, kind: chosen}}", "must be above zero"),
    ("router: {inter_fifo: {value: 63 words, source: x, kind: chosen}}", "two packets of max_payload for each virtual channel"),
    ("router: {header_fifo: {value: 7 words, source: x, kind: chosen}}", "two headers of each class"),
    ("router: {header: {value: 0, source: x, kind: chosen}}", "from 1 to 64 words"),
    ("router: {virtual_channels: {value: 1, source: x, kind: chosen}}", "must be from 2"),
    ("router: {virtual_channels: {value: 9, source: x, kind: chosen}}", "to 8"),
    ("links: {intra-qfdb: {rate: {value: 7 Gb/s, source: x, kind: chosen}}}", "whole number of picoseconds"),
    ("links: {intra-qfdb: {rate: {value: 112 Gb/s, source: x, kind: chosen}}}", "a word of 56 bit or a multiple of that"),
    ("links: {intra-qfdb: {rate: {value: 56.000001 Gb/s, source: x, kind: chosen}}}", "picoseconds; choose another rate"),
    ("links: {intra-qfdb: {rate: {value: 0, source: x, kind: chosen}}}", "must be above zero"),
    ("ni: {eager_max: {value: 33 B, source: x, kind: chosen}}", "exceed packet_max"),
    ("ni: {packet_max: {value: 257 B, source: x, kind: chosen}}", "from 1 B to 256 B"),
    ("ni: {dma_block: {value: 255 B, source: x, kind: chosen}}", "from one packet's payload (256 B) to 16 MiB"),
    ("ni: {test_step: {value: 0, source: x, kind: chosen}}", "virtual time would stand still"),
    ("ni: {clock: {value: 7 Hz, source: x, kind: chosen}}", "not a whole number of picoseconds"),
    ("ni: {mailbox: {value: 1.000000000001 s, source: x, kind: chosen}}", "longer than 1 s"),
    ("ni: {mpi_receive: {value: 4.4 ms, source: x, kind: chosen}}", "makes receiving a message take longer than 4.29 ms"),
    ("ni: {mailbox_read: {value: 1 s, source: x, kind: chosen}}", "makes receiving a message take longer than 4.29 ms"),
    ("ni: {ip_mtu: {value: 500 B, source: x, kind: chosen}}", "must be from 576 B to 65535 B"),
    ("ni: {ip_window: {value: 1400 B, source: x, kind: chosen}}", "from a segment (1500 B) to 2 MiB"),
    ("ni: {ip_send: {value: 0, source: x, kind: chosen}}", "a segment takes the host some time"),
    ("ni: {ip_receive: {value: 5 ms, source: x, kind: chosen}}", "is longer than 4.29 ms"),
    ("hardware: {cores_per_node: {value: 0, source: x, kind: chosen}}", "from 1 to 4096"),
]


@pytest.mark.parametrize(("text", "message"), CONTRADICTIONS)
def test_contradictions_are_refused(tmp_path: Path, text: str, message: str) -> None:
    messages = refused(tmp_path, f"extends: exanest\nname: mine\n{text}\n")
    assert any(message in line for line in messages), messages
    assert all(line.startswith("m.yaml:3:") or "inherited from" in line for line in messages), messages


@pytest.mark.parametrize(
    "change", ["inter_fifo: {value: 64 words, source: x, kind: chosen}", "inter_fifo: {value: 1024 words, source: x, kind: chosen}"]
)
def test_the_least_fifo_that_holds_two_packets_is_enough(tmp_path: Path, change: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"extends: exanest\nname: mine\nrouter: {{{change}}}\n")
    assert machine.load(file).name == "mine"


def test_a_file_extends_another_beside_it_and_takes_keys_out(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("extends: exanest\nname: base\nni: {mailbox: {value: 1 ns, source: x, kind: chosen}}\n")
    (tmp_path / "top.yaml").write_text("extends: ./base.yaml\nname: top\npackaging: null\n")
    loaded = machine.load(tmp_path / "top.yaml")
    assert loaded.resolve()["ni"]["mailbox_ps"] == 1000
    assert loaded.model.packaging == []
    assert loaded.bases == ("./base.yaml", "exanest")


def test_a_cycle_of_extensions_is_found(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text("extends: ./m.yaml\nname: n\n")
    assert any("extends itself, directly or through other files" in line for line in refused(tmp_path, "extends: ./n.yaml\nname: m\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.yaml:1:1: error: the file is empty; write a description in it"),
        ("- a\n", "m.yaml:1:1: error: a machine description is a mapping of keys to values, e.g. 'name: my-machine'"),
        ("name: a\nname: b\n", "m.yaml:2:1: error: 'name' is given twice (first on line 1); keep one"),
        (
            "name: [a\n",
            "m.yaml:2:1: error: not valid YAML: expected ',' or ']', but got '<stream end>'; "
            "check the indentation, quotes and brackets here",
        ),
        ("extends: 3\n", "m.yaml:1:10: error: 'extends' takes the name of a machine or the path of a machine file"),
        pytest.param("[" * 5000, "m.yaml:1:1: error: the file is nested too deeply; use at most 50 levels", id="nested too deeply"),
    ],
)
def test_unreadable_files(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text)[0] == message


def test_a_machine_that_is_not_there_is_reported_in_one_message(tmp_path: Path) -> None:
    (message,) = refused(tmp_path, "extends: nothing\n")
    assert message.startswith("m.yaml:1:10: error: cannot extend 'nothing': there is no machine 'nothing'. The machines are ")


def test_causes_are_reported_before_what_follows_from_them_in_an_extended_file(tmp_path: Path) -> None:
    first, *rest = refused(tmp_path, "extends: exanest\nname: m\nrouter:\n  max_payload: {value: 0 B, source: x, kind: chosen}\n")
    assert first.startswith("m.yaml:4:16: error: must be from 16 B")
    assert rest and all(message.startswith("m.yaml:1:10: error: '") and "', inherited from" in message for message in rest)


def test_a_null_that_takes_nothing_out_is_no_error_but_a_slip_is(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("extends: exanest\nname: m\nrouter: {kind: null, arbitration: null}\npower: null\n")
    assert machine.load(file).model.router.kind == "exanet"
    assert "did you mean 'kind'?" in refused(tmp_path, "extends: exanest\nname: m\nrouter: {kid: null}\n")[0]
    assert "'topology'" in refused(tmp_path, "extends: exanest\nname: m\ntopology: null\n")[0]


def test_another_shape_gets_the_virtual_channels_that_it_needs() -> None:
    from exanet import sim

    found = sim.variant("exanest", "jellyfish:20,6,3,1", None, [])
    assert found.resolve()["router"]["virtual_channels"] == found.model.router.virtual_channels.value == 3
    assert sim.variant("exanest", "fat-tree:4,4", None, []).model.router.virtual_channels.value == 2
    with pytest.raises(InputError, match=r"^command line:1:1: error: a router with 599 ports of 2 channels"):
        sim.variant("exanest", "full-mesh:600", None, [])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("links.link.rate", "0 Gb/s", "must be above zero, e.g. 10 Gb/s; list a link that carries nothing"),
        ("router.clock", "0 Hz", "must be above zero, e.g. 156.25 MHz"),
        ("links.link.latency", "99999999999 s", "is longer than 1 s; is its unit right?"),
        ("ni.mailbox", "99999999999 s", "is longer than 1 s; is its unit right?"),
        ("links.link.rate", "10 b/s", "is slower than 1 Mb/s; is its unit right?"),
        ("router.clock", "100 Hz", "is slower than 1 MHz; is its unit right?"),
        ("router.inter_fifo", f"{10**30} words", "more than 2147483647; is its unit right?"),
    ],
)
def test_a_figure_that_no_machine_has_is_reported_by_itself(key: str, value: str, message: str) -> None:
    for base in ("torus-512", "bxi-256"):
        with pytest.raises(InputError) as refusal:
            machine.load(base, located.values({key: value}, "command line"))
        assert any(message in said for said in refusal.value.messages), refusal.value.messages
        assert not any("_ps'" in said or "_words'" in said for said in refusal.value.messages), refusal.value.messages


@pytest.mark.parametrize("rate", ["56 Gb/s", "112 Gb/s", "7 Gb/s"])
def test_a_rate_is_taken_with_the_word_that_its_refusal_names(tmp_path: Path, rate: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"extends: torus-2x2x2\nname: own\nlinks: {{link: {{rate: {rate}}}}}\n")
    with pytest.raises(InputError) as refusal:
        machine.load(file)
    [word] = re.findall(r"a word of (\d+) bit", str(refusal.value))
    file.write_text(f"extends: torus-2x2x2\nname: own\nlinks: {{link: {{rate: {rate}, word: {word} bit}}}}\n")
    [link] = machine.load(file).resolve()["links"]
    assert int(word) * 10**12 == link["word_time_ps"] * machine.load(file).model.links["link"].rate.value
