# SPDX-License-Identifier: Apache-2.0
"""Do parameters with which a part of the interface cannot work end its elaboration, and do the extremes that it may
have pass?"""

from pathlib import Path

import pytest

pyslang = pytest.importorskip("pyslang")
ROOT = Path(__file__).resolve().parents[2]
SOURCES = [str(ROOT / line) for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")]
SMALL = {"Contexts": 2, "Mailboxes": 2, "Peers": 2}


def errors(top: str, parameters: dict[str, int]) -> list[str]:
    """Codes of the errors that the elaboration ends with."""
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    given = " ".join(f"-G{name}={value}" for name, value in parameters.items())
    driver.parseCommandLine(f"slang -DSYNTHESIS --top {top} {given} {' '.join(SOURCES)}", pyslang.driver.CommandLineOptions())
    assert driver.processOptions()
    assert driver.parseAllSources()
    return [str(one.code) for one in driver.createCompilation().getAllDiagnostics() if one.isError()]


@pytest.mark.parametrize(
    ("top", "name", "value"),
    [
        *(("ni_port", "IntraHeaders", value) for value in (0, 1, 65, 256)),
        *(("ni_port", "IntraDepth", value) for value in (1, 32, 100, 8192)),
        *(("ni_port", "MostWords", value) for value in (0, 33)),
        *(("ni_port", "IntraSlots", value) for value in (0, 65)),
        *(("exanet_ni", "Peers", value) for value in (0, 1, 3, 8192)),
        *(("exanet_ni", "Mailboxes", value) for value in (0, 1, 3, 2048)),
        *(("exanet_ni", "Contexts", value) for value in (0, 1, 3, 512)),
        *(("exanet_ni", "Channels", value) for value in (1, 3, 2048)),
        *(("exanet_ni", "Window", value) for value in (0, 1, 3, 64)),
        ("exanet_ni", "YBits", 14),
        ("exanet_ni", "IdBits", 0),
        ("exanet_reduce", "IntraHeaders", 256),
    ],
)
def test_a_part_that_cannot_work_does_not_elaborate(top: str, name: str, value: int) -> None:
    parameters = {**(SMALL if top == "exanet_ni" else {}), name: value}
    assert errors(top, parameters) != []


@pytest.mark.parametrize(
    ("top", "parameters"),
    [
        ("ni_port", {"MostWords": 1, "IntraDepth": 2, "IntraHeaders": 2, "IntraSlots": 1}),
        ("ni_port", {"MostWords": 24, "IntraDepth": 64, "IntraHeaders": 64, "IntraSlots": 64}),
        ("exanet_ni", {**SMALL, "Channels": 2, "Window": 2}),
        ("exanet_ni", {"Contexts": 256, "Mailboxes": 1024, "Peers": 4096, "Channels": 256, "Window": 32}),
    ],
)
def test_the_extremes_elaborate(top: str, parameters: dict[str, int]) -> None:
    assert errors(top, parameters) == []
