// SPDX-License-Identifier: Apache-2.0
// End-to-end reliability of interfaces of times: what the network loses is sent again by the interface at its source.
//
// Problem: a network may lose any packet, of a message, a transfer, a read, an atomic or a reduction, and an
// acknowledgement as well. Model, after BXIv3's transport (sequence numbers, an acknowledgement for each packet,
// retransmission upon timeout, a check of each packet's bits): a layer between the engines and the network, which is a
// network to the engines. It numbers packets by pair of nodes. The receiver answers each with an empty packet of the
// class priority, and drops what comes again. Without an answer a packet goes again after a timeout, which doubles with
// each repetition, and is given up after so many (NiConfig::retransmission_timeout, retransmission_tries): its engine
// then hears of the loss, if the packet has not come.
//
// Engines put what comes late into its order, as behind a network in which packets overtake each other. A full window
// towards one node holds up the port that sends to it.
//
// Limits: the copy that is sent again lies in the interface, and is not read out of memory again. Acknowledgements name
// one packet each, and take no time in an interface. What is given up is dropped when it comes after all. A source does
// not measure the network: the timeout is a constant, and under long waits in routers packets go twice for nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/nic/exanet/engine.hpp"
#include "core/nic/reliability/backoff.hpp"
#include "core/nic/reliability/retransmit.hpp"
#include "core/nic/reliability/window.hpp"

namespace exanet {

class EndToEnd final : public Network {
 public:
  // `engines`: who gets what has come and what is given up; once over() a network.
  EndToEnd(NicContext& context, std::size_t nodes, const PacketSink& engines);
  PacketSink sink();  // of the network below
  Network& over(Network& network);

  // What the node `by`, or all (kNoNode), have sent to the node without an answer is given up at its next timeout.
  void is_known_dead(NodeId node, NodeId by) {
    dead_[node].resize(dead_.size());
    for (NodeId n = 0; n < dead_.size(); ++n)
      if (by == kNoNode || by == n) dead_[node][n] = true;
  }

  const ReliabilityStatistics& statistics() const { return statistics_; }

  bool inject(const Packet& packet) override;
  bool keeps_order() const override { return false; }
  bool may_lose() const override { return true; }
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override {
    return network_->link_stats(node, port);
  }
  Time asleep(NodeId node, std::uint16_t port, Time now) const override { return network_->asleep(node, port, now); }
  std::uint64_t packet_hops() const override { return network_->packet_hops(); }
  std::uint64_t lost() const override { return network_->lost(); }
  std::uint64_t in_flight() const override { return network_->in_flight(); }

 private:
  static constexpr std::uint32_t kPackets = 256;  // to one node, without an answer
  using Window = SendWindowOf<kPackets>;

  // A packet without an answer, as its engine gave it.
  struct Unanswered {
    Packet packet;
    Time injected;  // for the first time
    std::uint32_t number;  // of its pair
    std::uint32_t use = 0;  // of this record: how often it has been taken
    std::uint64_t sending = 0;  // the last one; 0: the record is free
    Tries tries = {};
    Backoff backoff = {};
    bool has_come = false;
    std::uint32_t next = 0;  // of those not in use
  };
  struct Pair {
    Window window;
    std::vector<std::uint32_t> waiting = {};  // ports that wait for it
  };
  // An intra-tile port and class of a node.
  struct Port {
    std::deque<Packet> own = {};  // acknowledgements, or what goes again
    bool blocked = false;  // by the network
    bool waiting = false;  // an engine is to be asked again
  };

  std::uint32_t place(NodeId node, std::uint8_t port, std::uint8_t priority) const {
    return (node * ports_of_node_ + port) * 2 + priority;
  }
  Pair& pair_of(const Packet& packet) { return pairs_[std::uint64_t{packet.src} << 32 | packet.dst]; }
  Unanswered* of(std::uint64_t word);  // nullptr: it has been answered, or given up
  std::uint64_t word_of(std::uint32_t index) const { return std::uint64_t{unanswered_[index].use} << 32 | index; }

  void delivered(const Packet& packet, Time injected, Time now);
  void acknowledge(const Packet& packet, Time now);
  void answered(std::uint64_t word);
  void close(std::uint32_t index);
  void ready(std::uint32_t place, Time now);
  void flush(NodeId node, Time now);
  void flush_port(std::uint32_t place, Time now);
  void ask_again(std::uint32_t place, Time now);
  void sent(std::uint32_t index, Time now);
  void arm(Time now);
  void look(Time now);
  [[gnu::noinline]] void timed_out(std::uint32_t index, Time now);

  NicContext& context_;
  PacketSink engines_;
  Network* network_ = nullptr;
  std::uint32_t ports_of_node_;
  std::vector<Port> ports_;
  bool is_dead(const Packet& packet) const { return !dead_[packet.dst].empty() && dead_[packet.dst][packet.src]; }

  std::vector<std::vector<bool>> dead_;  // by node: by whom it is known to be; empty: by nobody
  std::unordered_map<std::uint64_t, Pair> pairs_;  // by source and destination
  Pool<Unanswered, &Unanswered::next> unanswered_;
  RetransmissionScan scan_;
  Time looks_at_ = Time::never();
  std::uint64_t sendings_ = 0;
  ReliabilityStatistics statistics_{.retransmits = true};
  PortClock clock_;
  std::uint32_t on_look_ = 0, on_own_ = 0;
};

}  // namespace exanet
