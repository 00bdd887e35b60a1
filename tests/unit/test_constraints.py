# SPDX-License-Identifier: Apache-2.0
"""Do the constraints of the crossings name registers that are there, and every crossing? Without a tool that reads them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {Path(line).stem: (ROOT / line).read_text() for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")}


def instances(module: str) -> dict[str, str]:
    """Names of the instances in a module, and of what module each is."""
    found = re.findall(r"^\s+(\w+) (?:#\(.*?\) )?(u_\w+) \(", SOURCES[module], re.M)
    return {name: kind for kind, name in found}


def missing(text: str) -> list[str]:
    """Cells under exanet_phy that a file of constraints names and that no source has."""
    lost = []
    for group in re.findall(r"get_(?:cells|pins) \{([^}]*)\}", text):
        for path in group.split():
            *folders, register = re.sub(r"/CLR$", "", path).split("/")
            module = "exanet_phy"
            for folder in folders:
                module = instances(module).get(folder, "")
                if not module:
                    break
            name = re.sub(r"_reg(\*|\[.*\])?$", "", register)
            if not module or not re.search(rf"\b{name}(\[[^=;]*\])? +<=", SOURCES[module]):
                lost.append(path)
    return lost


@pytest.mark.parametrize("suffix", ["xdc", "sdc"])
def test_every_register_that_is_constrained_is_there(suffix: str) -> None:
    text = (ROOT / f"gateware/constraints/exanet_phy.{suffix}").read_text()
    assert missing(text) == []
    assert missing(text.replace("write_gray_q", "write_grey_q")) != []


@pytest.mark.parametrize("suffix", ["xdc", "sdc"])
def test_every_synchroniser_is_constrained(suffix: str) -> None:
    text = (ROOT / f"gateware/constraints/exanet_phy.{suffix}").read_text()
    paths = []
    for name, module in instances("exanet_phy").items():
        inner = {"": module} | {f"/{n}": m for n, m in instances(module).items()}
        paths += [name + below for below, kind in inner.items() if kind in {"exanet_sync", "exanet_reset_sync"}]
    assert len(paths) == 10
    assert [path for path in paths if f"{path}/meta_q_reg" not in text] == []
