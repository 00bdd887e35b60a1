# SPDX-License-Identifier: Apache-2.0
"""`exanet machines`: the published tables of the racks, and the two forms of its output."""

import json

import pytest
from typer.testing import CliRunner

from exanet import cli, machine
from exanet.machine import facts

# MICPRO'18, table 1: FPGAs, cores, GB of memory.
TABLE_1 = {
    ("track-1", "blade"): (16, 64, 256),
    ("track-1", "chassis"): (144, 576, 2304),
    ("track-1", "rack"): (432, 1728, 6912),
    ("track-2", "blade"): (64, 256, 1024),
    ("track-2", "chassis"): (384, 1536, 6144),
    ("track-2", "rack"): (3840, 15360, 61440),
}
# The same, for each rack unit; of Track-1 the table gives rounded figures.
DENSITY = {"track-1": (11, 43, 173), "track-2": (96, 384, 1536)}


@pytest.mark.parametrize(("where", "expected"), TABLE_1.items())
def test_packaging_gives_the_published_table(where: tuple[str, str], expected: tuple[int, int, int]) -> None:
    name, level = where
    row = next(row for row in facts.levels(machine.load(name)) if row.name == level)
    assert (row.fpgas, row.cores, row.memory_bytes / 10**9) == expected


@pytest.mark.parametrize(("name", "expected"), DENSITY.items())
def test_packaging_gives_the_published_density(name: str, expected: tuple[int, int, int]) -> None:
    density = facts.levels(machine.load(name))[-1].per_unit()
    assert density is not None
    assert tuple(round(density[key]) for key in ("fpgas", "cores", "memory_gb")) == expected


def test_the_largest_package_is_the_machine() -> None:
    for name in machine.names():
        loaded = machine.load(name)
        packaging = facts.levels(loaded)
        if packaging:
            assert packaging[-1].cores == loaded.cores, name


def test_the_list_as_data() -> None:
    rows = json.loads(CliRunner().invoke(cli.app, ["machines", "--json"]).stdout)
    prototype = next(row for row in rows if row["name"] == "exanest")
    assert (prototype["nodes"], prototype["cores"], prototype["memory_bytes"]) == (128, 512, 2048 * 10**9)
    assert prototype["link_gbps"] == {"intra-qfdb": 10.0, "inter-qfdb": 10.0}
    assert prototype["diameter_hops"] == 1 + 2 + 2 + 1 + 1  # out to the network FPGA, half of 4 + 4 + 2, and in
    mesh = next(row for row in rows if row["name"] == "trenz-2x2")
    assert (mesh["links"], mesh["diameter_hops"], mesh["bisection_links"]) == (4, 2, 2)


def test_the_list_names_every_machine() -> None:
    shown = CliRunner().invoke(cli.app, ["machines"])
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in machine.names())


def test_a_description_shows_every_constant_with_its_source() -> None:
    shown = CliRunner().invoke(cli.app, ["machines", "exanest"])
    assert shown.exit_code == 0
    for name, constant in machine.load("exanest").constants():
        assert name in shown.stdout
        assert constant.source in shown.stdout


def test_a_description_as_data_writes_values_with_units() -> None:
    data = json.loads(CliRunner().invoke(cli.app, ["machines", "trenz-2x2", "--json"]).stdout)
    values = {row["name"]: row["value"] for row in data["constants"]}
    assert values["router.clock"] == "156.25 MHz"
    assert values["ni.store_word"] == "25.6 ns"
    assert values["ni.packet_max"] == "256 B"
    assert values["links.link.rate"] == "10 Gb/s"
    assert values["router.header"] == "1 word"
    assert data["extends"] == ["exanest"]
