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
        *(("exanet_ni", "Channels", value) for value in (1, 3, 512, 1024, 2048)),
        *(("exanet_ni", "Window", value) for value in (0, 1, 3, 64)),
        *(("exanet_ni", "XBits", value) for value in (0, 9, 15)),
        *(("exanet_ni", "YBits", value) for value in (0, 14)),
        *(("exanet_ni", "NodeBits", value) for value in (1, 3)),
        *(("exanet_ni", "IntraHeaders", value) for value in (1, 3)),
        ("exanet_ni", "IdBits", 0),
        *(("exanet_reduce", "IntraHeaders", value) for value in (3, 256)),
        *(("exanet_ip", "IntraSlots", value) for value in (0, 65, 100_000)),
        *(("exanet_ip", "MostWords", value) for value in (0, 33)),
        *(("exanet_link", "MostWords", value) for value in (0, 33)),
        *(("exanet_link", "PayloadDepth", value) for value in (32, 100, 1024)),
        *(("exanet_link", "HeaderDepth", value) for value in (1, 3, 128)),
        ("exanet_phy", "Quiet", 0),
    ],
)
def test_a_part_that_cannot_work_does_not_elaborate(top: str, name: str, value: int) -> None:
    parameters = {**(SMALL if top == "exanet_ni" else {}), name: value}
    assert "DiagCode(ErrorTask)" in errors(top, parameters)  # one of the project's own, with its reason


@pytest.mark.parametrize(
    ("top", "parameters"),
    [
        ("ni_port", {"MostWords": 1, "IntraDepth": 2, "IntraHeaders": 2, "IntraSlots": 1}),
        ("ni_port", {"MostWords": 24, "IntraDepth": 64, "IntraHeaders": 64, "IntraSlots": 64}),
        ("exanet_ni", {**SMALL, "Channels": 2, "Window": 2}),
        ("exanet_ni", {"Contexts": 256, "Mailboxes": 1024, "Peers": 4096, "Channels": 256, "Window": 32}),
        ("exanet_ni", {**SMALL, "NodeBits": 2, "XBits": 4, "YBits": 8, "IntraHeaders": 2, "IntraSlots": 64}),
        ("exanet_ip", {"MostWords": 1, "PayloadDepth": 2, "HeaderDepth": 2, "IntraDepth": 2, "IntraHeaders": 2, "IntraSlots": 1}),
        ("exanet_ip", {"IntraSlots": 64}),
        ("exanet_link", {"MostWords": 1, "PayloadDepth": 2, "HeaderDepth": 2}),
        ("exanet_link", {"PayloadDepth": 512, "HeaderDepth": 64}),
    ],
)
def test_the_extremes_elaborate(top: str, parameters: dict[str, int]) -> None:
    assert errors(top, parameters) == []
