# SPDX-License-Identifier: Apache-2.0
"""Runs on machines whose nodes have GPUs: what their ranks get to know of them, and options that do not go with device
memory (docs/gpu.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exanet.errors import InputError
from exanet.run.options import Options

if TYPE_CHECKING:
    from exanet.machine import Machine

ENVIRONMENT = "EXANET_GPU"
"""Says to the ranks how many GPUs a node has, and the bytes of one's memory (runtime/gpu/memory.c)."""


def environment(options: Options, described: Machine) -> dict[str, str]:
    """The variable for the ranks; none where there are no GPUs. Raises InputError."""
    gpu = described.model.gpu
    if gpu is None:
        return {}
    for option, given, why in (
        ("--level flow", options.level == "flow", "device memory is simulated at packet level"),
        ("--fabric gateware", options.fabric == "gateware", "the gateware's interfaces have host memory alone"),
        ("--record", options.record is not None, "a trace does not say which buffers are in device memory"),
        ("--timeline", options.timeline, "the critical path that it looks for knows host memory alone"),
        (
            "--mpi-calls simulated",
            options.mpi_calls == "simulated",
            "messages of calls that the simulator carries out have host memory alone",
        ),
        ("--offload", bool(options.offload), "units that reduce have host memory alone"),
        ("--collective bcast=hardware", options.bcast == "hardware", "what routers copy goes to host memory alone"),
        ("--cpu", options.cpu is not None, "programs for other processors have no library for GPUs"),
    ):
        if given:
            raise InputError(
                f"{option}: '{described.name}' has GPUs, and {why}; leave the option out, or take a machine without GPUs "
                "(gpu: null in a file that extends this one)"
            )
    return {ENVIRONMENT: f"{gpu.per_node.value} {gpu.memory.value}"}
