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


@pytest.mark.parametrize("port", ["IntraPorts", "InterPorts"])
def test_fusesoc_sets_the_core_up(port: str, tmp_path: Path) -> None:
    fusesoc = Path(sys.executable).parent / "fusesoc"
    command = [fusesoc, "--config", tmp_path / "fusesoc.conf", "--cores-root", ROOT / "gateware", "run", "--setup", "--target", "lint"]
    (tmp_path / "fusesoc.conf").write_text("[main]\n")
    run = subprocess.run([*command, "--build-root", tmp_path / "out", "exanet:ip:exanet", f"--{port}", "1"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (commands,) = tmp_path.glob("out/**/*.vc")
    text = commands.read_text()
    assert f"-G{port}=1" in text
    assert [Path(line).name for line in text.splitlines() if line.endswith(".sv")] == [Path(file).name for file in listed()]
