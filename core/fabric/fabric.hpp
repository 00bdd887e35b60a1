// SPDX-License-Identifier: Apache-2.0
// The network at packet level: virtual cut-through routers and credit-controlled links, one event per packet and hop.
//
// Problem: carry the packets of many thousands of nodes with the contention that a cycle-accurate router would show, at a cost that
// does not depend on cycles. Model: a packet's passage through a router is settled when its output is granted, because grants are for
// whole packets and only given when the next buffer has room for the whole packet; from then on head and tail move at known times.
// The rules are written down in docs/microarchitecture.md. Limits: no errors on links; the buffer behind the
// crossbar holds one packet on the wire and one behind it.
// Source: APErouter and APElink as in the ExaNet paper at ParCo 2017, sections 3.2 to 3.4.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/fabric/model.hpp"
#include "core/switch/config.hpp"

namespace exanet {

// One kind of link. All figures are per direction.
struct LinkConfig {
  std::int64_t word_bits = 64;     // width of a link word
  Time word_time;                  // one link word, before pauses (64 bit at 156.25 MHz: 6400 ps)
  std::int64_t pause_every = 0;    // the transceiver pauses one word time after this many words; 0: never
  std::int64_t framing_words = 2;  // Magic and Start
  Time latency;                    // a word out of one link to the same word in the next one: transceivers and cable
};

struct RouterConfig {
  Time cycle;                       // 156.25 MHz: 6400 ps
  std::int64_t latency_cycles = 4;  // header in to header out, no contention; 2 of them after the grant
  std::int64_t word_bits = 128;
  std::int64_t header_words = 1;
  std::int64_t footer_words = 1;
  std::int64_t max_payload_bytes = 256;
  std::int64_t intra_fifo_words = 4096;  // payload words
  std::int64_t inter_fifo_words = 1024;
  std::int64_t header_fifo_words = 128;   // of a port: divided among its virtual channels and their two classes
  std::int64_t virtual_channels = 2;
  std::int64_t input_gap_cycles = 0;  // an input asks again this long after a packet's tail has left it ...
  std::int64_t output_gap_cycles =
      0;                         // ... and an output takes the next packet this long after the last one's tail: an unoptimised pipeline
  bool fixed_priority = false;   // of those that ask the first input goes (ports in order, intra-tile last), instead of each in turn
  bool links_first = false;      // in turn, but links before intra-tile ports except in one grant of 16: more comes through beyond saturation
  std::int64_t intra_ports = 2;  // towards the network interface: 0 packetizer/mailbox, 1 RDMA
};

struct FabricConfig {
  RouterConfig router;
  std::vector<LinkConfig> links;  // indexed by Topology::link_class
  bool priority = false;          // packets of priority 1 may come: there are queues for them
  std::optional<SwitchConfig> input_queued;  // routers are input-queued switches: core/switch, in place of this model
};

class Fabric final : public NetworkModel {
 public:
  // Throws std::invalid_argument when a figure of `config` cannot be built (a FIFO below two largest packets, no class for a link).
  // `events` and `topology` outlive the fabric.
  Fabric(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink);
  // In parts, run together by Windows: node n belongs to parts[part_of[n]]. What the fabric does is the same, however it is divided.
  Fabric(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
         const std::vector<std::uint8_t>& part_of);
  ~Fabric() override;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  bool inject(const Packet& packet) override;  // in parts: in the thread of the source's part, at its queue's present time
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override;
  std::uint64_t packet_hops() const override;
  std::uint64_t in_flight() const override;

  std::uint32_t queued(NodeId node) const override;
  std::uint64_t memory_bytes() const override;

  void collect(std::size_t part) override;
  void finish(std::size_t part, Time now) override;
  Time mailed(std::size_t part) const override;
  Time lookahead() const override;

 private:
  struct State;
  struct Part;
  std::unique_ptr<State> state_;
};

}  // namespace exanet
