# SPDX-License-Identifier: Apache-2.0
"""The core file that others use the gateware by: FuseSoC takes it, and it lists what the project builds from."""

import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]


def listed() -> list[str]:
    return [line for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")]


def test_core_lists_the_files_of_the_project() -> None:
    core = YAML(typ="safe").load((ROOT / "gateware/exanet.core").read_text().removeprefix("CAPI=2:"))
    assert [f"gateware/{file}" for file in core["filesets"]["rtl"]["files"]] == listed()


def set_up(target: str, folder: Path, *arguments: str) -> None:
    fusesoc = Path(sys.executable).parent / "fusesoc"
    (folder / "fusesoc.conf").write_text("[main]\n")
    command = [fusesoc, "--config", folder / "fusesoc.conf", "--cores-root", ROOT / "gateware", "run", "--setup", "--target", target]
    whole = [*command, "--build-root", folder / "out", "exanet:ip:exanet", *arguments]
    run = subprocess.run(whole, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("port", ["IntraPorts", "InterPorts"])
def test_fusesoc_sets_the_core_up(port: str, tmp_path: Path) -> None:
    set_up("lint", tmp_path, f"--{port}", "1")
    (commands,) = tmp_path.glob("out/**/*.vc")
    text = commands.read_text()
    assert f"-G{port}=1" in text
    assert [Path(line).name for line in text.splitlines() if line.endswith(".sv")] == [Path(file).name for file in listed()]


def test_fusesoc_writes_a_project_for_vivado_with_the_constraints(tmp_path: Path) -> None:
    set_up("vivado", tmp_path, "--InterPorts", "6")
    (project,) = tmp_path.glob("out/**/exanet_ip_exanet_*0.tcl")
    text = project.read_text()
    assert "InterPorts=6" in text and "set_property top exanet_ip" in text and "/constraints/exanet.xdc" in text
    missing = [Path(file).name for file in listed() if f"/{Path(file).name}" not in text]
    assert missing == []
