# SPDX-License-Identifier: Apache-2.0
"""Are GPUs that no machine can have refused in its file, and options that do not go with device memory before a run?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exanet import gpu, machine
from exanet.errors import InputError
from exanet.machine.gpu import pcie_rate
from exanet.run import gpus
from exanet.run.options import Options
from exanet.validate.experiments.gpus import crossing


def changed(folder: Path, text: str) -> machine.Machine:
    (folder / "changed.yaml").write_text(f"extends: quong\nname: changed\n{text}\n", encoding="utf-8")
    return machine.load(str(folder / "changed.yaml"))


def test_rates_of_a_pcie_link() -> None:
    assert [pcie_rate(*link) / 8e9 for link in ((1, 1), (2, 16), (3, 8), (4, 16), (6, 16))] == [
        pytest.approx(rate, rel=1e-3) for rate in (0.25, 8, 7.877, 31.508, 121.0)
    ]  # PCI Express' own figures


def test_the_section_goes_to_the_simulator_and_null_takes_it_away(tmp_path: Path) -> None:
    resolved = machine.load("quong").resolve()["ni"]["gpu"]
    assert (resolved["per_node"], resolved["path"], resolved["staged_above_bytes"]) == (2, "auto", 131072)
    assert (resolved["peer_read_rate_bit_per_s"], resolved["memory_bytes"]) == (12_000_000_000, 6_000_000_000)
    assert "gpu" not in changed(tmp_path, "gpu: null").resolve()["ni"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu: {per_node: 17}", "a node has 1 to 16 GPUs"),
        ("gpu: {per_node: 0}", "to have none, leave the section out"),
        ("gpu: {memory: 2000 GiB}", "a GPU has 1 B to 1 TiB of memory"),
        ("gpu: {pcie_generation: 7}", "is 7, and PCIe has the generations 1 to 6"),
        ("gpu: {pcie_lanes: 12}", "is 12, and a link has 1, 2, 4, 8, 16 lanes"),
        ("gpu: {peer_read_rate: 9 GB/s}", "is more than 8.00 GB/s, which the link to the GPU carries"),
        ("gpu: {pcie_lanes: 4}", "is more than 2.00 GB/s"),
        ("gpu: {copy_rate: 100 kb/s}", "is slower than 1 Mb/s"),
        ("gpu: {copy_latency: 2 ms}", "is longer than 1 ms"),
        ("gpu: {staging_block: 1 KiB}", "make it longer"),
        ("gpu: {path: peer}", "path: auto needs staged_above"),
        ("gpu: {staged_above: null}", "path: auto needs staged_above"),
        ("gpu: {path: direct}", "'path' must be one of 'peer', 'staged', 'auto'"),
        ("ni: {shared_memory_rate: 10 GB/s}", "have host memory alone; leave one out, or set gpu to null"),
        ("ni: {transfers: gateware, messages: gateware}", "cycle-accurate transfers have host memory alone"),
        ("ni: null", "GPUs need interfaces that programs use"),
    ],
)
def test_what_no_machine_has_is_refused_by_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        changed(tmp_path, text)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"level": "flow"}, "--level flow"),
        ({"fabric": "gateware"}, "--fabric gateware"),
        ({"record": Path("trace")}, "--record"),
        ({"timeline": True}, "--timeline"),
        ({"mpi_calls": "simulated"}, "--mpi-calls simulated"),
        ({"offload": ("allreduce",)}, "--offload"),
        ({"collectives": {"bcast": "hardware"}}, "--collective bcast=hardware"),
        ({"cpu": "cortex-a53"}, "--cpu"),
    ],
)
def test_options_that_know_no_device_memory_are_refused(given: dict[str, Any], option: str) -> None:
    quong, plain = machine.load("quong"), machine.load("exanest")
    options = Options(command=["true"], machine="quong", ranks=1)
    assert gpus.environment(options, quong) == {"EXANET_GPU": "2 6000000000"}
    with pytest.raises(InputError, match=rf"{option}: 'quong' has GPUs, and .*; leave the option out, or take a machine without GPUs"):
        gpus.environment(replace(options, **given), quong)
    assert gpus.environment(replace(options, **given), plain) == {}


def test_arrays_need_a_simulated_gpu() -> None:
    with pytest.raises(gpu.GpuError, match="no GPU is simulated here: run the program on a machine that has some"):
        gpu.empty(3)


def test_where_two_lines_cross() -> None:
    ahead, behind = {1024: 1.0, 2048: 2.0, 4096: 5.0}, {1024: 2.0, 2048: 3.0, 4096: 4.0}
    assert crossing(ahead, behind) == 3.0
    assert crossing(behind, ahead) == 0.0
    assert crossing({1024: 1.0, 2048: 2.0}, behind | {2048: 3.0}) == 2.0
