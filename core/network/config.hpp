// SPDX-License-Identifier: Apache-2.0
// Configures a packet network: its routers, its kinds of links, and what a switch has in place of an ExaNet router.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/visit.hpp"
#include "core/network/line_faults.hpp"
#include "core/network/switch_config.hpp"
#include "core/units/time.hpp"

namespace exanet {

// One kind of link. All figures are per direction.
struct LinkConfig {
  std::int64_t word_bits = 64;     // width of a link word
  Time word_time;                  // one link word, before pauses (64 bit at 156.25 MHz: 6400 ps)
  std::int64_t pause_every = 0;    // the transceiver pauses one word time after this many words; 0: never
  std::int64_t framing_words = 2;  // Magic and Start
  Time latency;                    // a word out of one link to the same word in the next one: transceivers and cable
  Time sleep_after = Time::never();  // idle for so long, a link of an input-queued switch sleeps
  Time wake_time;  // from then until it carries words again
  std::string name;                // of this kind
};

template <typename V>
void visit(LinkConfig& c, V&& v) {
  v("name", c.name);
  v("word_bits", c.word_bits);
  v("framing_words", c.framing_words);
  v("latency_ps", c.latency);
  v("word_time_ps", c.word_time);
  v("pause_every", c.pause_every);
  v("sleep_after_ps", c.sleep_after, kOptional);
  v("wake_time_ps", c.wake_time, kOptional);
}

// The path of a link's key in a ConfigError.
inline std::string link_path(const LinkConfig& link, const char* key) {
  return "links." + (link.name.empty() ? "" : link.name + ".") + key;
}

struct RouterConfig {
  // Among the inputs that ask for an output: each in turn; in turn, but links before intra-tile ports except in one
  // grant of 16, so that more comes through beyond saturation; or the first one (ports in order, intra-tile last).
  enum class Arbitration : std::uint8_t { kRoundRobin, kLinksFirst, kFixedPriority };
  // Virtual channel that a packet gets: the one that routing names; or, of those that may stand for it
  // (channel_step()), the emptiest.
  enum class VcAllocation : std::uint8_t { kRouting, kOccupancy };

  Time cycle;  // 156.25 MHz: 6400 ps
  std::int64_t latency_cycles = 4;  // header in to header out, no contention; 2 of them after the grant
  std::int64_t endpoint_latency_cycles =
      0;  // the same of an endpoint behind a switch; 0: the least, 3, or the switch's where that is less
  std::int64_t word_bits = 128;
  std::int64_t header_words = 1;
  std::int64_t footer_words = 1;
  std::int64_t max_payload_bytes = 256;
  std::int64_t intra_fifo_words = 4096;  // payload words
  std::int64_t inter_fifo_words = 1024;
  std::int64_t header_fifo_words = 128;  // of a port: divided among its virtual channels and their two classes
  std::int64_t intra_header_fifo_words = 0;  // of an intra-tile port, if not those; not a key of machine files
  std::int64_t credit_threshold_words =
      0;  // an idle link advertises space when so many payload words have come back; 0: of every packet's
  std::int64_t credit_interval_cycles =
      0;  // ... and repeats it after so many cycles without a control word; 0: 65,535, and never without a threshold
  // packets that an intra-tile output hands out before the network interface gives back a slot; 0: no matter how
  // many
  std::int64_t interface_slots = 0;
  std::int64_t interface_credit_cycles =
      0;  // from space that an intra-tile port gives back to the first header that may take it, in the interface
  std::int64_t virtual_channels = 2;
  VcAllocation vc_allocation = VcAllocation::kOccupancy;
  // An intra-tile port, of each rail, whose interface keeps so many packets in the router at most, fewer than its FIFO
  // holds; -1: none.
  std::int16_t shallow_port = -1, shallow_packets = 0;
  std::int64_t input_gap_cycles = 0;  // an input asks again this long after a packet's tail has left it ...
  std::int64_t output_gap_cycles =
      0;  // ... and an output takes the next packet this long after the last one's tail: an unoptimised pipeline
  Arbitration arbitration = Arbitration::kRoundRobin;
  std::int64_t intra_ports = 2;  // towards the network interface: 0 packetizer/mailbox, 1 RDMA
  std::string queue_action =
      "none";  // on packets that join a queue: the name of a member of core/network/queue_actions
  std::int64_t queue_threshold_words = 0;  // in a queue, from which on an action marks, trims or drops what joins it
  std::int64_t queue_threshold_max_words = 0;  // from which on ecn-ramp marks all ...
  std::int64_t marking_probability_percent = 0;  // ... and what share it marks just below
  std::int64_t queue_limit_words = 0;  // in a queue, from which on ecn-trim and ecn-drop cut or drop data
  Time hpcc_round_trip;  // the longest of an empty network, which HPCC's routers know
  Time acc_period = Time::us(20);  // between ACC's pulses, in routers and interfaces: RED-SEA
  std::int64_t acc_margin_percent = 1;  // of links' rates that ACC leaves free

  // Words that so many bytes fill. Contract: word_bits is positive, which the network's construction checks.
  std::int64_t words(std::uint64_t bytes) const {
    return (static_cast<std::int64_t>(bytes) * 8 + word_bits - 1) / word_bits;
  }
};

template <>
inline constexpr auto kChoices<RouterConfig::Arbitration> =
    choices<RouterConfig::Arbitration>({{"round-robin", RouterConfig::Arbitration::kRoundRobin},
                                        {"links-first", RouterConfig::Arbitration::kLinksFirst},
                                        {"fixed-priority", RouterConfig::Arbitration::kFixedPriority}});

template <>
inline constexpr auto kChoices<RouterConfig::VcAllocation> = choices<RouterConfig::VcAllocation>(
    {{"routing", RouterConfig::VcAllocation::kRouting}, {"occupancy", RouterConfig::VcAllocation::kOccupancy}});

template <typename V>
void visit(RouterConfig& c, V&& v) {
  v("cycle_ps", c.cycle);
  v("latency_cycles", c.latency_cycles);
  v("endpoint_latency_cycles", c.endpoint_latency_cycles, kOptional);
  v("arbitration", c.arbitration, kOptional);
  v("input_gap_cycles", c.input_gap_cycles, kOptional);
  v("output_gap_cycles", c.output_gap_cycles, kOptional);
  v("word_bits", c.word_bits);
  v("header_words", c.header_words);
  v("footer_words", c.footer_words);
  v("max_payload_bytes", c.max_payload_bytes);
  v("intra_fifo_words", c.intra_fifo_words);
  v("inter_fifo_words", c.inter_fifo_words);
  v("header_fifo_words", c.header_fifo_words);
  v("intra_header_fifo_words", c.intra_header_fifo_words, kOptional);
  v("credit_threshold_words", c.credit_threshold_words, kOptional);
  v("credit_interval_cycles", c.credit_interval_cycles, kOptional);
  v("virtual_channels", c.virtual_channels);
  v("vc_allocation", c.vc_allocation, kOptional);
  v("intra_ports", c.intra_ports);
  v("queue_action", c.queue_action, kOptional);
  v("queue_threshold_words", c.queue_threshold_words, kOptional);
  v("queue_threshold_max_words", c.queue_threshold_max_words, kOptional);
  v("marking_probability_percent", c.marking_probability_percent, kOptional);
  v("queue_limit_words", c.queue_limit_words, kOptional);
  v("hpcc_round_trip_ps", c.hpcc_round_trip, kOptional);
  v("acc_period_ps", c.acc_period, kOptional);
  v("acc_margin_percent", c.acc_margin_percent, kOptional);
}

struct NetworkConfig {
  RouterConfig router;
  std::vector<LinkConfig> links;  // indexed by Topology::link_class
  LineFaults faults;  // of the ExaNet router's links, with credits that are repeated; not a key of machine files
  bool priority = false;  // packets of priority 1 may come: there are queues for them
  bool rails_by_port = false;  // a packet takes the rail of the port that it enters by, in place of that of its pair
  bool links_fail = false;  // in the run, by Network::set_link(); not a key of machine files
  bool impairs = false;  // in the run, by FaultTarget::set_impairment(); the same
  // Behind the kinds of links of the machine stand as many for each rate of slow links (FaultTarget::set_rate).
  std::size_t slow_rates = 0;
  std::uint64_t seed = 1;  // of what routers draw: marks; not a key of machine files
  bool notes = false;  // interfaces make use of what packets carry of congestion: Packet::notes, and the stamp
  std::optional<SwitchConfig> input_queued;  // the routers are input-queued switches in place of ExaNet routers
  // Where gateways join two networks (core/topology/bridged.hpp): each of them. `links` has the kinds of both and the
  // gateways', and `router` is the first one's.
  std::vector<NetworkConfig> networks = {};

  std::size_t link_kinds() const { return links.size() / (slow_rates + 1); }  // of the machine
};

// The kind of a link of this kind, at whatever rate, at rate `rate` (FaultTarget::set_rate).
constexpr std::uint8_t kind_at_rate(std::uint8_t kind, std::uint32_t rate, std::size_t kinds) {
  return static_cast<std::uint8_t>(kind % kinds + rate * kinds);
}

template <typename V>
void visit(NetworkConfig& c, V&& v) {
  v("router", c.router);
  v("router.switch", c.input_queued, kOptional);
  v("links", c.links);
  v("networks", c.networks, kOptional);
}

// The name of the network model (registry.hpp) of these routers.
inline std::string_view model_name(const NetworkConfig& config) {
  return config.input_queued ? std::string_view(config.input_queued->switching) : std::string_view("exanet");
}

}  // namespace exanet
