// SPDX-License-Identifier: Apache-2.0
// Configures a network interface: what each step costs. Every figure comes from the machine file, which names its
// source.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/visit.hpp"
#include "core/nic/gpu.hpp"
#include "core/nic/hpu.hpp"
#include "core/nic/pacing/parameters.hpp"
#include "core/units/time.hpp"

namespace exanet {

class HandlerUnits;  // core/nic/handlers

// Of a segment of TCP: IP's, and TCP's with time stamps.
inline constexpr std::uint32_t kSegmentHeaders = 52;

// What passes messages on between two networks (core/nic/bridged).
struct GatewayConfig {
  // Which gateway a pair of nodes has: one for each destination, or the one with the fewest bytes before it.
  enum class Choice : std::uint8_t { kDestination, kLeastBusy };
  Choice choice = Choice::kDestination;
  Time message;  // its processor's time for a message, or a fragment of one: fixed part ...
  std::uint64_t rate_bit_per_s = 0;  // ... and rate at which it copies
  std::uint32_t fragment_bytes = 0;  // longer transfers pass in such parts
  std::uint32_t window = 0;  // fragments of a source that a gateway has not passed on; 0: no matter how many
};

template <>
inline constexpr auto kChoices<GatewayConfig::Choice> = choices<GatewayConfig::Choice>(
    {{"destination", GatewayConfig::Choice::kDestination}, {"least-busy", GatewayConfig::Choice::kLeastBusy}});

template <typename V>
void visit(GatewayConfig& c, V&& v) {
  v("choice", c.choice, kOptional);
  v("message_ps", c.message);
  v("rate_bit_per_s", c.rate_bit_per_s);
  v("fragment_bytes", c.fragment_bytes);
  v("window", c.window, kOptional);
}

struct NiConfig {
  // What messages, transfers or reductions cost between the processor's store and memory: the times below, or the
  // cycles of gateware/ni, with `mailbox`, or `memory_read` and `memory_write`, as memory's own times alone.
  enum class Costs : std::uint8_t { kTimes, kGateware };
  // Who hides what the network loses from interfaces of times: nobody, or the interfaces at both ends.
  enum class Reliability : std::uint8_t { kNone, kEndToEnd };

  std::uint32_t packet_max_bytes = 64;  // packetizer: largest atomic message
  std::uint32_t eager_max_bytes = 32;  // MPI payload that fits beside its envelope
  std::uint32_t envelope_bytes = 32;  // matching information and protocol word of an MPI message
  Time library_send;  // user-space library, CPU
  Time library_receive;
  Time mpi_send;  // MPI software above it, CPU
  Time mpi_receive;
  Time store_word;  // CPU stores one word of the router's width to the interface
  Time packetizer;  // last store to packet offered to the router
  Time mailbox;  // packet's tail to message visible: fixed part ...
  Time mailbox_word;  // ... and per router word into the shared cache
  Time mailbox_read;  // CPU reads one 64-byte line of the mailbox
  Time dma_start;  // descriptor in the engine to first memory access
  Time dma_completion;  // last word written to completion visible to the CPU
  Time memory_read;  // first word out of memory
  Time memory_write;  // last word into it
  Time translation;  // SMMU, per transfer
  Time atomic;  // one read-modify-write at the target
  Time test_step;  // an empty poll inside MPI_Test
  std::uint32_t tries =
      0;  // in the gateware's cycles: repetitions of a message or block until it is given up; 0: for ever
  Reliability reliability = Reliability::kNone;
  Time retransmission_timeout =
      Time::ns(100'000);  // of kEndToEnd: the first one, which doubles with each repetition ...
  std::uint32_t retransmission_tries = 8;  // ... and repetitions of a packet until it is given up
  Costs messages = Costs::kTimes;
  Costs transfers = Costs::kTimes;
  Costs reductions = Costs::kTimes;
  Time clock;  // packets go to the router at multiples of this; 0: whenever they are ready
  std::uint32_t dma_block_bytes = 4096;  // acknowledged end to end
  std::uint32_t reduction_trees = 0;  // that a node's unit takes part in at once; 0: there is no unit
  Time reduction;  // a node's last part to the sum's packet at the router, beside its words: fixed part ...
  Time reduction_word;  // ... and for each part and word, or each of nine where there are fewer
  std::uint32_t pages_bytes = 0;  // addresses of transfers are translated, by pages of this size; 0: they are physical
  std::uint32_t dma_window_blocks = 16;  // sent and not yet acknowledged, per transfer
  std::uint32_t ip_mtu_bytes = 1500;  // of a segment of TCP with its headers (core/protocol/stream.cpp)
  std::uint32_t ip_encapsulation_bytes = 18;  // around it on the network
  Time ip_send = Time::ns(1700);  // the host's processor for a segment that it sends ...
  Time ip_receive = Time::ns(1700);  // ... and takes
  std::uint32_t ip_window_bytes = 1 << 20;  // of a stream, sent and not yet read
  Time shared_memory_latency;  // between ranks of a node: last byte copied to its visibility to the other ...
  std::uint64_t shared_memory_rate_bit_per_s = 0;  // ... and rate of a copy; 0: they use the interface
  std::string congestion_control = "none";  // rate control of transfers: the name of a member of core/nic/pacing
  PacingParameters pacing;
  std::string load_balancing =
      "none";  // of interfaces that acknowledge packets (core/nic/ultra_ethernet/entropies.hpp)
  std::uint32_t entropies = 64;  // among which it chooses
  std::string rail_policy = "pair";  // which rail a descriptor takes: the name of a member of rail_policy.hpp
  std::uint64_t rail_stripe_bytes =
      0;  // longer transfers are cut over all rails (core/nic/exanet/stripes.hpp); 0: none
  // Where gateways join two networks: the interfaces of each. All else here is the first one's.
  std::vector<NiConfig> networks = {};
  std::optional<GatewayConfig> gateway;
  std::optional<GpuConfig> gpu;  // of each node
  std::optional<HpuConfig> hpu;  // of each interface
  std::shared_ptr<HandlerUnits> handlers;  // with the handlers of this run; null: there are none
};

template <>
inline constexpr auto kChoices<NiConfig::Costs> =
    choices<NiConfig::Costs>({{"times", NiConfig::Costs::kTimes}, {"gateware", NiConfig::Costs::kGateware}});

template <>
inline constexpr auto kChoices<NiConfig::Reliability> = choices<NiConfig::Reliability>(
    {{"none", NiConfig::Reliability::kNone}, {"end-to-end", NiConfig::Reliability::kEndToEnd}});

template <typename V>
void visit(NiConfig& c, V&& v) {
  v("packet_max_bytes", c.packet_max_bytes);
  v("eager_max_bytes", c.eager_max_bytes);
  v("envelope_bytes", c.envelope_bytes);
  v("library_send_ps", c.library_send);
  v("library_receive_ps", c.library_receive);
  v("mpi_send_ps", c.mpi_send);
  v("mpi_receive_ps", c.mpi_receive);
  v("store_word_ps", c.store_word);
  v("packetizer_ps", c.packetizer);
  v("mailbox_ps", c.mailbox);
  v("mailbox_word_ps", c.mailbox_word);
  v("mailbox_read_ps", c.mailbox_read);
  v("dma_start_ps", c.dma_start);
  v("dma_block_bytes", c.dma_block_bytes);
  v("dma_window_blocks", c.dma_window_blocks);
  v("dma_completion_ps", c.dma_completion);
  v("memory_read_ps", c.memory_read);
  v("memory_write_ps", c.memory_write);
  v("translation_ps", c.translation);
  v("atomic_ps", c.atomic);
  v("test_step_ps", c.test_step);
  v("reduction_trees", c.reduction_trees, kOptional);
  v("reduction_ps", c.reduction, kOptional);
  v("reduction_word_ps", c.reduction_word, kOptional);
  v("tries", c.tries, kOptional);
  v("reliability", c.reliability, kOptional);
  v("retransmission_timeout_ps", c.retransmission_timeout, kOptional);
  v("retransmission_tries", c.retransmission_tries, kOptional);
  v("messages", c.messages, kOptional);
  v("transfers", c.transfers, kOptional);
  v("reductions", c.reductions, kOptional);
  v("pages_bytes", c.pages_bytes, kOptional);
  v("ip_mtu_bytes", c.ip_mtu_bytes, kOptional);
  v("ip_encapsulation_bytes", c.ip_encapsulation_bytes, kOptional);
  v("ip_send_ps", c.ip_send, kOptional);
  v("ip_receive_ps", c.ip_receive, kOptional);
  v("ip_window_bytes", c.ip_window_bytes, kOptional);
  v("shared_memory_latency_ps", c.shared_memory_latency, kOptional);
  v("shared_memory_rate_bit_per_s", c.shared_memory_rate_bit_per_s, kOptional);
  v("congestion_control", c.congestion_control, kOptional);
  each_parameter(c.pacing, v);
  v("load_balancing", c.load_balancing, kOptional);
  v("entropies", c.entropies, kOptional);
  v("rail_policy", c.rail_policy, kOptional);
  v("rail_stripe_bytes", c.rail_stripe_bytes, kOptional);
  v("clock_ps", c.clock);
  v("networks", c.networks, kOptional);
  v("gateway", c.gateway, kOptional);
  v("gpu", c.gpu, kOptional);
  v("hpu", c.hpu, kOptional);
}

}  // namespace exanet
