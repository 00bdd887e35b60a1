# SPDX-License-Identifier: Apache-2.0
"""Structural rows of `exanet validate` come from machine files, formats and the gateware's sources: each fails once
one of these is changed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from exanet.gateware import build
from exanet.machine import Machine, load, located
from exanet.machine.located import Located
from exanet.validate import registry, table
from exanet.validate.experiments import formats
from exanet.validate.runner import Runner


class Changed(Runner):
    """Machines with changes, and a copy of the gateware's sources with some text replaced."""

    def __init__(self, machines: Mapping[str, Mapping[str, Any]] | None = None, gateware: Path | None = None) -> None:
        super().__init__()
        self.changes, self.folder = machines or {}, gateware

    def machine(self, name: str, changes: Mapping[str, Located] | None = None) -> Machine:
        ours = located.values(self.changes.get(name, {}), "test")
        return load(name, {**ours, **(changes or {})})

    def gateware(self) -> Path:
        return self.folder or super().gateware()


def verdict(row: str, runner: Runner) -> str:
    found = table.measure(registry.experiments()[row], runner)
    return str(found["verdict"])


def constant(value: str) -> dict[str, str]:
    return {"value": value, "source": "a test", "kind": "chosen"}


MACHINES: dict[str, tuple[str, dict[str, Any]]] = {
    "E13": ("exanest-mezzanine", {"links.inter-qfdb.rate": "10 Gb/s"}),
    "E14": ("exanest-mezzanine", {"links.inter-qfdb.rate": "10 Gb/s"}),
    "E15": ("track-1", {"hardware.cores_per_node": 8}),
    "E16": ("track-1", {"hardware.memory_per_node": "8 GB"}),
    "E17": ("track-1", {"hardware.fpgas_per_node": 2}),
    "E18": ("track-1", {"hardware.cores_per_node": 5}),
    "E19": ("track-2", {"hardware.cores_per_node": 2}),
    "E20": ("track-2", {"hardware.memory_per_node": "8 GB"}),
    "E42": ("exanest", {"topology.shape": [4, 4, 1]}),
    "P01": ("exanest", {"hardware.memory_per_node": "8 GB"}),
    "P02": ("exanest", {"topology.shape": [4, 4, 1]}),
    "R25": ("exanest-blade", {"topology.shape": [2, 1, 1]}),
    "D16": ("dragonfly-342", {"topology.shape": [4]}),
    "K01": ("exanest", {"router.max_payload": "512 B"}),
    "K02": ("exanest", {"router.inter_fifo": "512 words"}),
    "K03": ("trenz-2x2", {"links.link.rate": "20 Gb/s"}),
    "D01": ("exanest", {"router.header": "2 words"}),
    "D02": ("exanest", {"router.max_payload": "128 B"}),
    "D05": ("trenz-2x2", {"links.link.framing": "4 words"}),
    "D06": ("trenz-2x2", {"links.link.framing": "1 word"}),
    "D07": ("trenz-2x2", {"links.link.pause_every": "8 words"}),
    "D08": ("trenz-2x2", {"links.link.framing": "0 words"}),
    "K23": ("trenz-2x2", {"power.router.idle": "90 mW"}),
    "K25": ("trenz-2x2", {"power.links.link.idle": "200 mW"}),
    "E43": ("trenz-2x2", {"hardware.memory_per_node": "4 GB"}),
    "E21": ("exanest-tor", {"links.link.word": "32 bit"}),
    "D13": ("trenz-2x2", {"links.link.rate": "20 Gb/s"}),
    "D14": ("trenz-2x2", {"router.header": "2 words"}),
    "K26": ("trenz-2x2", {"power.links.link.idle": "300 mW"}),
    "R01": ("bxi-256", {"links.link.rate": "200 Gb/s"}),
    "R02": ("bxi-256", {"router.clock": "800 MHz"}),
    "A01": ("apenet", {"topology.shape": [4, 4, 1]}),
}


@pytest.mark.parametrize("row", MACHINES)
def test_a_row_fails_once_its_machine_is_another(row: str) -> None:
    machine, changes = MACHINES[row]
    usual = "off" if row in ("E13", "K26") else "passed"
    assert verdict(row, Changed()) == usual
    assert verdict(row, Changed({machine: changes})) == "failed"


GATEWARE = {
    "K01": ("common/rtl/exanet_pkg.sv", "MaxPayloadWords = 32", "MaxPayloadWords = 16"),
    "K02": ("router/rtl/exanet_router.sv", "HeaderDepth = 32", "HeaderDepth = 16"),
    "K03": ("common/rtl/exanet_pkg.sv", "LinkBits = 64", "LinkBits = 32"),
    "K15": ("common/rtl/exanet_pkg.sv", "ControlKindReserved", "ControlKindRepeat"),
    "K16": ("common/rtl/exanet_pkg.sv", "VirtualChannels = 2", "VirtualChannels = 4"),
    "R19": ("ethernet/rtl/eth_fec_decoder.sv", "[513:0]      chunk_o", "[503:0]      chunk_o"),
    "D01": ("common/rtl/exanet_pkg.sv", "MaxPayloadWords = 32", "MaxPayloadWords = 16"),
}


@pytest.mark.parametrize("row", GATEWARE)
def test_a_row_fails_once_the_gateware_is_another(row: str, tmp_path: Path) -> None:
    path, text, other = GATEWARE[row]
    read_too = ("ethernet/rtl/eth_fec_syndromes.sv", "ethernet/rtl/eth_fec_pkg.sv")
    for kept in {*read_too, *(file for file, _, _ in GATEWARE.values())}:
        (tmp_path / kept).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build.sources() / "gateware" / kept, tmp_path / kept)
    assert verdict(row, Changed(gateware=tmp_path)) == "passed"
    changed = (tmp_path / path).read_text().replace(text, other)
    assert other in changed
    (tmp_path / path).write_text(changed)
    assert verdict(row, Changed(gateware=tmp_path)) == "failed"


def test_rows_fail_once_a_format_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = {"dmadd": (0, 20), "dcid": (48, 10), "ecc": (120, 8)}
    monkeypatch.setitem(formats.LAYOUTS, "header", (64, narrow))
    assert [verdict(row, Runner()) for row in ("K01", "E11", "R56")] == ["failed"] * 3


def test_all_structural_rows_are_changed_here_or_measured_in_the_gateware() -> None:
    structural = {row.id for row in registry.experiments().values() if row.kind == "structural"}
    verilated = {row.id for row in registry.experiments().values() if row.kind == "structural" and row.needs}
    assert structural == (structural & (MACHINES.keys() | GATEWARE.keys())) | verilated
