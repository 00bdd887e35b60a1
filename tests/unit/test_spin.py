# SPDX-License-Identifier: Apache-2.0
"""Are HPUs that no machine can have refused in its file, are handlers compiled to what the simulator takes, and is it
said when packets needed more memory than there is?"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exanet import machine
from exanet.errors import InputError
from exanet.results import handlers as results
from exanet.run import handlers
from exanet.run.options import Options
from exanet.spin import build, chosen, elf

ANY = 0xFFFFFFFF
COMPILED = pytest.mark.skipif(not shutil.which(build.COMPILER), reason="handlers need gcc-riscv64-linux-gnu")


def changed(folder: Path, text: str) -> machine.Machine:
    (folder / "changed.yaml").write_text(f"extends: pspin\nname: changed\n{text}\n", encoding="utf-8")
    return machine.load(str(folder / "changed.yaml"))


def test_the_section_goes_to_the_simulator_and_null_takes_it_away(tmp_path: Path) -> None:
    resolved = machine.load("pspin").resolve()["ni"]["hpu"]
    assert (resolved["clusters"] * resolved["per_cluster"], resolved["cycle_ps"]) == (32, 1000)
    assert machine.load("fpspin").resolve()["ni"]["hpu"]["cycle_ps"] == 25000
    assert "hpu" not in changed(tmp_path, "hpu: null").resolve()["ni"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hpu: {clusters: 17}", "an interface has 1 to 16 clusters"),
        ("hpu: {clusters: 0}", "to have none, leave the section out"),
        ("hpu: {per_cluster: 65}", "a cluster has 1 to 64 HPUs"),
        ("hpu: {scratchpad: 4 MiB}", "a cluster's memory has 4 MiB at most"),
        ("hpu: {clock: 1 Hz}", "HPUs have clocks from 1 MHz to 100 GHz"),
        ("hpu: {program: 0 B}", "is memory of 4 B to 64 MiB"),
        ("hpu: {far_cycles: 0}", "is 1 to a million cycles"),
        ("hpu: {dispatch: 2 ms}", "is longer than 1 ms"),
        ("hpu: {dma_rate: 100 kb/s}", "is slower than 1 Mb/s"),
        ("router: {max_payload: 10 KiB}", "HPUs take packets of up to 9 KiB"),
        ("ni: {shared_memory_rate: 10 GB/s}", "do not pass the interface; leave one out, or set hpu to null"),
        ("ni: null", "HPUs need interfaces that programs use"),
    ],
)
def test_what_no_machine_has_is_refused_by_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        changed(tmp_path, text)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"level": "flow"}, "--level flow"),
        ({"fabric": "gateware"}, "--fabric gateware"),
        ({"record": Path("trace")}, "--record"),
        ({"timeline": True}, "--timeline"),
        ({"mpi_calls": "simulated"}, "--mpi-calls simulated"),
    ],
)
def test_options_that_do_not_go_with_handlers(given: dict[str, Any], option: str) -> None:
    options = Options("pspin", 2, ("true",), handlers="copy")
    handlers.check(options, machine.load("pspin"))
    with pytest.raises(InputError, match=f"^{option} and --handlers do not go together"):
        handlers.check(replace(options, **given), machine.load("pspin"))
    with pytest.raises(InputError, match="have no HPUs"):
        handlers.check(options, machine.load("exanest"))
    handlers.check(replace(options, handlers=None, **given), machine.load("exanest"))


@COMPILED
def test_a_file_becomes_words_addresses_and_what_it_matches(tmp_path: Path) -> None:
    source = tmp_path / "own.c"
    source.write_text(
        "#include <spin.h>\nSPIN_MATCH(.tag = 9, .source = SPIN_ANY, .destination = 1, .least = 0);\n"
        "uint32_t first = 0x1234, zeros[4];\n"
        "void completion_handler(handler_args_t *args) { zeros[0] = first + args->hpu_id; }\n",
        encoding="utf-8",
    )
    made = build.program(source)
    assert (made["header"], made["payload"], made["completion"]) == (0, 0, 0x1D000000)
    assert (made["tag"], made["source"], made["destination"], made["least_bytes"]) == (9, ANY, 1, 1)
    assert 0x1234 in made["data"] and made["memory_bytes"] == 4 * len(made["data"]) + 16
    assert 0x8082 in (made["text"][-1] & 0xFFFF, made["text"][-1] >> 16), "it ends with a compressed ret"


@COMPILED
def test_the_handlers_of_the_package_are_found_by_name() -> None:
    assert build.shipped() == ["copy", "filter", "histogram", "reduce", "unpack"]
    for name in build.shipped():
        made = chosen.resolved(name)["handlers"]
        assert (made["tag"], made["payload"] > 0) == (7, True)
    assert chosen.resolved(None) == {}


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(200), b"\x7fELF\x01\x01" + bytes(60)])
def test_what_is_no_executable_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError, match="this is no executable for RISC-V of 32 bits"):
        elf.read(tmp_path / "file")


def test_memory_that_packets_do_not_fit_into_is_said() -> None:
    assert results.note({"most_packet_bytes": 4096}, 4096) == ""
    assert "memory for 4.00 KiB (hpu.packet_memory)" in results.note({"most_packet_bytes": 4097}, 4096)


def test_figures_of_a_run_without_handled_messages() -> None:
    keys = ("messages", "packets", "bytes", "payloads", "payload_cycles", "dma_bytes", "first_ps", "last_packet_ps")
    found = results.totals(dict.fromkeys(keys, 0))
    assert (found["cycles_per_packet"], found["gbit_per_s"]) == (0, 0)
