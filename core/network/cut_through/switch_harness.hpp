// SPDX-License-Identifier: Apache-2.0
// Harness of the tests of switches: one switch between as many senders as receivers, all senders with packets for ever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/engine/random.hpp"
#include "core/network/cut_through/cut_through_network.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"

namespace exanet::testing {

// Links of 64 bits at 6.4 ns without framing or pauses, and packets of 10 words of 64 bits: 64 ns each on a link and a
// line alike.
inline NetworkConfig cell_switch(SwitchConfig config = {}) {
  NetworkConfig fabric;
  fabric.router.cycle = Time::ps(6400);
  fabric.router.latency_cycles = 2;
  fabric.router.word_bits = 64;
  fabric.router.max_payload_bytes = 64;
  fabric.router.virtual_channels = 1;
  fabric.router.inter_fifo_words = 400;
  fabric.router.intra_fifo_words = 400;
  LinkConfig link;
  link.word_time = Time::ps(6400);
  link.framing_words = 0;
  link.latency = Time::ns(10);
  fabric.links = {link};
  fabric.input_queued = config;
  return fabric;
}

inline constexpr Time kCell = Time::ns(64);
inline constexpr std::uint16_t kCellBytes = 64;

// One switch of 2 n ports: n senders, n receivers. `destination` says where a sender's next packet goes, and of which
// priority it is.
struct Flow {
  std::uint32_t receiver;
  std::uint8_t priority = 0;
  std::uint16_t bytes = kCellBytes;
};

class OneSwitch {
 public:
  OneSwitch(std::uint32_t n, const NetworkConfig& config, std::function<Flow(std::uint32_t sender)> next)
      : n_(n),
        delivered_(std::size_t{n} * n),
        by_class_(8),
        next_(std::move(next)),
        topology_(make_topology({"fat-tree", {2 * n}})),
        network_(queue_, *topology_, config, PacketSink{this, on_delivered, on_ready}) {
    for (std::uint32_t sender = 0; sender < n; ++sender) held_.push_back(next_(sender));
    for (std::uint32_t sender = 0; sender < n; ++sender) send(sender);
  }

  // Packets for each receiver in a packet time, from `begin` to `end`.
  double throughput(Time begin, Time end) {
    queue_.run_until(begin);
    const std::uint64_t before = total_;
    std::fill(delivered_.begin(), delivered_.end(), 0);
    std::fill(by_class_.begin(), by_class_.end(), 0);
    queue_.run_until(end);
    return static_cast<double>((total_ - before)) * static_cast<double>(kCell.ps()) /
           static_cast<double>((end - begin).ps()) / n_;
  }

  std::uint64_t between(std::uint32_t sender, std::uint32_t receiver) const {
    return delivered_[sender * n_ + receiver];
  }
  // Bytes of whole packets.
  std::uint64_t of_class(std::uint8_t priority) const { return by_class_[priority]; }
  const CutThroughNetwork& network() const { return network_; }

 private:
  void send(std::uint32_t sender) {
    for (;;) {
      const Flow& flow = held_[sender];
      if (!network_.inject({sender, n_ + flow.receiver, flow.bytes, 0, flow.priority, 0})) return;
      held_[sender] = next_(sender);
    }
  }
  static void on_ready(void* self, NodeId node, std::uint8_t, std::uint8_t, Time) {
    static_cast<OneSwitch*>(self)->send(node);
  }
  static void on_delivered(void* self, const Packet& packet, Time, Time) {
    OneSwitch& s = *static_cast<OneSwitch*>(self);
    ++s.total_;
    ++s.delivered_[packet.src * s.n_ + packet.dst - s.n_];
    s.by_class_[packet.priority] += packet.payload_bytes + 16u;
  }

  std::uint32_t n_;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> delivered_, by_class_;
  std::function<Flow(std::uint32_t)> next_;
  std::vector<Flow> held_;  // by sender: the packet that goes next
  EventQueue queue_;
  std::unique_ptr<Topology> topology_;
  CutThroughNetwork network_;
};

}  // namespace exanet::testing
