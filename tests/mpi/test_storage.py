# SPDX-License-Identifier: Apache-2.0
"""Do reads and writes of real programs take the time of a simulated storage, and do their files stay the host's?"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from .conftest import PROGRAMS, Finished, Runner, Stack

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/storage.md").read_text(encoding="utf-8")
DEVICE = "read_latency: 71 us, write_latency: 20 us, read_rate: 3000 MB/s, write_rate: 1150 MB/s, queue_depth: 8"
SLOW = "read_latency: 71 us, write_latency: 20 us, read_rate: 300 MB/s, write_rate: 200 MB/s, queue_depth: 8"
MACHINE = f"""extends: exanest
name: stored
description: The prototype with storages
storage:
  nvme: {{kind: local, {DEVICE}}}
  one: {{kind: servers, servers: [1], {DEVICE}}}
  slow: {{kind: servers, servers: [1], {SLOW}}}
  far: {{kind: servers, servers: [5], {DEVICE}}}
  near: {{kind: cache, behind: slow, {DEVICE}}}
  ahead: {{kind: cache, behind: slow, prefetch: 1 MiB, {DEVICE}}}
  striped: {{kind: servers, servers: [1, 2, 3], {SLOW}}}
  named: {{kind: local, {DEVICE}, metadata_latency: 50 us}}
  served: {{kind: servers, servers: [1], metadata_servers: [5], {DEVICE}, metadata_latency: 50 us, metadata_queue_depth: 1}}
  before: {{kind: cache, behind: served, {DEVICE}}}
"""
Took = dict[str, tuple[float, float]]
Stored = Callable[..., tuple[Finished, Took]]
ALL_WAYS = ("write", "read", "pwrite", "pread", "vectors", "sync", "stdio", "mpi", "mpi-all", "mpi-later", "absent")


@pytest.fixture
def stored(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path], tmp_path: Path) -> Stored:
    """Runs the program with a folder on each of these storages, and `none` on none; answers with the seconds of each
    way, those of the first rank and the longest."""
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")

    def run(
        names: tuple[str, ...],
        size: int,
        count: int,
        *ways: str,
        ranks: int = 1,
        more: tuple[str, ...] = (),
        keep: bool = False,
        code: int = 0,
    ) -> tuple[Finished, Took]:
        folder = tmp_path / "files"
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        for name in (*names, "none"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        mounts = [word for name in names for word in ("--storage", f"{folder / name}={name}")]
        words = [compiled("storage"), folder, str(size), str(count), *ways]
        options = ("--compute", "off", "--map", "round-robin", *mounts, *more)
        done = exanet_run(stack, ranks, words, machine=str(tmp_path / "machine.yaml"), options=options, code=code)
        lines = [line.split() for line in done.output.splitlines()]
        return done, {name: (float(times[0]), float(times[1])) for name, *times in lines if name in ways or name.startswith("latency:")}

    return run


@pytest.mark.parametrize("size", [1, 10_000_000])
def test_a_local_write_takes_its_latency_and_its_bytes(stored: Stored, size: int) -> None:
    write, read = 4 * (20e-6 + size / 1150e6), 4 * (71e-6 + size / 3000e6)
    expected = {"write": write, "pwrite": write, "read": read, "pread": read, "sync": 80e-6}
    done, took = stored(("nvme",), size, 4, *(f"nvme/{way}" for way in expected), *(f"none/{way}" for way in expected), ranks=2)
    for way, seconds in expected.items():
        assert took[f"nvme/{way}"] == (pytest.approx(seconds, rel=0.05), pytest.approx(seconds, rel=0.05)), way
        assert max(took[f"none/{way}"]) < 1e-6, "files elsewhere take no time"
    summary = done.summary
    assert summary["storage"] | {"ps": 0} == {
        "reads": 16, "writes": 16, "syncs": 8, "metadata": 0, "read_bytes": 16 * size, "written_bytes": 16 * size, "ps": 0,
    }  # fmt: skip
    for rank in summary["ranks"]:
        assert rank["storage_ps"] == pytest.approx(2e12 * (write + read) + 80e6, rel=1e-3)
        assert sum(rank[part] for part in ("compute_ps", "wait_ps", "library_ps", "storage_ps")) == rank["virtual_ps"]
    columns = {name for name in pl.read_parquet(done.folder / "ranks.parquet").columns if name.startswith("storage_")}
    assert columns == {f"storage_{name}" for name in summary["storage"]}


@pytest.mark.every_mpi
def test_all_ways_to_a_file_take_time_and_its_bytes_are_the_hosts(stored: Stored, tmp_path: Path) -> None:
    size, count = 100_000, 4
    done, took = stored(("nvme",), size, count, *(f"nvme/{way}" for way in ALL_WAYS), ranks=2)
    least = count * (20e-6 + size / 1150e6)
    for way in ("write", "pwrite", "vectors", "stdio", "mpi", "mpi-all", "mpi-later"):
        assert took[f"nvme/{way}"][0] > 0.99 * least, way
    assert took["nvme/mpi"][0] < 2.5 * (least + count * (71e-6 + size / 3000e6))
    for said in ("absent: -1", "not for writing: -1 Bad file descriptor", "closed: -1 Bad file descriptor"):
        assert done.output.count(said + "\n") == 2
    shared = (tmp_path / "files/nvme/file.shared").read_bytes()
    assert shared == b"".join(bytes((i * 7 + rank) % 256 for i in range(size)) for rank in range(2)) * count


def test_streams_are_those_of_the_c_library(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")
    program = tmp_path / "streams"
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", program, PROGRAMS / "streams.c"], check=True)
    folders = [tmp_path / name for name in ("stored", "plain")]
    for folder in folders:
        folder.mkdir()
    options = ("--compute", "off", "--storage", f"{folders[0]}=nvme")
    done = exanet_run(mpich, 1, [program, *folders], machine=str(tmp_path / "machine.yaml"), options=options)
    nothing, stored, plain = done.output.split("folder\n")
    assert not nothing and stored == plain and stored.count("\n") == 10
    for name in ("stream", "kept"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() != b""
    assert done.summary["storage"]["reads"] > 10 and done.summary["storage"]["writes"] > 10


def test_without_the_option_results_say_nothing_of_files(stored: Stored) -> None:
    done, _ = stored((), 4096, 4, "none/write", "none/stdio")
    assert not [key for key in done.summary if "storage" in key]
    assert not [name for name in pl.read_parquet(done.folder / "ranks.parquet").columns if "storage" in name]


def test_the_same_options_give_the_same_bytes(stored: Stored) -> None:
    ways = ("striped/write", "striped/read", "striped/beside")
    twice = [stored(("striped",), 3_000_000, 2, *ways, ranks=4) for _ in range(2)]
    assert twice[0][1] == twice[1][1]
    for name in ("summary.json", "ranks.parquet", "links.parquet", "timeline.parquet"):
        assert (twice[0][0].folder / name).read_bytes() == (twice[1][0].folder / name).read_bytes()


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_central_servers_take_the_slowest_of_link_and_devices(stored: Stored, level: str) -> None:
    """The link's rate is that of a long message; a chunk passes one stage before the next one begins."""
    size, chunk = 8 << 20, 512 << 10
    storages = {"one": (1, 1150e6, 3000e6), "slow": (1, 200e6, 300e6), "striped": (3, 200e6, 300e6)}
    ways = [f"{name}/{way}" for name in storages for way in ("first-write", "first-read")]
    _, took = stored(tuple(storages), size, 1, "none/message", *ways, ranks=2, more=("--level", level))
    link = size / took["none/message"][1]
    for name, (servers, write, read) in storages.items():
        for way, latency, device in (("write", 20e-6, write), ("read", 71e-6, read)):
            whole = -(-size // chunk // servers) * servers * chunk if device * servers < link else size
            expected = latency + whole / min(link, device * servers) + chunk / max(link, device)
            assert took[f"{name}/first-{way}"][0] == pytest.approx(expected, rel=0.05), (name, way)


def test_a_cache_is_local_until_its_file_is_closed_and_fetches_what_it_does_not_have(stored: Stored, tmp_path: Path) -> None:
    size, count = 1 << 16, 64
    for name in ("near", "ahead"):
        (tmp_path / "files" / name).mkdir(parents=True)
        (tmp_path / "files" / name / "file.0").write_bytes(bytes(i * 7 % 256 for i in range(size)) * count)
    _, took = stored(("near", "ahead"), size, count, "near/read", "near/pread", "ahead/read", "ahead/pread", keep=True)
    local = count * (71e-6 + size / 3000e6)
    assert took["near/pread"][0] == took["ahead/pread"][0] == pytest.approx(local, rel=0.01), "the node has it all"
    assert took["near/read"][0] > count * (71e-6 + size / 300e6), "each read waits for a server"
    assert size * count / 300e6 < took["ahead/read"][0] < 0.8 * took["near/read"][0]
    _, took = stored(("near", "slow"), size, count, "near/unclosed", "near/sync", "slow/write")
    assert took["near/unclosed"][0] == pytest.approx(count * (20e-6 + size / 1150e6), rel=0.01)
    assert took["near/sync"][0] == pytest.approx(size * count / 200e6, rel=0.1), "the servers' device"
    assert took["slow/write"][0] > 4 * took["near/unclosed"][0]


def test_messages_beside_storage_traffic_take_longer(stored: Stored) -> None:
    """Half a round trip over a link that the files of other ranks cross, too: mean and longest."""
    _, took = stored(("nvme", "far"), 1 << 20, 2, "none/beside", "nvme/beside", "far/beside", ranks=8)
    alone, local, central = (took[f"latency:{name}"] for name in ("none", "nvme", "far"))
    assert local[0] == pytest.approx(alone[0], rel=0.01), "a device of the node sends nothing"
    assert central[0] > 3 * alone[0] and central[1] > 4 * alone[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted by root alone")
def test_a_full_device_of_the_host_is_the_programs_error(stored: Stored, tmp_path: Path) -> None:
    (small := tmp_path / "files/nvme").mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        done, took = stored(("nvme",), 1 << 16, 1, "nvme/full", keep=True)
        assert "full: No space left on device" in done.output
        assert took["nvme/full"][0] == pytest.approx(16 * (20e-6 + (1 << 16) / 1150e6), rel=0.1)
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_killed_run_leaves_nothing_behind(mpich: Stack, compiled: Callable[[str], Path], stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")
    (files := tmp_path / "files").mkdir()
    words = [sys.executable, "-m", "exanet", "run", "-m", "machine.yaml", "-n", "2", "-q", "-o", "out", "--storage", f"{files}=nvme"]
    program = [str(compiled("storage")), str(files), "1", "2000000000", "write"]
    run = subprocess.Popen([*words, "--", *program], cwd=tmp_path, env=os.environ | stack.environment, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 60
    while not any(file.stat().st_size > 0 for file in files.iterdir()) and time.monotonic() < limit:
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)
    assert sorted(file.name for file in tmp_path.iterdir()) in (["files", "machine.yaml"], ["files", "machine.yaml", "out"])
    assert {file.name for file in files.iterdir()} <= {"file.0", "file.1"}


def test_programs_in_python(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")
    (tmp_path / "program.py").write_text(
        "import sys\n"
        "from mpi4py import MPI\n"
        "begin = MPI.Wtime()\n"
        "with open(f'{sys.argv[1]}/numbers', 'w') as file:\n"
        "    for number in range(200000):\n"
        "        file.write(f'{number:7d}\\n')\n"
        "wrote = MPI.Wtime()\n"
        "with open(f'{sys.argv[1]}/numbers', 'rb') as file:\n"
        "    assert len(file.read()) == 1600000\n"
        "print('took', wrote - begin, MPI.Wtime() - wrote)\n"
        "MPI.Finalize()\n"
    )
    (tmp_path / "files").mkdir()
    options = ("--compute", "off", "--storage", f"{tmp_path}/files=nvme")
    done = exanet_run(stack, 1, [stack.python, "program.py", "files"], machine=str(tmp_path / "machine.yaml"), options=options)
    wrote, read = map(float, done.line("took"))
    writes = done.summary["storage"]["writes"]
    assert 10 < writes < 1000, "Python writes its buffers"
    assert wrote == pytest.approx(writes * 20e-6 + 1600000 / 1150e6, rel=0.05)
    assert read == pytest.approx(71e-6 + 1600000 / 3000e6, rel=0.05)


TWICE = ("rename", "renameat", "link", "symlink", "remove", "mkdir", "mkdirat")
"""Ways of names.c that are two calls each."""


@pytest.mark.every_mpi
@pytest.mark.parametrize("ranks_as", ["auto", "processes"])
def test_calls_on_names_take_the_time_of_metadata(
    exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path], tmp_path: Path, ranks_as: str
) -> None:
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")
    count = 5
    took = {}
    for storage in ("nvme", "named", "served", "before"):
        shutil.rmtree(tmp_path / "files", ignore_errors=True)
        (tmp_path / "files").mkdir()
        options = ("--compute", "off", "--ranks-as", ranks_as, "--storage", f"{tmp_path}/files={storage}")
        words = [compiled("names"), "files/.", str(count)]
        done = exanet_run(stack, 1, words, machine=str(tmp_path / "machine.yaml"), options=options)
        took[storage] = {way: float(time) for way, time in (line.split() for line in done.output.splitlines())}
        calls = sum(2 if way in TWICE else 1 for way in took[storage]) * count
        untimed = 5  # open() of the folder, stat(), symlink(), and unlink() twice
        assert done.summary["storage"]["metadata"] == (0 if storage == "nvme" else calls + untimed)
    assert len(took["nvme"]) == 24 and max(took["nvme"].values()) < 1
    message = 3.0  # us there and back over five links or so, at most
    for way in took["nvme"]:
        each = count * (2 if way in TWICE else 1)
        assert took["named"][way] == pytest.approx(50 * each, abs=1), way
        assert 50 * each < took["served"][way] < (50 + 2 * message) * each, way
    files = {way: time for way, time in took["before"].items() if way not in ("open", "creat")}
    assert files == pytest.approx({way: took["served"][way] for way in files}, rel=1e-3), "a cache's names are its servers'"


def test_a_metadata_server_serves_some_at_once(
    exanet_run: Runner, mpich: Stack, compiled: Callable[[str], Path], stack: Stack, tmp_path: Path
) -> None:
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")
    (tmp_path / "files").mkdir()
    options = ("--compute", "off", "--map", "round-robin", "--storage", f"{tmp_path}/files=served")
    words = [compiled("names"), "files", "20"]
    done = exanet_run(stack, 4, words, machine=str(tmp_path / "machine.yaml"), options=options)
    assert float(done.line("fstatat")[0]) == pytest.approx(20 * 4 * 50, rel=0.05), "four ranks take turns"


H5PY = Path("/usr/bin/python3")
"""Debian's Python, whose h5py-mpi is of Debian's Open MPI."""


@pytest.mark.skipif(not Path("/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi").is_dir(), reason="python3-h5py-mpi is not installed")
@pytest.mark.parametrize("stack", ["openmpi4"], indirect=True)
def test_hdf5_by_all_ranks(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    """The file is what HDF5 makes, and its bytes have taken the device's time."""
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")
    (program,) = re.findall(r"```python\n(# field.py\n.*?)```", PAGE, re.DOTALL)
    (tmp_path / "field.py").write_text(program, encoding="utf-8")
    (tmp_path / "files").mkdir()
    options = ("--compute", "off", "--map", "round-robin", "--storage", f"{tmp_path}/files=named")
    done = exanet_run(stack, 4, [H5PY, "field.py", "files"], machine=str(tmp_path / "machine.yaml"), options=options)
    wrote, read = (float(done.line(what)[0]) / 1e3 for what in ("write", "read"))
    size = 4 * 8 << 19
    assert size / 1150e6 < wrote < 2 * size / 1150e6, "one of the ranks writes for all"
    assert size / 4 / 3000e6 < read < size / 3000e6, "each rank reads what it asked for"
    assert done.summary["storage"]["written_bytes"] == pytest.approx(size, rel=0.01)
    assert (tmp_path / "files/field.h5").read_bytes()[:4] == b"\x89HDF"


def test_threads_of_a_rank(stored: Stored) -> None:
    """One thread uses a file while another one waits for it; two at once are refused by name."""
    _, took = stored(("nvme",), 4096, 500, "nvme/thread")
    assert took["nvme/thread"][0] == pytest.approx(500 * (20e-6 + 4096 / 1150e6), rel=0.01)
    refused, _ = stored(("nvme",), 4096, 5000, "nvme/two-threads", code=1)
    assert "two threads of a rank use files of a storage at once, which is not simulated yet" in str(refused.summary["reason"])


def test_what_a_link_that_goes_down_loses_ends_the_run_by_name(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    (tmp_path / "machine.yaml").write_text(MACHINE, encoding="utf-8")
    (tmp_path / "faults.yaml").write_text("events:\n  - {at: 1 ms, down: 'qfdb(0,0,0).F1 F2'}\n", encoding="utf-8")
    (tmp_path / "program.py").write_text(
        "import sys\nfrom mpi4py import MPI\nopen(f'{sys.argv[1]}/data', 'wb', buffering=0).write(bytes(4 << 20))\n"
    )
    (tmp_path / "files").mkdir()
    options = ("--compute", "off", "--storage", f"{tmp_path}/files=one", "--faults", str(tmp_path / "faults.yaml"))
    done = exanet_run(mpich, 1, [mpich.python, "program.py", "files"], machine=str(tmp_path / "machine.yaml"), options=options, code=1)
    lost = r"rank 0 on node 0, in a call on a file of a storage at [0-9.]+ us: a link on its path went down under it"
    assert re.fullmatch(lost, str(done.summary["reason"]))


@pytest.mark.long
def test_the_page_and_what_its_commands_print(mpich: Stack, tmp_path: Path) -> None:
    (machine,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "stored.yaml").write_text(machine, encoding="utf-8")
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / program.split()[1]).write_text(program, encoding="utf-8")
    commands = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    environment = {**os.environ, "PATH": f"{Path(mpich.python).parent}:{os.environ['PATH']}"}
    printed = {}
    for line in commands:
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        printed[line] = done.stdout + done.stderr
    said = "".join(printed.values())
    assert re.findall(r"3 checkpoints of .*", said) == re.findall(r"`(3 checkpoints of [^`]*)`", PAGE)
    assert re.findall(r"reading: ([0-9.]+ ms)", said) == re.findall(r"([0-9.]+ ms)(?= \|)", PAGE)
    assert re.findall(r"one way: ([0-9.]+ us)", said) == re.findall(r"\| ([0-9.]+ us) \|", PAGE)
    (storage,) = re.findall(r"^    (storage: .*)$", PAGE, re.MULTILINE)
    assert storage in printed[commands[2]].replace("\n", " ")
    assert json.loads((tmp_path / "central/summary.json").read_text())["storage"]["written_bytes"] == 3 * 8 << 22


def test_calls_that_the_simulator_carries_out(stored: Stored, stack: Stack) -> None:
    if stack.name != "mpich":
        pytest.skip("calls of MPICH are simulated")
    _, library = stored(("nvme",), 4096, 4, "nvme/write", "nvme/read", ranks=2)
    _, simulated = stored(("nvme",), 4096, 4, "nvme/write", "nvme/read", ranks=2, more=("--mpi-calls", "simulated"))
    assert simulated == library
