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


def set_up(target: str, folder: Path, *arguments: str, core: str = "exanet:ip:exanet", flags: tuple[str, ...] = ()) -> None:
    fusesoc = Path(sys.executable).parent / "fusesoc"
    (folder / "fusesoc.conf").write_text("[main]\n")
    roots = [word for root in ("gateware", "examples") for word in ("--cores-root", ROOT / root)]
    command = [fusesoc, "--config", folder / "fusesoc.conf", *roots, "run", "--setup", "--target", target, *flags]
    whole = [*command, "--build-root", folder / "out", core, *arguments]
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


def test_fusesoc_sets_the_bench_up(tmp_path: Path) -> None:
    set_up("sim", tmp_path, core="exanet:bench:pair")
    (commands,) = tmp_path.glob("out/**/*.vc")
    text = commands.read_text()
    assert "--top-module pair" in text and "-lcocotbvpi_verilator" in text
    names = [Path(line).name for line in text.splitlines() if line.endswith(".sv")]
    assert names == [*(Path(file).name for file in listed()), "pair.sv"]


def test_the_script_for_yosys_reads_what_fusesoc_lists(tmp_path: Path) -> None:
    """By Tcl as it is, with commands of Yosys that are written down; pyosys, which has no Tcl, then carries the
    first one out."""
    set_up("synth", tmp_path, flags=("--flag", "link"))
    (procedures,) = tmp_path.glob("out/**/edalize_yosys_procs.tcl")
    folder = procedures.parent
    assert "tcl src/exanet_ip_exanet_0.2.0/synth.tcl" in (folder / "Makefile").read_text()
    names = "read_slang scratchpad synth_xilinx write_json stat"
    script = f'proc yosys args {{}}\nforeach c {{{names}}} {{ proc $c args "puts \\[concat $c \\$args\\]" }}\n'
    script += "source src/exanet_ip_exanet_0.2.0/synth.tcl\n"
    run = subprocess.run(["tclsh"], input=script, cwd=folder, capture_output=True, text=True, timeout=60)
    commands = run.stdout.splitlines()
    assert run.returncode == 0 and run.stderr == "" and [line.split()[0] for line in commands] == names.split()
    assert "--top exanet_link" in commands[0] and commands[2].endswith("-top exanet_link")
    code = "import sys; from pyosys import libyosys as y; d = y.Design()\n"
    code += "y.run_pass('tee -q ' + sys.argv[1], d); print('top', d.top_module().name.str(), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, commands[0]], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr.split("top")[-1].split() == ["\\exanet_link"], done.stdout + done.stderr
