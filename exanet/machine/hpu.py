# SPDX-License-Identifier: Apache-2.0
"""Checks what a machine file says of HPUs: figures that HPUs can have, and what does not go together yet."""

from __future__ import annotations

from exanet.machine import together
from exanet.machine.schema import MachineFile

_MOST_CLUSTERS, _MOST_IN_CLUSTER = 16, 64  # core/nic/handlers/layout.hpp
_CLUSTER_BYTES, _OWN_BYTES = 4 << 20, 16 << 10  # likewise: of a cluster's memory, and what an HPU takes of it
_MOST_PACKET = 9 << 10  # bytes, likewise
_MOST_MEMORY = 64 << 20
_LONGEST_PS = 10**9  # a millisecond
_LEAST_RATE = 10**6  # bits per second


def problems(model: MachineFile) -> together.Problems:
    """What is wrong with the section, by key."""
    if model.hpu is None:
        return
    yield from _figures(model)
    why = {
        "no interface": "HPUs need interfaces that programs use: add a section ni",
        "gateway": "gateways do not pass on messages to handlers yet",
        "gpu": "handlers do not reach device memory yet",
        "rails": "handlers of messages over several rails are not simulated yet",
        "cycle-accurate": "cycle-accurate transfers have host memory alone",
        "shared memory": "copies through a node's shared memory (ni.shared_memory_rate) do not pass the interface",
    }
    yield from together.problems(model, "hpu", why)
    if model.router.max_payload.value > _MOST_PACKET:
        yield ("router", "max_payload"), "HPUs take packets of up to 9 KiB; make packets shorter, or set hpu to null"


def _figures(model: MachineFile) -> together.Problems:
    hpu = model.hpu
    assert hpu is not None
    if not 1 <= hpu.clusters.value <= _MOST_CLUSTERS:
        yield ("hpu", "clusters"), f"an interface has 1 to {_MOST_CLUSTERS} clusters; to have none, leave the section out"
    if not 1 <= hpu.per_cluster.value <= _MOST_IN_CLUSTER:
        yield ("hpu", "per_cluster"), f"a cluster has 1 to {_MOST_IN_CLUSTER} HPUs"
    elif hpu.scratchpad.value > _CLUSTER_BYTES - hpu.per_cluster.value * _OWN_BYTES:
        yield ("hpu", "scratchpad"), "a cluster's memory has 4 MiB at most, of which each HPU takes 16 KiB"
    if not 10**6 <= hpu.clock.value <= 10**11:
        yield ("hpu", "clock"), "HPUs have clocks from 1 MHz to 100 GHz; check its unit"
    for key in ("program", "handler_memory"):
        if not 4 <= getattr(hpu, key).value <= _MOST_MEMORY:
            yield ("hpu", key), "is memory of 4 B to 64 MiB"
    for key in ("start_cycles", "cold_cycles", "far_cycles"):
        if getattr(hpu, key).value > 10**6 or (key == "far_cycles" and hpu.far_cycles.value < 1):
            yield ("hpu", key), f"is {'1' if key == 'far_cycles' else '0'} to a million cycles"
    for key in ("dispatch", "dma_latency"):
        if getattr(hpu, key).value > _LONGEST_PS:
            yield ("hpu", key), "is longer than 1 ms; check its unit"
    for key in ("copy_rate", "dma_rate"):
        if getattr(hpu, key).value < _LEAST_RATE:
            yield ("hpu", key), "is slower than 1 Mb/s; check its unit"
