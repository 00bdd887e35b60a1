# SPDX-License-Identifier: Apache-2.0
"""The schema of machine files: the one list of their keys, units and meanings.

Every constant of the model carries its value, its source and its kind (a value alone is its user's choice). A constant
is added by one line here, one in the machine files (none where it may be left out), and the field in the simulator's
configuration that it goes to: resolve.py finds its name there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from exanet import _core, renamed
from exanet.machine import graph_file
from exanet.machine.choices import REGISTRIES, choice_of, helps_of, names_of
from exanet.machine.constant import (
    Bits,
    Blocks,
    Bytes,
    Constant,
    Count,
    Cycles,
    Frequency,
    Height,
    Joules,
    JoulesPerBit,
    OneOf,
    Percent,
    Rate,
    Shape,
    Strict,
    Text,
    Time,
    Watts,
    Words,
)
from exanet.machine.devices import Gpu, Hpu, Storage

LINK_KINDS: dict[str, tuple[str, ...]] = {entry["name"]: tuple(entry["links"]) for entry in REGISTRIES["topologies"]}
"""Every topology with the kinds of its links, in the order of their class numbers in the network."""

# Those in which an order of dimensions may be said; and those whose endpoints hang on switches.
ORDERED = frozenset(entry["name"] for entry in REGISTRIES["topologies"] if entry["ordered"])
SWITCHED = frozenset(entry["name"] for entry in REGISTRIES["topologies"] if entry["switched"])

SWITCHES = tuple(entry["name"] for entry in REGISTRIES["networks"] if entry["name"] != "exanet")
"""The network models of input-queued switches."""


class Hardware(Strict):
    """Parts of the machine, for its description and for the number of ranks that it takes. Programs need this section;
    simulations of the network alone do not."""

    node: Text = Field(description="Description of one node.")
    cores_per_node: Count = Field(description="Processor cores of a node; at most this many ranks run on it.")
    core_clock: Frequency = Field(description="Clock of a core.")
    memory_per_node: Bytes = Field(description="Memory of a node.")
    fpgas_per_node: Count = Field(description="FPGAs of a node.")


class Package(Strict):
    """One level of packaging. The table of these levels shows cores, memory, FPGAs and density."""

    level: Text = Field(description="Name of the level, e.g. blade.")
    holds: Count = Field(description="Number of units of the previous level that it holds; the first level holds nodes.")
    height: Height | None = Field(default=None, description="Its height in rack units.")


class Topology(Strict):
    """The machine's shape."""

    kind: Annotated[str, OneOf(tuple(LINK_KINDS))] = Field(
        description="qfdb-torus: fully meshed groups of four nodes in a 3-D torus whose links end at each group's first node; mesh, torus: "
        "of any number of dimensions, each node a router; docs/topologies.md describes the others."
    )
    shape: Shape = Field(
        description="Extent in each dimension: groups for a qfdb-torus, nodes for a mesh or torus; for a fat-tree the children of a switch "
        "by level, endpoints first; for a k-ary-n-tree [k, n]; for an xgft those, then the parents of what is beneath each level; for a "
        "dragonfly [h], or [endpoints a switch, switches a group, links of a switch to other groups], or these and the number of groups; "
        "for a qfdb-dragonfly "
        "[QFDBs a mezzanine, links of a QFDB to other "
        "mezzanines]; for a megafly [endpoints a leaf, leaves a group, spines a group, links of a spine to other groups]; for a slim-fly "
        "[q] or [q, endpoints a switch]; for a hyperx [endpoints a switch, side, side, ...]; for a flattened-butterfly [k, n]; for a "
        "jellyfish [switches, links of a switch to others, endpoints a switch, seed]; for a hypercube [dimensions]; for a full-mesh "
        "[nodes]; for a graph [endpoints of each router for which the file has no number]."
    )
    order: list[Annotated[int, Field(ge=0, le=15)]] | None = Field(
        default=None,
        examples=["[0, 1, 2]"],
        description="For qfdb-torus, mesh and torus: the order in which a packet takes the dimensions, counted from 0. Default: the last "
        "dimension first.",
    )
    file: Text | None = Field(
        default=None, description="For a graph: the file that describes it, GraphML or a list of links, relative to this one."
    )
    routing: Text | None = Field(
        default=None,
        description="A routing other than the topology's own: up-down, valiant, ugal-l, ugal-g, par, adaptive; random and spray for a fat "
        "tree, graph, jellyfish, slim fly or a dragonfly with several links between groups, shortest for a graph (docs/topologies.md). "
        "ugal-l, ugal-g and par take a threshold in packets, e.g. ugal-l:8 (default 4). If it needs more virtual channels than the router "
        "has, the router gets them, and its FIFOs are divided among them.",
    )
    arrangement: Text | None = Field(
        default=None,
        description="For a dragonfly: the groups to which the links of a group lead, in the order of its switches. absolute: the first "
        "group, the second one, and so on, without its own; relative: the next ones; palmtree: the ones before; circulant: the next one, "
        "the one before, the next but one, and so on. Default: absolute.",
    )
    rails: Count | None = Field(
        default=None,
        description="For topologies with switches: the number of links that each endpoint has into the network, up to 8. There is "
        "one whole copy of the switches (a plane) for each, and an endpoint has one link into each plane. A load of 1 fills all links of "
        "an endpoint; under programs it has a network interface for each. Default: 1.",
    )
    failed: list[Text] | None = Field(
        default=None,
        examples=["[links:2:1]"],
        description="Nodes and links that have failed from the start: each by its name of docs/topologies.md (`(0,1,2)`, `(0,1,2) X+`), "
        "or a number of random ones with a seed (`links:3:1`, `nodes:1:1`). Routes avoid them.",
    )


class Switch(Strict):
    """An input-queued switch: packets wait at their input; a crossbar takes one at a time from each input and to
    each output."""

    switching: Annotated[str, OneOf(SWITCHES)] = Field(
        default="cut-through",
        description="cut-through: a packet is forwarded when the buffer beyond the link has space for all of it. wormhole: word by word, "
        "with a credit for each; a buffer may then hold less than a packet.",
    )
    queues: Annotated[str, choice_of("router.switch.queues")] = Field(
        description="How a lane (a class of packets on a virtual channel) of an input is organised: one queue, or one for each output."
    )
    arbitration: Annotated[str, choice_of("router.switch.arbitration")] = Field(
        description="Arbitration among the inputs that request an output: each in turn, the first one, or both sides matched by iSLIP."
    )
    flow_control: Annotated[str, choice_of("router.switch.flow_control")] = Field(
        description="How a sender learns of space beyond a link: by credits, or by PFC pauses of a lane, early enough to drop nothing."
    )
    buffer: Annotated[str, choice_of("router.switch.buffer")] = Field(
        default="per-lane", description="Whether an input's lanes have equal parts of its inter_fifo, or share it beyond a packet each."
    )
    speed_up: Percent = Field(description="Rate at which the crossbar serves an input, relative to the fastest kind of link.")
    classes: Count = Field(description="Classes of packets, by their priority; each has as many virtual channels as routing needs.")
    weights: Shape | None = Field(
        default=None, description="Shares of an output's words by class, the lowest first. Default: a higher class goes first."
    )
    iterations: Count | None = Field(default=None, description="Iterations of iSLIP. Default: one.")
    slot: Cycles | None = Field(
        default=None, description="For a cell switch: grants are made at multiples of this time. Default: at any time."
    )
    output_fifo: Words | None = Field(
        default=None,
        description="FIFO behind the crossbar of each output. It holds whole packets. Default: one of the largest packets, or one word "
        "for wormhole switching.",
    )
    pause: Words | None = Field(default=None, description="Words in a lane at which its sender is paused.")
    resume: Words | None = Field(default=None, description="Words in a lane at which its sender may continue.")
    pause_frame: Words | None = Field(default=None, description="Link words that a pause takes.")


class Router(Strict):
    """The router of a node: APErouter, or an input-queued switch (docs/switches.md)."""

    kind: Literal["exanet", "input-queued"] = Field(
        default="exanet",
        description="exanet: the router of the gateware; input-queued: a switch as `switch` describes it, with FIFOs that count whole "
        "packets.",
    )
    switch: Switch | None = Field(default=None, description="Further properties of an input-queued switch.")
    clock: Frequency = Field(description="Clock of the router and of its ports.")
    latency: Cycles = Field(description="Time from a header's arrival to its departure, without contention.")
    endpoint_latency: Cycles | None = Field(
        default=None,
        description="The same latency for an endpoint behind a switch, between its interface and its link. Default: 3 cycles, or `latency` "
        "if that is less. Endpoints that are routers themselves (tori, meshes) have none.",
    )
    arbitration: Annotated[str, choice_of("router.arbitration")] | None = Field(
        default=None,
        description="For an exanet router: arbitration among the inputs that request an output. round-robin: each in turn, the default. "
        "links-first: in turn, but packets from links before those of intra-tile ports except in one grant of 16. "
        "fixed-priority: the first one (docs/microarchitecture.md).",
    )
    input_gap: Cycles | None = Field(
        default=None,
        description="For an exanet router: time after a packet's last word was read until its input requests again. Default: 0.",
    )
    output_gap: Cycles | None = Field(
        default=None,
        description="For an exanet router: time after a packet's last word was read until its output grants again. Default: 0.",
    )
    word: Bits = Field(description="Width of its data path.")
    header: Words = Field(description="Size of a packet's header.")
    footer: Words = Field(description="Size of a packet's footer.")
    max_payload: Bytes = Field(description="Largest payload of a packet, up to 16 KiB.")
    intra_fifo: Words = Field(description="Payload FIFO of a port towards the network interface, shared by bulk and priority packets.")
    inter_fifo: Words = Field(description="Payload FIFO of a port towards another node, divided among its virtual channels.")
    header_fifo: Words = Field(description="Header FIFO of a port, divided among its virtual channels and their two classes.")
    credit_threshold: Words | None = Field(
        default=None,
        description="For an exanet router: an idle link reports credits when this many payload words, up to 4095, have come free. It "
        "reports them earlier if the sender might wait for them, and packets report all of them. Default: 0, which reports those of "
        "every packet.",
    )
    credit_interval: Cycles | None = Field(
        default=None,
        description="For an exanet router: time from the last control word until an idle link repeats its report, up to 65535 cycles. "
        "Default: 65535, or never without a `credit_threshold`.",
    )
    virtual_channels: Count = Field(description="Virtual channels of a link.")
    vc_allocation: Annotated[str, choice_of("router.vc_allocation")] | None = Field(
        default=None,
        description="Which virtual channel a packet gets. occupancy: the one with most space among those equivalent to the channel that "
        "routing names, the default. routing: always that channel, as in the gateware; channels beyond those that routing needs "
        "stay unused.",
    )
    intra_ports: Count = Field(
        description="Ports towards the network interface: packetizer and mailbox, RDMA. With several rails, the ports of each rail."
    )
    queue_action: Annotated[str, names_of("queue_actions")] | None = Field(
        default=None,
        description=f"What happens to a packet that joins the queue of an output. {helps_of('queue_actions')}. "
        "Default: what `ni.congestion_control` needs, or none.",
    )
    queue_threshold: Words | None = Field(
        default=None,
        description="With `queue_action`: number of words in a queue (payload only, except for wormhole switches) from which packets that "
        "join it are marked, trimmed or dropped; for ecn-ramp up to which none are marked (Kmin).",
    )
    queue_threshold_max: Words | None = Field(
        default=None,
        description="With `queue_action: ecn-ramp`, `ecn-trim` or `ecn-drop`: number of words in a queue from which all packets that join "
        "it are marked (Kmax).",
    )
    marking_probability: Percent | None = Field(
        default=None,
        description="With `queue_threshold_max`: share of packets that are marked just below `queue_threshold_max` (Pmax). It grows in "
        "proportion from 0 at `queue_threshold`. DCQCN's authors take 1 %.",
    )
    queue_limit: Words | None = Field(
        default=None,
        description="With `queue_action: ecn-trim` or `ecn-drop`: number of words in a queue from which data packets that join it are "
        "trimmed or dropped, at least `queue_threshold_max`.",
    )
    hpcc_round_trip: Time | None = Field(
        default=None,
        description="With `queue_action: hpcc`: T, a little more than the longest round trip of the empty network (Li et al., SIGCOMM "
        "2019). With `congestion_control: nscc` or `nscc-rccc`: that round trip; default: as the simulator computes it from the first "
        "endpoint.",
    )
    acc_period: Time | None = Field(
        default=None,
        description="With `queue_action: acc`: time between the pulses at which shares are evaluated, longer than a round trip. "
        "Default: 20 us (RED-SEA).",
    )
    acc_margin: Percent | None = Field(
        default=None, description="With `queue_action: acc`: share of each link's rate that is left free. Default: 1 % (chosen)."
    )


class Link(Strict):
    """One kind of link, per direction (APElink over the transceiver)."""

    rate: Rate = Field(description="Rate of its words without gearbox idle; with `word` it gives the time of a word.")
    word: Bits = Field(description="Width of a link word.")
    pause_every: Words = Field(description="The transceiver's gearbox is idle for one word time after this many words; 0: never.")
    framing: Words = Field(description="Words that frame each packet (Magic, Start).")
    latency: Time = Field(
        description="Time from one router's link logic to the next one's: serialiser, cable, deserialiser, link protocol."
    )
    sleep_after: Time | None = Field(
        default=None,
        description="A direction of a link that has been idle for so long sleeps, as with Energy-Efficient Ethernet; of input-queued "
        "switches; with 0 whenever it is idle. Default: it never sleeps.",
    )
    wake_time: Time | None = Field(
        default=None, description="Time that a sleeping direction takes to carry words again, for which the next packet waits. Default: 0."
    )


class NetworkInterface(Strict):
    """The network interface of a node and the software above it. Programs and `--nic exanet` need this section;
    simulations of the network alone do not."""

    @model_validator(mode="before")
    @classmethod
    def _earlier_names(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "pacing" not in given or "congestion_control" in given:
            return given
        renamed.warn("key", "ni.pacing", "ni.congestion_control")
        return {"congestion_control" if key == "pacing" else key: value for key, value in given.items()}

    packet_max: Bytes = Field(description="Largest packetizer message (MPI: envelope and payload together).")
    eager_max: Bytes = Field(description="Largest MPI payload beside its envelope; longer messages go by rendezvous and RDMA.")
    envelope: Bytes = Field(description="Size of an MPI message's envelope.")
    library_send: Time = Field(description="Processor time of the user-level library to send.")
    library_receive: Time = Field(description="Processor time of the user-level library to receive.")
    mpi_send: Time = Field(description="Processor time of the MPI library to send.")
    mpi_receive: Time = Field(description="Processor time of the MPI library to receive and match.")
    store_word: Time = Field(description="Processor store of one router word into the interface.")
    messages: Annotated[str, choice_of("ni.messages")] | None = Field(
        default=None,
        description="How a message is timed between the processor's last store and memory. times: with fixed latencies, those below; "
        "the default. gateware: cycle-accurate, as in the gateware, with its slots and acknowledgements; `packetizer` and "
        "`mailbox_word` are then 0, `mailbox` is memory's time, and the router's `word` has 128 bit, its `header` and `footer` "
        "one word each. Words of links have any width.",
    )
    transfers: Annotated[str, choice_of("ni.transfers")] | None = Field(
        default=None,
        description="How a transfer is timed between the processor's last store and memory. times: with fixed latencies, those below; "
        "the default. gateware: cycle-accurate, as in the gateware, with its channels, blocks and acknowledgements; `messages` is "
        "then `gateware`, too, `dma_start`, `dma_completion` and `translation` are 0, `dma_block` is 4 KiB, `dma_window` is ignored, and "
        "`memory_read` and `memory_write` are memory's times.",
    )
    reductions: Annotated[str, choice_of("ni.reductions")] | None = Field(
        default=None,
        description="How the reduction unit is timed. times: with fixed latencies, `reduction` and `reduction_word`; the "
        "default. gateware: cycle-accurate, as in the gateware, with its trees, retransmission and failures; "
        "`transfers` is then `gateware`, too, and these two are 0.",
    )
    reliability: Annotated[str, choice_of("ni.reliability")] | None = Field(
        default=None,
        description="With `messages: times`: whether interfaces hide what the network loses. none: the first lost packet fails its "
        "operation, the default. end-to-end: each packet has a sequence number and is acknowledged; without an acknowledgement it is "
        "sent again, and what comes again is dropped. Of nodes with one rail.",
    )
    retransmission_timeout: Time | None = Field(
        default=None,
        description="With `reliability: end-to-end`: time without an acknowledgement until a packet is sent again. It doubles with each "
        "retransmission, up to 32 times. Default: 100 us, an assumption of ours: it is above the waits in a loaded network.",
    )
    retransmission_tries: Count | None = Field(
        default=None,
        description="With `reliability: end-to-end`: retransmissions of a packet, from 1 to 15, before its operation fails. Default: 8, an "
        "assumption of ours.",
    )
    tries: Count | None = Field(
        default=None,
        description="With `messages: gateware`: retransmissions of a message or block without an acknowledgement, up to 15, before it "
        "fails. Default: no limit.",
    )
    pages: Bytes | None = Field(
        default=None,
        description="With `transfers: gateware`: addresses of transfers are translated by pages of this size, 4 KiB, 64 KiB or 2 MiB. The "
        "interface reads tables in memory for a page that its TLB does not hold. Default: 0, physical addresses.",
    )
    packetizer: Time = Field(description="Time from the last store to the packet at the router.")
    mailbox: Time = Field(description="Time from a packet's tail to its visibility in the mailbox, in addition to the time of its words.")
    mailbox_word: Time = Field(description="Write of one router word into the mailbox, in the shared cache.")
    mailbox_read: Time = Field(description="Processor read of one 64-byte line of a mailbox.")
    dma_start: Time = Field(description="Time from an RDMA descriptor's arrival in the engine to its first memory access.")
    dma_block: Bytes = Field(description="Size of the blocks into which RDMA transfers are cut; each block is acknowledged.")
    dma_window: Blocks = Field(description="Number of a transfer's blocks that may be unacknowledged.")
    dma_completion: Time = Field(description="Time from the last word written to the completion's visibility to the processor.")
    memory_read: Time = Field(description="Time from the start of a read to its first word out of memory.")
    memory_write: Time = Field(description="Time of a write's last word into memory.")
    translation: Time = Field(description="Address translation of a transfer (SMMU).")
    atomic: Time = Field(description="One atomic operation at the target's interface.")
    test_step: Time = Field(description="One empty poll inside MPI_Test and related calls.")
    reduction_trees: Count | None = Field(
        default=None,
        description="Trees along which an interface can reduce at the same time (`exanet run --offload`). Default: it has no reduction "
        "unit.",
    )
    reduction: Time | None = Field(
        default=None,
        description="With `reduction_trees`: time from a node's last part to the sum's packet at the router, in addition to the passes.",
    )
    reduction_word: Time | None = Field(
        default=None,
        description="With `reduction_trees`: time of each word of the vector in a pass; there is one pass for each part, of at least nine "
        "words.",
    )
    ip_mtu: Bytes | None = Field(
        default=None,
        description="`exanet run --sockets fabric`: bytes of the longest segment of TCP, 52 bytes of headers included. Default: 1500 B.",
    )
    ip_encapsulation: Bytes | None = Field(
        default=None,
        description="`--sockets fabric`: bytes that the network carries around a segment. Default: 18 B, of Ethernet's header and check.",
    )
    ip_send: Time | None = Field(
        default=None,
        description="`--sockets fabric`: processor time of the host's kernel to send a segment. Default: 1.7 us (docs/sockets.md).",
    )
    ip_receive: Time | None = Field(
        default=None,
        description="`--sockets fabric`: processor time of the host's kernel to take a segment. Default: 1.7 us (docs/sockets.md).",
    )
    ip_window: Bytes | None = Field(
        default=None,
        description="`--sockets fabric`: bytes of a stream that are sent and not yet read, at most 2 MiB. Default: 1 MiB.",
    )
    shared_memory_latency: Time | None = Field(
        default=None,
        description="With `shared_memory_rate`: between ranks of one node, time from the last byte copied to its visibility to the other "
        "rank, in addition to the processors' times, the stores of the envelope and `packetizer`. Default: 0.",
    )
    shared_memory_rate: Rate | None = Field(
        default=None,
        description="Ranks of one node reach each other through memory, and each copies at this rate. Default: they use the interface, "
        "whose router returns packets to their own node.",
    )
    congestion_control: Annotated[str, names_of("pacings")] | None = Field(
        default=None,
        description="Congestion control of transfers, by the marks, stamps and delays that come back from the network "
        f"(docs/congestion-control.md). {helps_of('pacings')}. Default: none.",
    )
    dcqcn_cnp_interval: Time | None = Field(
        default=None,
        description="DCQCN: least time between two notifications of a receiver to a source. Default: 50 us (Zhu et al., SIGCOMM 2015).",
    )
    dcqcn_alpha_timer: Time | None = Field(
        default=None,
        description="DCQCN: time without a notification after which alpha decays. Default: 55 us (Zhu et al.).",
    )
    dcqcn_rate_timer: Time | None = Field(
        default=None, description="DCQCN: time after which a source's rate is raised. Default: 55 us (Zhu et al.)."
    )
    dcqcn_byte_counter: Bytes | None = Field(
        default=None, description="DCQCN: bytes after which a source's rate is raised. Default: 10 MB (Zhu et al.)."
    )
    dcqcn_gain_divisor: Count | None = Field(
        default=None, description="DCQCN: 1/g, of the gain g with which alpha follows notifications. Default: 256 (Zhu et al.)."
    )
    dcqcn_recovery_steps: Count | None = Field(
        default=None, description="DCQCN: F, expiries of timer or counter in fast recovery. Default: 5 (Zhu et al.)."
    )
    dcqcn_additive_rate: Rate | None = Field(
        default=None, description="DCQCN: Rai, step of the target rate in additive increase. Default: 40 Mb/s (Zhu et al.)."
    )
    dcqcn_hyper_rate: Rate | None = Field(
        default=None,
        description="DCQCN: Rhai, step in hyper increase. Default: 200 Mb/s (configuration of the simulator bobzhuyb/ns3-rdma).",
    )
    timely_low: Time | None = Field(
        default=None,
        description="TIMELY: T_low, round trip below which a rate always grows. Default: 50 us (Mittal et al., SIGCOMM 2015).",
    )
    timely_high: Time | None = Field(
        default=None, description="TIMELY: T_high, round trip above which a rate always shrinks. Default: 500 us (Mittal et al.)."
    )
    timely_least_trip: Time | None = Field(
        default=None, description="TIMELY: minimum round trip, the unit of its gradient. Default: 20 us (Mittal et al.)."
    )
    timely_additive_rate: Rate | None = Field(
        default=None, description="TIMELY: delta, step by which a rate grows with an acknowledgement. Default: 10 Mb/s (Mittal et al.)."
    )
    timely_beta: Percent | None = Field(
        default=None,
        description="TIMELY: beta, share of the gradient or of the excess by which a rate shrinks. Default: 80 % (Mittal et al.).",
    )
    swift_base_target: Time | None = Field(
        default=None,
        description="Swift: target delay, beside the round trip of the empty network. Default: 20 us (a guess of the simulator uet-htsim; "
        "Kumar et al., SIGCOMM 2020, give no value).",
    )
    swift_scaling_range: Time | None = Field(
        default=None,
        description="Swift: fs_range, most that a small window adds to the target. Default: 100 us (uet-htsim).",
    )
    swift_additive_packets: Count | None = Field(
        default=None, description="Swift: ai, packets that a window grows by in a round trip. Default: 1 (uet-htsim)."
    )
    swift_beta: Percent | None = Field(
        default=None, description="Swift: beta, share of the excess delay by which a window is cut. Default: 80 % (uet-htsim)."
    )
    swift_most_decrease: Percent | None = Field(
        default=None, description="Swift: max_mdf, most of a window that is cut at once. Default: 50 % (uet-htsim)."
    )
    hpcc_target: Percent | None = Field(
        default=None, description="HPCC: eta, utilisation of links that is aimed at. Default: 95 % (Li et al., SIGCOMM 2019)."
    )
    hpcc_stages: Count | None = Field(
        default=None, description="HPCC: maxStage, additive increases before a multiplicative one. Default: 5 (Li et al.)."
    )
    hpcc_flows: Count | None = Field(
        default=None,
        description="HPCC: N, flows on a link for which the additive step, a window's (1 - eta)/N, is chosen. Default: 100 (Li et al.).",
    )
    acc_start: Annotated[str, choice_of("ni.acc_start")] | None = Field(
        default=None,
        description="ACC: rate of a new flow until the first valid answer. full-speed: the port's rate, the default (RED-SEA). feedback: "
        "one packet in each period, RED-SEA's Wait-for-feedback.",
    )
    acc_messages: Annotated[str, choice_of("ni.acc_messages")] | None = Field(
        default=None,
        description="ACC: when a flow sends flow-rate packets. frp-only: with each period. frp-init: also when it begins, the default "
        "(RED-SEA). frp-init-end: also when it has nothing left to send.",
    )
    acc_rise: Percent | None = Field(
        default=None,
        description="ACC: RED-SEA's Wait-to-rise. First increment of a rate that may grow, as a share of the port's rate; it doubles with "
        "each answer that allows more. Default: 0 %, a rate grows at once.",
    )
    load_balancing: Annotated[str, names_of("load_balancings")] | None = Field(
        default=None,
        description="With --nic ultra-ethernet: how a source chooses the entropies of packets, by which `routing: spray` draws their "
        f"routes. {helps_of('load_balancings')}. Default: none.",
    )
    entropies: Count | None = Field(
        default=None, description="With `load_balancing`: number of entropies, a power of two. Default: 64 (uet-htsim)."
    )
    rail_policy: Annotated[str, names_of("rail_policies")] | None = Field(
        default=None,
        description=f"With several rails: which rail a message or transfer takes. {helps_of('rail_policies')}. Default: pair.",
    )
    rail_stripe: Bytes | None = Field(
        default=None,
        description="With a `rail_policy` that takes several rails: transfers longer than this are cut into a part for each rail, of whole "
        "blocks (`dma_block`). 0, the default: none is cut. It counts where the interfaces are `exanet`'s, at packet level.",
    )
    clock: Frequency = Field(
        description="Clock at whose edges, counted from virtual time 0, packets go to the router; 0: packets go when they are ready. Parts "
        "that are cycle-accurate use the router's clock."
    )


class PartPower(Strict):
    """Power and energy of one part; a value that is left out counts as 0."""

    idle: Watts | None = Field(default=None, description="Power drawn all the time by a router, an interface, or one direction of a link.")
    packet: Joules | None = Field(default=None, description="Energy of each packet that passes.")
    bit: JoulesPerBit | None = Field(
        default=None,
        description="Energy of each bit that passes: of a link's line while it carries packets, otherwise of the whole packet.",
    )


class LinkPower(PartPower):
    """Power and energy of a kind of link, each direction; a value that is left out counts as 0."""

    asleep: Watts | None = Field(
        default=None, description="Power in place of `idle` while a direction sleeps (`links.KIND.sleep_after`). Default: that of `idle`."
    )


class Power(Strict):
    """The table of watts and joules (optional); docs/simulate.md says how it is used."""

    router: PartPower | None = Field(default=None, description="Each router: of switches if there are any, otherwise of each node.")
    links: dict[str, LinkPower] = Field(default_factory=dict, description="Each direction of a link, by kind.")
    ni: PartPower | None = Field(
        default=None,
        description="Each endpoint's interface, one for each rail; a packet passes one at the sender and one at the receiver.",
    )


class Gateway(Strict):
    """Gateways between this machine's network and another machine's (docs/gateway.md). Both are one machine then, and a
    program has ranks on both networks. Without this section there is one network."""

    network: Text = Field(description="The other machine: its name, or its file relative to this one.")
    nodes: list[Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]] = Field(
        min_length=1,
        examples=["[[0, 0], [1, 16]]"],
        description="The gateways: of each, its node in this machine's network and its node in the other one, by their numbers. No ranks "
        "run on these.",
    )
    names: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="What stands before the names of the nodes of each network. Default: [first, second]."
    )
    choice: Annotated[str, choice_of("ni.gateway.choice")] | None = Field(
        default=None,
        description="Which gateway a message takes. destination: each destination has one, the default. least-busy: the one with the "
        "fewest bytes on their way to it or waiting in it.",
    )
    message: Time = Field(description="Processor time of a gateway for a message, or for a fragment of a transfer, without its bytes.")
    rate: Rate = Field(description="Rate at which a gateway's processor copies them.")
    fragment: Bytes = Field(description="Longer transfers are cut into fragments of this size, which a gateway passes on one by one.")
    window: Count | None = Field(
        default=None,
        description="Fragments that a node has on their way to a gateway and waiting in it; further ones wait at the node until the "
        "gateway has passed one on. Default: no limit.",
    )

    @field_validator("names")
    @classmethod
    def _differ(cls, names: list[str] | None) -> list[str] | None:
        if names is not None and (names[0] == names[1] or not all(NAME.match(name) for name in names)):
            raise PydanticCustomError("exanet", "give two different names of lower-case letters, digits, dots, dashes and underscores")
        return names

    @field_validator("window")
    @classmethod
    def _some(cls, window: Count | None) -> Count | None:
        if window is not None and window.value < 1:
            raise PydanticCustomError("exanet", "give at least 1, or leave the key out for any number")
        return window


NAME = re.compile(r"^[a-z0-9][a-z0-9._-]{0,62}\Z")
"""Of a machine."""


class MachineFile(Strict):
    """A whole machine."""

    name: Annotated[str, StringConstraints(pattern=NAME)] = Field(
        description="Name: lower-case letters, digits, dots, dashes and underscores."
    )
    description: Text = Field(description="One sentence for the list of machines.")
    hardware: Hardware | None = Field(default=None)
    packaging: list[Package] = Field(default_factory=list, description="Levels of packaging, smallest first.")
    topology: Topology
    router: Router
    links: dict[str, Link] = Field(
        description="Kinds of links: intra-qfdb and inter-qfdb for a qfdb-torus, those and inter-mezzanine for a qfdb-dragonfly, local and "
        "global for a dragonfly or megafly, link for all others. Networks with switches may also have host, between an endpoint "
        "and its switch; level-2, level-3, ..., up to a switch that many links from the nearest endpoint, as in a fat tree; and "
        "the kinds that a graph's file names. A key that one of these leaves out has the value of the topology's first kind."
    )
    ni: NetworkInterface | None = Field(default=None)
    power: Power | None = Field(default=None)
    gateway: Gateway | None = Field(default=None)
    gpu: Gpu | None = Field(default=None)
    hpu: Hpu | None = Field(default=None)
    storage: dict[Annotated[str, StringConstraints(pattern=NAME)], Storage] = Field(
        default_factory=dict, description="Storages of programs' files, by name. They change nothing unless a run says --storage."
    )


@dataclass(frozen=True)
class Needs:
    """Facts of a topology, and its needs of routers."""

    endpoints: int
    nodes: int
    virtual_channels: int
    ports: int
    rails: int


def topology_of(model: MachineFile) -> dict[str, Any]:
    """The topology as the simulator takes it. Raises InputError on a graph's file that cannot be read."""
    topology = model.topology
    out: dict[str, Any] = {"kind": topology.kind, "shape": list(topology.shape.value)}
    if topology.order is not None:
        out["order"] = list(topology.order)
    if topology.routing is not None:
        out["routing"] = topology.routing
    if topology.arrangement is not None:
        out["arrangement"] = topology.arrangement
    if topology.failed:
        out["failed"] = list(topology.failed)
    if topology.rails is not None:
        out["rails"] = topology.rails.value
    if topology.kind == "graph" and topology.file is not None:
        out["graph"] = graph_file.read(Path(topology.file)).resolve(topology.shape.value[0], further_kinds(model))
    if further := further_kinds(model):
        out["link_kinds"] = further
    return out


def rails_of(model: MachineFile) -> int:
    """Links of each endpoint into the network."""
    return 1 if model.topology.rails is None else model.topology.rails.value


def link_kinds(model: MachineFile) -> list[str]:
    """The kinds of the machine's links, in the order of their class numbers in the network."""
    further = further_kinds(model)
    return [*(["host"] if "host" in further else []), *LINK_KINDS[model.topology.kind], *(name for name in further if name != "host")]


def further_kinds(model: MachineFile) -> list[str]:
    """Those beyond the topology's own. The others in the file are none."""
    return [name for name in model.links if is_further_kind(model.topology.kind, name)]


def is_further_kind(topology: str, name: str) -> bool:
    """Whether a network of this topology may have such links."""
    if topology not in SWITCHED or name in LINK_KINDS.get(topology, ()):
        return False
    return topology == "graph" or re.fullmatch("host|level-[2-9]|level-1[0-9]", name) is not None


def topology_needs(model: MachineFile) -> Needs:
    """Of the machine's shape. Raises ValueError, with advice, on a shape that its kind does not take."""
    return Needs(**_core.topology_needs(topology_of(model)))


def queue_actions(control: str) -> list[str]:
    """The queue actions of routers one of which this congestion control needs; none where it needs nothing of them."""
    return next(list(entry["actions"]) for entry in REGISTRIES["pacings"] if entry["name"] == control)


def other_routes(model: MachineFile) -> bool:
    """Whether packets take other routes than the topology's own, for which the router gets the virtual channels that
    they need."""
    return model.topology.routing not in (None, "minimal") or bool(model.topology.failed)


def node_count(model: MachineFile) -> int:
    """Endpoints of the machine's shape: the nodes that programs run on."""
    return topology_needs(model).endpoints


def constants(model: MachineFile) -> Iterator[tuple[str, Constant[Any]]]:
    """Every constant of the description with its dotted name."""
    return _constants(model, "")


def _constants(part: Any, prefix: str) -> Iterator[tuple[str, Constant[Any]]]:
    if isinstance(part, Constant):
        yield prefix, part
    elif isinstance(part, BaseModel):
        for key in type(part).model_fields:
            yield from _constants(getattr(part, key), f"{prefix}.{key}" if prefix else key)
    elif isinstance(part, dict):
        for key, child in part.items():
            yield from _constants(child, f"{prefix}.{key}")
    elif isinstance(part, list):
        for child in part:
            yield from _constants(child, f"{prefix}.{child.level}" if isinstance(child, Package) else prefix)
