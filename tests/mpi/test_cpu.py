# SPDX-License-Identifier: Apache-2.0
"""Do programs for another processor run under QEMU, in that processor's time and on the same network?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from .conftest import BUILD, PROGRAMS, Finished, Runner, Stack

MPICH = BUILD / "mpich-aarch64"
MPICH_RISC_V = BUILD / "mpich-riscv64"
COMPILER = "aarch64-linux-gnu-gcc"
PAGE = (Path(__file__).parents[2] / "docs/cpu.md").read_text(encoding="utf-8")
EXAMPLE = Path(__file__).parents[2] / "examples/pingpong.c"
GRADIENTS = Path(__file__).parents[2] / "bench/apps/cg.c"
A53 = ("--ranks-as", "auto", "--cpu", "a53")
HERTZ = 1.2e9

needed = pytest.mark.skipif(
    not (MPICH.is_dir() and shutil.which(COMPILER) and shutil.which("qemu-aarch64")),
    reason="tools/setup.sh test installs QEMU, a compiler, MPICH",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Programs for AArch64 with MPICH."""
    folder, words = tmp_path_factory.mktemp("aarch64"), (f"-I{MPICH}/include", f"-L{MPICH}/lib", "-lmpi", "-Wl,--allow-shlib-undefined")
    names = ("cpu", "cpu_threads", "messages")
    for name in names:
        subprocess.run([COMPILER, "-O2", PROGRAMS / f"{name}.c", "-o", folder / name, *words], check=True)
    return {name: folder / name for name in names}


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{MPICH}/lib:{MPICH}/lib/mpich")


def lines(done: Finished) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split() for line in done.output.splitlines())}


@needed
def test_a_program_takes_the_cycles_of_its_processor(exanet_run: Runner, built: dict[str, Path]) -> None:
    """Closed forms: chains of 64 additions of 4 cycles, 128 moves at two a cycle, loads of 3 cycles, and 13 and 120
    more where the levels miss. What begins and ends each is up to 2 %."""
    done = exanet_run(None, 2, [built["cpu"]], options=A53)
    took = lines(done)
    expected = {"chain": 640_000 * 4, "independent": 640_000, "16K": 65536 * 3, "128K": 65536 * 16, "4M": 65536 * 136}
    for name, cycles in expected.items():
        assert took[name] == pytest.approx(cycles / HERTZ, rel=0.02), name
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("|") and line.count("µs") == 2
    ]
    assert len(rows) == len(expected)
    for name, row in zip(expected, rows, strict=True):
        assert float(row[3].removesuffix(" µs")) == pytest.approx(1e6 * took[name], rel=0.002), f"docs/cpu.md: {row[0]}"
    summary = json.loads((done.folder / "summary.json").read_text())
    assert summary["run"]["cpu"] == "a53" and summary["run"]["compute"] == "counted"
    counts = summary["processor"]
    assert counts["instructions"] > 2 * (640_000 + 1_280_000 + 3 * 65536)
    assert counts["second_level_misses"] > 2 * 65536
    ranks = pl.read_parquet(done.folder / "ranks.parquet")
    assert int(ranks["cpu_cycles"].sum()) == counts["cycles"]


@needed
def test_threads_and_children(exanet_run: Runner, built: dict[str, Path]) -> None:
    """Threads side by side take the time of one; each addition waits 4 cycles for the last one of the loop. What the
    program starts on the host has nothing preloaded."""
    done = exanet_run(None, 2, [built["cpu_threads"]], options=A53)
    took = {line.split()[0]: float(line.split()[1]) for line in done.output.splitlines()}
    assert took["threads"] == pytest.approx(4e6 / HERTZ, rel=0.02)
    assert (took["sums"], took["child"], took["system"]) == (3e6, 3, 4)
    assert "preload" not in done.errors, done.errors


@needed
def test_counted_runs_give_the_same_bytes(exanet_run: Runner, built: dict[str, Path]) -> None:
    first, second = (exanet_run(None, 2, [built["messages"]], options=A53) for _ in range(2))
    tables = sorted(path.name for path in first.folder.glob("*.parquet"))
    assert tables and first.output == second.output
    (figure,) = re.findall(r"prints ([0-9.]+) µs for a message", PAGE)
    # The loader and the size of the environment move the stack, so hosts differ: by 1.2 % so far.
    assert float(first.output.split()[2]) == pytest.approx(float(figure), rel=0.03), "docs/cpu.md has another figure"
    for name in tables:
        own = [pl.read_parquet(done.folder / name) for done in (first, second)]
        # these count what the library does between two looks at what has come, too
        own = [frame.drop([column for column in frame.columns if column.startswith("cpu_")]) for frame in own]
        assert own[0].equals(own[1]), name


@needed
def test_a_recording_costs_few_cycles(exanet_run: Runner, built: dict[str, Path]) -> None:
    """What is written down is neither counted nor in the caches; about 120 cycles of each call remain."""
    plain, recorded = (exanet_run(None, 2, [built["messages"]], options=(*A53, *more)) for more in ((), ("--timeline",)))
    cycles = [json.loads((done.folder / "summary.json").read_text())["processor"]["cycles"] for done in (plain, recorded)]
    calls = len(pl.read_parquet(recorded.folder / "calls.parquet"))
    assert calls > 400 and 0 <= cycles[1] - cycles[0] < 400 * calls
    took_us = [float(done.output.split()[2]) for done in (plain, recorded)]
    assert took_us[1] - took_us[0] < 2 * 250 / HERTZ * 1e6


@needed
@pytest.mark.parametrize("stack", ["mpich"], indirect=True)
def test_the_network_s_times_do_not_depend_on_the_processor(
    exanet_run: Runner, built: dict[str, Path], stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without computing, a program for AArch64 takes the time that the same one takes for this machine."""
    emulated = exanet_run(None, 2, [built["messages"]], options=("--ranks-as", "auto", "--cpu", "a53", "--compute", "off"))
    monkeypatch.delenv("LD_LIBRARY_PATH")
    subprocess.run([stack.compiler, "-O2", PROGRAMS / "messages.c", "-o", tmp_path / "messages"], check=True)
    here = exanet_run(stack, 2, [tmp_path / "messages"])
    assert emulated.output == here.output and "us" in here.output
    assert f"`--compute off` it is {here.output.split()[2]} µs" in PAGE, "docs/cpu.md has another figure"
    ends = [json.loads((done.folder / "summary.json").read_text())["virtual_ps"] for done in (emulated, here)]
    assert ends[0] == ends[1] > 0


@needed
def test_more_ranks_than_processors_share_a_machine(exanet_run: Runner, built: dict[str, Path]) -> None:
    done = exanet_run(None, 8, [built["messages"]], options=(*A53, "--map", "round-robin"))
    assert len(json.loads((done.folder / "summary.json").read_text())["ranks"]) == 8


needs_risc_v = pytest.mark.skipif(
    not (shutil.which("qemu-riscv64") and shutil.which("riscv64-linux-gnu-gcc")), reason="no compiler for RISC-V here"
)


@needs_risc_v
def test_a_program_for_risc_v_without_mpi(exanet_run: Runner, tmp_path: Path) -> None:
    from exanet.cpu import guest

    folder = guest.libraries("riscv64")
    include = guest.sources() / "runtime/include"
    words = ["riscv64-linux-gnu-gcc", "-O2", f"-I{include}", EXAMPLE, folder / "libexanet-fi.so", f"-Wl,-rpath,{folder}"]
    subprocess.run([*words, "-o", tmp_path / "pingpong"], check=True)
    options = ("--ranks-as", "auto", "--cpu", "u740", "--mpi", "none")
    counted, off = (exanet_run(None, 2, [tmp_path / "pingpong"], options=(*options, *more)) for more in ((), ("--compute", "off")))
    ns = [float(done.output.split()[2]) for done in (counted, off)]
    assert ns[0] > ns[1] > 100


@needs_risc_v
def test_a_missing_mpi_is_named_with_the_command_that_builds_it(
    exanet_run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH")
    (tmp_path / "libmpi.c").write_text("int MPI_Init(int *c, char ***v) { return c == 0 && v == 0; }\n")
    (tmp_path / "main.c").write_text("int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n")
    library = tmp_path / "libmpi.so.12"
    compiler = "riscv64-linux-gnu-gcc"
    subprocess.run([compiler, "-shared", "-fPIC", tmp_path / "libmpi.c", "-o", library, f"-Wl,-soname,{library.name}"], check=True)
    subprocess.run([compiler, tmp_path / "main.c", library, "-o", tmp_path / "main"], check=True)
    options = ("--ranks-as", "auto", "--cpu", "u740")
    errors = exanet_run(None, 2, [tmp_path / "main"], options=options, code=2).errors
    assert "needs libmpi.so.12 for riscv64, in no folder where its loader looks" in errors and errors.count("exanet: error") == 1
    assert "'tools/setup.sh mpich-riscv64' in ExaNet's source folder builds MPICH for it" in errors
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert "libmpi" not in exanet_run(None, 2, [tmp_path / "main"], options=options, code=1).errors


@pytest.mark.long
@needs_risc_v
@pytest.mark.skipif(not MPICH_RISC_V.is_dir(), reason="no MPICH for RISC-V here: tools/setup.sh mpich-riscv64 builds it")
@pytest.mark.parametrize("stack", ["mpich"], indirect=True)
def test_conjugate_gradients_on_risc_v(exanet_run: Runner, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is that of this machine, on one rank and on several, and messages take the network's time."""
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{MPICH_RISC_V}/lib")
    program, here = tmp_path / "cg-riscv64", tmp_path / "cg"
    words = (f"-I{MPICH_RISC_V}/include", f"-L{MPICH_RISC_V}/lib", "-lmpi", "-lm")
    subprocess.run(["riscv64-linux-gnu-gcc", "-O2", GRADIENTS, "-o", program, *words], check=True)
    options = ("--ranks-as", "auto", "--cpu", "u740")
    done = {ranks: exanet_run(None, ranks, [program, "12", "20"], options=options) for ranks in (1, 4)}
    again = exanet_run(None, 4, [program, "12", "20"], options=options)
    subprocess.run(["riscv64-linux-gnu-gcc", "-O2", PROGRAMS / "messages.c", "-o", tmp_path / "messages", *words], check=True)
    messages = exanet_run(None, 2, [tmp_path / "messages"], options=(*options, "--compute", "off")).output
    monkeypatch.delenv("LD_LIBRARY_PATH")
    subprocess.run([stack.compiler, "-O2", GRADIENTS, "-o", here, "-lm"], check=True)
    subprocess.run([stack.compiler, "-O2", PROGRAMS / "messages.c", "-o", tmp_path / "messages"], check=True)
    assert messages == exanet_run(stack, 2, [tmp_path / "messages"]).output
    for ranks, run in done.items():
        assert run.output == exanet_run(stack, ranks, [here, "12", "20"]).output and "answer" in run.output
    summaries = [json.loads((run.folder / "summary.json").read_text()) for run in (done[1], done[4], again)]
    instructions = [summary["processor"]["instructions"] for summary in summaries]
    # four times the computing, and what MPI does for messages and sums
    assert 4 * instructions[0] < instructions[1] < 8 * instructions[0]
    # the name of the folder of results moves the stack
    assert summaries[1]["virtual_ps"] == pytest.approx(summaries[2]["virtual_ps"], rel=0.03)
    assert summaries[1]["virtual_ps"] > summaries[0]["virtual_ps"]


@needed
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cpu", "a54"), "--cpu a54: no processor has this name; did you mean 'a53'?"),
        (("--cpu", "u740"), "is built for aarch64, and this processor is riscv64"),
        (("--cpu", "a53", "--ranks-as", "packed"), "--cpu and --ranks-as packed do not go together"),
        (("--cpu", "a53", "--trap-tsc"), "--cpu and --trap-tsc do not go together"),
        (("--cpu", "a53", "--mpi", "openmpi"), "Open MPI does not yet"),
        (("--cpu", "missing.yaml"), "missing.yaml"),
        ((), "let it run under QEMU (--cpu, docs/cpu.md)"),
    ],
)
def test_what_cannot_be_is_refused(exanet_run: Runner, built: dict[str, Path], options: tuple[str, ...], message: str) -> None:
    done = exanet_run(None, 2, [built["messages"]], options=options, code=2)
    assert message in done.errors and done.errors.count("\n") == 1
    assert not done.folder.exists()


@needed
def test_a_processor_of_one_s_own_and_its_mistakes(exanet_run: Runner, built: dict[str, Path], tmp_path: Path) -> None:
    from exanet.cpu import processor

    text = (processor._FOLDER / "a53.yaml").read_text()
    own = tmp_path / "own.yaml"
    own.write_text(text.replace("value: 1.2 GHz", "value: 600 MHz"))
    took = [
        lines(exanet_run(None, 2, [built["cpu"]], options=("--ranks-as", "auto", "--cpu", name)))["chain"] for name in ("a53", str(own))
    ]
    assert took[1] == pytest.approx(2 * took[0], rel=1e-3)
    for before, after, message in (
        ("frequency:", "frequence:", "unknown key 'frequence'"),
        ("value: 1.2 GHz", "value: 1.2 G", "frequency"),
        ("issue_width: {value: 2", "issue_width: {value: 0", "give a number from 1 to 8"),
        ("architecture: aarch64", "architecture: sparc", "aarch64"),
        ("value: 32 KiB", "value: 33000 B", "no multiple of lines times ways"),
    ):
        assert before in text
        own.write_text(text.replace(before, after, 1))
        done = exanet_run(None, 2, [built["cpu"]], options=("--cpu", str(own)), code=2)
        assert message in done.errors and f"{own}:" in done.errors, done.errors
