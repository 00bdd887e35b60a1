# SPDX-License-Identifier: Apache-2.0
"""Sections of a machine file on what nodes have beside processors and network: storages, GPUs and HPUs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from exanet.machine.choices import choice_of
from exanet.machine.constant import Bytes, Count, Frequency, Rate, Strict, Text, Time


class Storage(Strict):
    """A storage that files of programs may be on, by its name: `exanet run --storage FOLDER=NAME` (docs/storage.md).
    Its devices are one in each node that has them."""

    kind: Annotated[str, choice_of("storage.*.kind")] = Field(
        description="local: each node reaches the device in itself. servers: some nodes are servers, which all others reach over the "
        "network; files are cut into chunks, which lie on the servers in turn. cache: each node keeps files of servers on its own device."
    )
    read_latency: Time = Field(description="Time of a device from a read request to its first byte.")
    write_latency: Time = Field(description="The same of a write request; also the time of a request without bytes, such as fsync().")
    read_rate: Rate = Field(description="Rate at which a device reads.")
    write_rate: Rate = Field(description="Rate at which a device writes.")
    queue_depth: Count = Field(description="Requests that a device serves at once; further ones wait.")
    metadata_latency: Time | None = Field(
        default=None,
        description="Time of a metadata operation, such as to open, create, rename or remove a file. Default: none, and they take no time.",
    )
    metadata_queue_depth: Count | None = Field(
        default=None, description="Metadata operations that a node or a server serves at once. Default: `queue_depth`."
    )
    servers: list[Annotated[int, Field(ge=0)]] | None = Field(
        default=None, examples=["[0, 4]"], description="With `kind: servers`: the nodes that are servers, by their numbers."
    )
    chunk: Bytes | None = Field(
        default=None, description="With `kind: servers`: size of a chunk. Default: 512 KiB, that of BeeGFS 8 for new files."
    )
    message: Bytes | None = Field(
        default=None,
        description="With `kind: servers`: size of a request and of an answer, beside the data. Default: 256 B, an assumption of ours.",
    )
    metadata_servers: list[Annotated[int, Field(ge=0)]] | None = Field(
        default=None,
        examples=["[12]"],
        description="With `kind: servers`: the nodes that serve metadata. Each folder is on one of them. Default: `servers`.",
    )
    behind: Text | None = Field(
        default=None, description="With `kind: cache`: the storage of kind servers whose files it keeps, by its name."
    )
    prefetch: Bytes | None = Field(
        default=None,
        description="With `kind: cache`: bytes behind those read that a node fetches, too, if the file has them. Default: 0.",
    )


class Gpu(Strict):
    """GPUs of each node, for programs with buffers in device memory (docs/gpu.md). Without this section there are
    none."""

    per_node: Count = Field(description="GPUs of a node, up to 16.")
    memory: Bytes = Field(description="Memory of a GPU.")
    memory_rate: Rate = Field(description="Rate of a GPU's memory, reads and writes together.")
    pcie_generation: Count = Field(description="Generation of the PCIe link to a GPU, 1 to 6. It bounds the rates below.")
    pcie_lanes: Count = Field(description="Lanes of that link: 1, 2, 4, 8 or 16.")
    peer_read_latency: Time = Field(description="Peer to peer (GPUDirect RDMA): time until an interface has what it reads from a GPU.")
    peer_read_rate: Rate = Field(description="Rate at which a GPU answers such reads.")
    peer_write_latency: Time = Field(description="Time until what an interface writes is in a GPU's memory.")
    peer_write_rate: Rate = Field(description="Rate at which a GPU takes such writes.")
    copy_latency: Time = Field(description="Time of a copy between host and GPU, without its bytes.")
    copy_rate: Rate = Field(description="Rate of such a copy, in each direction.")
    staging_block: Bytes = Field(
        description="Longer messages are staged in blocks of this size, of which one is copied while another is sent."
    )
    launch_latency: Time = Field(description="Time that a processor takes to launch a kernel.")
    path: Annotated[str, choice_of("ni.gpu.path")] = Field(
        description="How messages reach device memory. peer: the interface reads and writes it over PCIe. staged: through a buffer in host "
        "memory, by copies. auto: staged if they are longer than `staged_above`, otherwise peer."
    )
    staged_above: Bytes | None = Field(default=None, description="With `path: auto`: longest message that goes peer to peer.")


class Hpu(Strict):
    """Handler processing units (HPUs) of each interface, for handlers of packets (docs/spin.md). They change nothing
    unless a run says --handlers."""

    clusters: Count = Field(description="Clusters of HPUs, up to 16. A message begins in one of them.")
    per_cluster: Count = Field(description="HPUs of a cluster, up to 64.")
    clock: Frequency = Field(description="Clock of the HPUs.")
    dispatch: Time = Field(description="Time from a packet's last word to the begin of its handler on an idle HPU, beside its copy.")
    copy_rate: Rate = Field(description="Rate at which a packet is copied into a cluster's memory.")
    start_cycles: Count = Field(description="Cycles of the HPU's clock before each handler.")
    cold_cycles: Count = Field(description="Further cycles when a cluster runs one of the handlers for the first time.")
    far_cycles: Count = Field(description="Cycles of a load from handler memory, or from another cluster's scratchpad; of one's own: 1.")
    program: Bytes = Field(description="Memory for the instructions of handlers.")
    handler_memory: Bytes = Field(description="Memory that all clusters share.")
    scratchpad: Bytes = Field(description="Scratchpad of a cluster.")
    packet_memory: Bytes = Field(description="Memory for packets. A run that needs more says so.")
    dma_latency: Time = Field(description="Time of a command that moves bytes to or from host memory, without its bytes.")
    dma_rate: Rate = Field(description="Rate of such commands, of all HPUs of an interface together.")
