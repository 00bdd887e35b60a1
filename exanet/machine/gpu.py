# SPDX-License-Identifier: Apache-2.0
"""Checks what a machine file says of GPUs: rates that their PCIe link carries, and what does not go together yet."""

from __future__ import annotations

from exanet.machine import together
from exanet.machine.schema import MachineFile

_LANE_GTPS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Transfers of a lane by generation (PCI Express base specifications 1.0 to 6.0)."""

_CODED = {1: 8 / 10, 2: 8 / 10, 6: 242 / 256}
"""Share of them that is data: 8b/10b, and the flits of generation 6; 128b/130b in between."""

_LANES = (1, 2, 4, 8, 16)
_MOST_GPUS = 16  # of a node (core/nic/targets/device_range.h)
_MOST_MEMORY = 1 << 40  # bytes of one, likewise
_LONGEST_PS = 10**9
"""A millisecond: what a processor waits for a short message is added to the time of a completion, of 32 bits."""

_LEAST_RATE = 10**6  # bits per second


def pcie_rate(generation: int, lanes: int) -> float:
    """Bits per second of a link, in each direction, with the headers of its packets."""
    return _LANE_GTPS[generation] * 1e9 * _CODED.get(generation, 128 / 130) * lanes


def problems(model: MachineFile) -> together.Problems:
    """What is wrong with the section, by key."""
    if model.gpu is None:
        return
    yield from _figures(model)
    why = {
        "no interface": "GPUs need interfaces that programs use: add a section ni",
        "gateway": "gateways do not pass on messages of device memory yet",
        "rails": "several rails to one GPU are not simulated yet",
        "cycle-accurate": "cycle-accurate transfers have host memory alone",
        "shared memory": "copies through a node's shared memory (ni.shared_memory_rate) have host memory alone",
    }
    yield from together.problems(model, "gpu", why)


def _figures(model: MachineFile) -> together.Problems:
    gpu = model.gpu
    assert gpu is not None
    if not 1 <= gpu.per_node.value <= _MOST_GPUS:
        yield ("gpu", "per_node"), f"a node has 1 to {_MOST_GPUS} GPUs; to have none, leave the section out"
    if not 1 <= gpu.memory.value <= _MOST_MEMORY:
        yield ("gpu", "memory"), "a GPU has 1 B to 1 TiB of memory"
    if gpu.staging_block.value < 4096:
        yield ("gpu", "staging_block"), "a block of less than 4 KiB is shorter than what an interface acknowledges; make it longer"
    if (gpu.path == "auto") != (gpu.staged_above is not None):
        yield ("gpu", "path"), "path: auto needs staged_above, the longest message that goes peer to peer, and no other path takes it"
    for key in ("memory_rate", "peer_read_rate", "peer_write_rate", "copy_rate"):
        if getattr(gpu, key).value < _LEAST_RATE:
            yield ("gpu", key), "is slower than 1 Mb/s; check its unit"
    for key in ("peer_read_latency", "peer_write_latency", "copy_latency", "launch_latency"):
        if getattr(gpu, key).value > _LONGEST_PS:
            yield ("gpu", key), "is longer than 1 ms; check its unit"
    if gpu.pcie_generation.value not in _LANE_GTPS:
        yield ("gpu", "pcie_generation"), f"is {gpu.pcie_generation.value}, and PCIe has the generations 1 to {max(_LANE_GTPS)}"
    elif gpu.pcie_lanes.value not in _LANES:
        yield ("gpu", "pcie_lanes"), f"is {gpu.pcie_lanes.value}, and a link has {', '.join(map(str, _LANES))} lanes"
    else:
        carries = pcie_rate(gpu.pcie_generation.value, gpu.pcie_lanes.value)
        for key in ("peer_read_rate", "peer_write_rate", "copy_rate"):
            if getattr(gpu, key).value > carries:
                yield (
                    ("gpu", key),
                    f"is more than {carries / 8e9:.2f} GB/s, which the link to the GPU carries (pcie_generation, pcie_lanes)",
                )
