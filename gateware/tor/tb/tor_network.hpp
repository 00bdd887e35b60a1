// SPDX-License-Identifier: Apache-2.0
// Verilated top-of-rack switches in a tree, wired in C++, with an interface at each endpoint that sends and receives as
// that of the model does (core/network/wormhole): the rest of a network whose switches are gateware.
//
// Cycles are those of the model: what the switch's allocation does in a cycle, the model does at its beginning. A link
// of `latency` cycles has a flit on the far wires so many cycles after the near ones, and a credit one cycle sooner,
// since the model's takes a control word's cycle and the switch's own two registers are in it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "Vexanet_tor.h"
#include "core/topology/topology.hpp"
#include "gateware/tb/expect.hpp"
#include "verilated.h"

namespace exanet::gateware {

inline constexpr unsigned kTorPorts = 8, kTorDepth = 32, kTorCredits = kTorDepth - kTorPorts;
inline constexpr unsigned kFlitBits = 70, kHeaderFlits = 2, kFooterFlits = 2;

struct TorFlit {
  std::uint64_t data = 0;
  bool first = false, last = false;
  std::uint8_t mac = 0;
  bool operator==(const TorFlit&) const = default;
};

struct TorPacket {
  std::uint64_t cycle;  // offered
  NodeId src, dst;
  std::uint16_t bytes;

  std::uint32_t flits() const { return kHeaderFlits + kFooterFlits + (bytes + 7u) / 8; }
  // The `index`th flit of the packet numbered `number`. The header's halves as in spec/: dmadd and dcid, and length.
  TorFlit flit(std::uint64_t number, std::uint32_t index) const {
    TorFlit made;
    made.first = index == 0;
    made.last = index + 1 == flits();
    made.mac = static_cast<std::uint8_t>((number + index) & 15);
    if (index == 0)
      made.data = std::uint64_t{dst} << 48 | number;
    else if (index == 1)
      made.data = std::uint64_t{bytes} << 38 | number % 64;
    else
      made.data = ~(number * 0x9e3779b97f4a7c15u + index);
    return made;
  }
};

// Values that come after a number of cycles.
template <typename Value>
class Wire {
 public:
  void put(std::uint64_t at, Value value) { line_.push_back({at, value}); }
  bool has(std::uint64_t now) const { return !line_.empty() && line_.front().first <= now; }
  Value take() {
    const Value value = line_.front().second;
    line_.pop_front();
    return value;
  }

 private:
  std::deque<std::pair<std::uint64_t, Value>> line_;
};

class TorNetwork {
 public:
  // `children` and `parents` of the levels from below, as core/topology/fat_tree.cpp has them.
  TorNetwork(const Topology& topology, const std::vector<std::uint32_t>& children,
             const std::vector<std::uint32_t>& parents, unsigned latency, unsigned endpoint_cycles,
             std::vector<TorPacket> packets)
      : packets_(std::move(packets)),
        latency_(latency),
        endpoint_cycles_(endpoint_cycles),
        endpoints_(topology.endpoint_count()),
        interfaces_(endpoints_),
        delivered_(packets_.size()) {
    links_.resize(topology.node_count());
    for (NodeId node = 0; node < topology.node_count(); ++node)
      for (std::uint16_t port = 0; port < topology.port_count(node); ++port)
        links_[node][port].far = topology.neighbour(node, port);
    std::uint32_t below = 1, width = 1;
    for (std::size_t level = 0; level < children.size(); ++level) {
      const std::uint32_t under = below;
      below *= children[level];
      width *= parents[level];
      const std::uint32_t up = level + 1 < children.size() ? parents[level + 1] : 0;
      for (std::uint32_t i = 0; i < endpoints_ / below * width; ++i)
        add_switch(i / width * below, below, under, children[level], width / parents[0], up);
    }
    expect(switches_.size() == topology.node_count() - endpoints_, "a switch for each of the tree's");
    for (unsigned i = 0; i < 3; ++i)
      for (auto& one : switches_) clock(*one);
    for (auto& one : switches_) one->rst_ni = 1;
    for (std::size_t i = 0; i < packets_.size(); ++i) interfaces_[packets_[i].src].to_send.push_back(i);
  }
  ~TorNetwork() {
    for (auto& one : switches_) one->final();
  }

  // Until all packets have come, or nothing does for `idle_limit` cycles. The cycle behind each packet's last flit.
  const std::vector<std::uint64_t>& run(std::uint64_t idle_limit = 100'000) {
    for (std::uint64_t last = 0; left() && cycle_ < last + idle_limit; ++cycle_) {
      const std::uint64_t before = arrived_;
      step();
      if (arrived_ != before || (!packets_.empty() && cycle_ < packets_.back().cycle)) last = cycle_;
    }
    expect(!left(), "all packets arrive");
    return delivered_;
  }
  std::uint64_t cycle() const { return cycle_; }
  std::uint64_t flits() const { return flits_; }

 private:
  struct Link {
    PortRef far;
    Wire<TorFlit> in;  // to this port
    Wire<bool> credits;
  };
  // A sender and a receiver.
  struct Interface {
    std::deque<std::size_t> to_send;
    std::uint64_t start = 0, free = 0;  // of the first packet's writing, and when the port is free
    std::uint32_t sent = 0;
    unsigned credits = kTorCredits;
    bool begun = false;
    std::deque<std::pair<std::uint64_t, TorFlit>> buffer;  // when it can be read
    std::uint64_t packet = 0;
    std::uint32_t received = 0;
  };

  bool left() const { return arrived_ < packets_.size(); }

  void add_switch(std::uint32_t subtree, std::uint32_t below, std::uint32_t under, std::uint32_t down,
                  std::uint32_t each, std::uint32_t up) {
    expect(std::has_single_bit(below) && std::has_single_bit(each) && down + up <= kTorPorts, "a tree of the switches");
    auto made = std::make_unique<Vexanet_tor>(&context_);
    // Fields from the highest: above, subtree, down_shift, down_mask, up_shift, up_mask, first_up.
    std::uint64_t route = 0xffffu & ~(below - 1);
    route = route << 16 | subtree;
    route = route << 4 | static_cast<unsigned>(std::countr_zero(under));
    route = route << 6 | (down - 1);
    route = route << 4 | static_cast<unsigned>(std::countr_zero(each));
    route = route << 6 | (up == 0 ? 0 : up - 1);
    route = route << 6 | down;
    made->route_i = route;
    made->rst_ni = 0;
    switches_.push_back(std::move(made));
  }

  static void clock(Vexanet_tor& one) {
    one.clk_i = 0;
    one.eval();
    one.clk_i = 1;
    one.eval();
  }

  template <typename Wide>
  static TorFlit flit_of(const Wide& wide, unsigned port) {
    const auto bits = [&](unsigned from, unsigned count) {
      std::uint64_t value = 0;
      for (unsigned done = 0; done < count;) {
        const unsigned at = from + done, take = std::min(32 - at % 32, count - done);
        value |= (std::uint64_t{wide[at / 32]} >> (at % 32) & ((std::uint64_t{1} << take) - 1)) << done;
        done += take;
      }
      return value;
    };
    const unsigned first = port * kFlitBits;
    return {bits(first, 64), bits(first + 69, 1) != 0, bits(first + 68, 1) != 0,
            static_cast<std::uint8_t>(bits(first + 64, 4))};
  }

  template <typename Wide>
  static void set_flit(Wide& wide, unsigned port, const TorFlit& flit) {
    const auto set = [&](unsigned from, unsigned count, std::uint64_t value) {
      for (unsigned done = 0; done < count;) {
        const unsigned at = from + done, take = std::min(32 - at % 32, count - done);
        const auto mask = static_cast<std::uint32_t>(((std::uint64_t{1} << take) - 1) << (at % 32));
        wide[at / 32] = (wide[at / 32] & ~mask) | (static_cast<std::uint32_t>((value >> done) << (at % 32)) & mask);
        done += take;
      }
    };
    const unsigned first = port * kFlitBits;
    set(first, 64, flit.data);
    set(first + 64, 6, flit.mac | (flit.last ? 16u : 0u) | (flit.first ? 32u : 0u));
  }

  // What is on the wires in this cycle goes on its way, what arrives is on the wires, and the clock's edge comes.
  void step() {
    for (std::size_t s = 0; s < switches_.size(); ++s) {
      Vexanet_tor& one = *switches_[s];
      for (unsigned port = 0; port < kTorPorts; ++port) {
        Link& link = links_[endpoints_ + s][port];
        if (link.far.node == kNoNode) continue;
        Link& there = links_[link.far.node][link.far.port];
        if (one.tx_valid_o >> port & 1) {
          there.in.put(cycle_ + latency_, flit_of(one.tx_flit_o, port));
          ++flits_;
        }
        if (one.rx_credit_o >> port & 1)
          there.credits.put(cycle_ + latency_ - (link.far.node < endpoints_ ? 0 : 1), true);
      }
    }
    for (NodeId node = 0; node < endpoints_; ++node) {
      send(interfaces_[node], links_[node][0]);
      receive(node, interfaces_[node], links_[node][0]);
    }
    for (std::size_t s = 0; s < switches_.size(); ++s) {
      Vexanet_tor& one = *switches_[s];
      one.rx_valid_i = one.tx_credit_i = 0;
      for (unsigned port = 0; port < kTorPorts; ++port) {
        Link& link = links_[endpoints_ + s][port];
        if (link.in.has(cycle_)) {
          set_flit(one.rx_flit_i, port, link.in.take());
          one.rx_valid_i = static_cast<CData>(one.rx_valid_i | 1u << port);
        }
        if (link.credits.has(cycle_)) {
          link.credits.take();
          one.tx_credit_i = static_cast<CData>(one.tx_credit_i | 1u << port);
        }
      }
      clock(one);
    }
  }

  // A flit goes when it is written, the first one when the header is, and there is a credit. It takes 4 cycles through
  // the interface, as through a switch.
  void send(Interface& from, Link& link) {
    for (; link.credits.has(cycle_); link.credits.take()) ++from.credits;
    if (from.to_send.empty()) return;
    const std::size_t number = from.to_send.front();
    const TorPacket& packet = packets_[number];
    if (!from.begun) {
      from.start = std::max(packet.cycle, from.free);
      from.free = from.start + packet.flits();
      from.begun = true;
    }
    const std::uint32_t written = from.sent == 0 ? kHeaderFlits - 1 : from.sent;
    if (cycle_ < from.start + written + endpoint_cycles_ || from.credits == 0) return;
    --from.credits;
    links_[link.far.node][link.far.port].in.put(cycle_ + 4 + latency_, packet.flit(number, from.sent));
    if (++from.sent < packet.flits()) return;
    from.to_send.pop_front();
    from.sent = 0;
    from.begun = false;
  }

  void receive(NodeId node, Interface& at, Link& link) {
    // On the near wires in the fourth cycle, on the link for one: it can be read `endpoint_cycles` behind its arrival.
    while (link.in.has(cycle_)) at.buffer.push_back({cycle_ - 3 + endpoint_cycles_, link.in.take()});
    if (at.buffer.empty()) return;
    const std::size_t needed = at.received == 0 ? kHeaderFlits : 1;
    if (at.buffer.size() < needed || at.buffer[needed - 1].first > cycle_) return;
    const TorFlit flit = at.buffer.front().second;
    at.buffer.pop_front();
    if (at.received == 0) at.packet = flit.data & 0xffff'ffff;
    expect(at.packet < packets_.size() && packets_[at.packet].dst == node, "a packet arrives where it goes to");
    const TorPacket& packet = packets_[at.packet];
    expect(flit == packet.flit(at.packet, at.received), "a flit arrives as it was sent, behind the one before it");
    links_[link.far.node][link.far.port].credits.put(cycle_ + 1 + latency_, true);
    if (++at.received < packet.flits()) return;
    at.received = 0;
    expect(delivered_[at.packet] == 0, "a packet arrives once");
    delivered_[at.packet] = cycle_ + 1;
    ++arrived_;
  }

  std::vector<TorPacket> packets_;
  unsigned latency_, endpoint_cycles_;
  NodeId endpoints_;
  VerilatedContext context_;
  std::vector<std::unique_ptr<Vexanet_tor>> switches_;
  std::vector<std::array<Link, kTorPorts>> links_;
  std::vector<Interface> interfaces_;
  std::vector<std::uint64_t> delivered_;
  std::uint64_t cycle_ = 0, arrived_ = 0, flits_ = 0;
};

}  // namespace exanet::gateware
