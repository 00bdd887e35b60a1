# SPDX-License-Identifier: Apache-2.0
"""Do messages from and to device memory take the time of their path, and do programs get the right data?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from exanet.run.launch import library_folder

from .conftest import Finished, Runner, Stack

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/gpu.md").read_text(encoding="utf-8")
READ_US, WRITE_US, COPY_US, BLOCK = 1.13, 0.57, 5.15, 65536
READ_RATE, COPY_RATE = 1.5e3, 6.7e3  # B/us
MEMORY_US = 0.25  # what host memory's own time is, which device memory's replaces
GPU = Callable[..., Finished]


@pytest.fixture
def on_gpus(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> GPU:
    """Runs programs/gpu.c on quong with this path of messages."""
    folder = library_folder()
    program = compiled("gpu", f"-I{ROOT}/runtime/include", "-Wl,--no-as-needed", str(folder / "libexanet-gpu.so"), f"-Wl,-rpath,{folder}")

    def run(*words: str, path: str = "auto", ranks: int = 2, more: tuple[str, ...] = (), code: int = 0) -> Finished:
        machine = tmp_path / f"{path}.yaml"
        above = "" if path == "auto" else "\n  staged_above: null"
        machine.write_text(f"extends: quong\nname: {path}\ngpu:\n  path: {path}{above}\n", encoding="utf-8")
        options = ("--compute", "off", "--map", "round-robin", *more)
        done = exanet_run(stack, ranks, [program, *words], machine=str(machine), options=options, code=code)
        assert "wrong" not in done.output, done.output
        return done

    return run


def one_way(run: GPU, size: int, places: tuple[str, str], path: str = "auto", more: tuple[str, ...] = ()) -> float:
    return float(run("pingpong", str(size), *places, path=path, more=more).line("one-way-us")[0])


@pytest.mark.every_mpi
def test_a_short_message_waits_for_the_device_at_its_ends(on_gpus: GPU) -> None:
    host = one_way(on_gpus, 8, ("host", "host"))
    peer = one_way(on_gpus, 8, ("device", "device"), "peer")
    assert peer - host == pytest.approx(READ_US + WRITE_US + 8 / READ_RATE, abs=0.02)
    staged = one_way(on_gpus, 8, ("device", "device"), "staged")
    assert staged - host == pytest.approx(2 * COPY_US, abs=0.02)
    mixed = one_way(on_gpus, 8, ("device", "host"), "peer")
    assert mixed - host == pytest.approx((peer - host) / 2, abs=0.02), "half of a round trip has one end in the device"
    assert one_way(on_gpus, 8, ("device", "device")) == pytest.approx(peer, abs=0.001), "auto: it is short"


def test_a_long_message_goes_at_the_less_of_link_and_device(on_gpus: GPU) -> None:
    sizes, both = (1 << 19, 1 << 20), ("device", "device")
    host, staged, peer = (
        [one_way(on_gpus, size, places, path) for size in sizes]
        for places, path in ((("host", "host"), "auto"), (both, "staged"), (both, "peer"))
    )
    assert peer[1] - peer[0] == pytest.approx((1 << 19) / READ_RATE, rel=0.01)
    assert staged[1] - staged[0] == pytest.approx(host[1] - host[0], rel=0.01)
    assert host[1] - host[0] < 0.9 * (peer[1] - peer[0])
    assert staged[1] - host[1] == pytest.approx(2 * (COPY_US + BLOCK / COPY_RATE) - MEMORY_US, rel=0.02)
    assert one_way(on_gpus, 1 << 20, both) == pytest.approx(staged[1], rel=0.001), "auto: it is long"


@pytest.mark.every_mpi
@pytest.mark.parametrize("what", ["collectives", "windows"])
def test_data_arrive_and_take_the_device_s_time(on_gpus: GPU, what: str) -> None:
    host, peer = (float(on_gpus(what, place, path="peer", ranks=4).line(f"{what}-us")[0]) for place in ("host", "device"))
    assert peer > host + READ_US + WRITE_US


@pytest.mark.every_mpi
def test_copies_kernels_and_streams(on_gpus: GPU) -> None:
    done = on_gpus("copies")
    copy = COPY_US + 6_700_000 / COPY_RATE
    for name, us in (("to-device", copy), ("within-launched", 0), ("within", 2 * 6.7e6 / 150e3), ("to-host", copy), ("launch", 5),
                     ("kernel", 100), ("two-streams", 5 + 5 + 200), ("one-stream", 5 + 400)):  # fmt: skip
        assert float(done.line(name)[0]) == pytest.approx(us, abs=0.2), name


def test_errors_and_attributes(on_gpus: GPU) -> None:
    assert on_gpus("errors").line("errors") == ["cudaErrorNoDevice"]


def test_processes_and_packed_ranks_take_the_same_time(on_gpus: GPU, stack: Stack) -> None:
    ways = [one_way(on_gpus, 100_000, ("device", "host"), more=("--ranks-as", how)) for how in ("packed", "processes")]
    assert ways[0] == pytest.approx(ways[1], rel=1e-6)


def test_kernels_of_a_program_are_refused_by_name(on_gpus: GPU) -> None:
    refused = on_gpus("kernel", code=1)
    assert "the program has CUDA kernels, which the simulated GPUs cannot run" in str(refused.summary["reason"])


def test_the_spin_glass_keeps_its_energy_on_any_number_of_ranks(exanet_run: Runner, mpich: Stack) -> None:
    options = ("--compute", "off", "--map", "round-robin")
    said = []
    for ranks in (1, 4):
        done = exanet_run(mpich, ranks, [mpich.python, ROOT / "examples/spin_glass.py", "8", "2"], machine="quong", options=options)
        said.append(done.line("energy a spin:"))
    assert said[0] == said[1] and said[0][0] == said[0][2]


def test_the_search_finds_the_same_levels_on_any_number_of_ranks(exanet_run: Runner, mpich: Stack) -> None:
    """It ends with an error where the tree is wrong."""
    said = set()
    for ranks in (1, 3, 4):
        options = ("--compute", "off", "--map", "round-robin")
        done = exanet_run(mpich, ranks, [mpich.python, ROOT / "examples/bfs.py", "9"], machine="quong", options=options)
        said.add(tuple(done.line("found")))
    assert len(said) == 1


@pytest.mark.long
def test_the_page_and_what_its_commands_print(mpich: Stack, tmp_path: Path) -> None:
    for kind in ("python", "yaml"):
        for text in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL):
            (tmp_path / text.split()[1]).write_text(text, encoding="utf-8")
    for name in ("spin_glass.py", "bfs.py"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    environment = {**os.environ, "PATH": f"{Path(mpich.python).parent}:{os.environ['PATH']}"}
    printed = []
    for line in (line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()):
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    rows = re.findall(r"\| ([0-9.]+) us \| ([0-9.]+) us \| ([0-9.]+) us \|", PAGE)
    assert [tuple(re.findall(r"one way: ([0-9.]+) us", said)) for said in printed[:3]] == rows
    assert [re.findall(r"(\d+) ps a spin", said)[0] for said in printed[3:5]] == re.findall(r"(\d+) ps", PAGE)
    edges = [re.findall(r"(\d+) million edges a second, ([0-9.]+ %)", said)[0] for said in printed[5:]]
    assert edges == re.findall(r"(\d+) million \| ([0-9.]+ %)", PAGE) and len(edges) == 3
