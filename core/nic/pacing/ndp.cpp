// SPDX-License-Identifier: Apache-2.0
// NDP: a source sends a first window at full speed, then a packet for each pull of the receiver, which sends pulls at
// its link's rate.
//
// Source: Handley et al., SIGCOMM 2017; the first window of 15 packets is that of uet-htsim (ndp.cpp). Model: a
// receiver sends a pull for each packet that comes, whole or trimmed, and goes round its sources, one packet's time of
// its link apart. A packet says whether anything is left to send behind it. When one arrives that says no, the pulls
// that are pending for whole packets are forgotten, as the paper's receiver forgets those of a transfer that is
// complete; those of trimmed packets stay, for they are sent again. A source of which nothing is in flight begins with
// a first window again. Pulls are counts, so that a lost one does not matter.
//
// Limits: the first window is the bandwidth-delay product of an empty network where that is more than 15 packets, which
// is ours: less would not fill a long link. One flow to each destination, so transfers share a window. No headers are
// returned to the sender; the timeout of the interface stands in.
#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "core/nic/pacing/pacing.hpp"

namespace exanet {

namespace {

constexpr std::int64_t kFirstWindowPackets = 15;

class Ndp final : public Pacing {
 public:
  Ndp(const PacingSetup& setup, NodeId node)
      : setup_(setup),
        node_(node),
        pull_time_(Time::ps(static_cast<std::int64_t>(static_cast<double>(setup.packet_bytes) * 8e12 /
                                                      static_cast<double>(setup.payload_bits_per_second)))) {}

  Allowance allowance(NodeId peer, Time) override {
    Allowance allowed;
    allowed.credit_bytes = source(peer).packets * setup_.packet_bytes;
    return allowed;
  }
  void sent(NodeId peer, std::uint32_t bytes, Time) override {
    Source& s = source(peer);
    --s.packets;
    s.in_flight += bytes;
  }
  std::uint64_t demand(NodeId, std::uint64_t backlog, std::uint32_t, std::uint32_t) override { return backlog > 0; }
  void acknowledged(NodeId peer, const Feedback& feedback, Time) override { landed(source(peer), feedback.bytes); }
  void lost(NodeId peer, const Loss& loss, Time) override {
    Source& s = source(peer);
    // A receiver that has seen nothing of a packet does not pull another for it.
    if (loss.why == Loss::Why::kTimeout) s.packets = std::min(s.packets + 1, s.first);
    landed(s, loss.bytes);
  }
  void heard(const ControlPacket& packet, Time) override {
    Source& s = source(packet.peer);
    if (packet.stamp <= s.pulled) return;
    const std::uint64_t pulls = std::min(packet.stamp - s.pulled, static_cast<std::uint64_t>(s.first));
    s.packets = std::min(s.packets + static_cast<std::int64_t>(pulls), s.first);
    s.pulled = packet.stamp;
  }

  void arrived(NodeId peer, const Packet& packet, Time now) override {
    Sink& s = sinks_[peer];
    const bool trimmed = (packet.notes & Packet::kTrimmed) != 0;
    if (trimmed) {
      ++s.trimmed;
    } else if (packet.stamp > 0) {
      ++s.whole;
    } else {
      s.whole = 0;
    }
    if (s.in_turn || s.trimmed + s.whole == 0) return;
    s.in_turn = true;
    turns_.push_back(peer);
    next_ = max(next_, now);
  }
  std::optional<ControlPacket> control(Time now) override {
    while (!turns_.empty() && next_ <= now) {
      const NodeId peer = turns_.front();
      turns_.pop_front();
      Sink& s = sinks_[peer];
      s.in_turn = false;
      std::uint64_t& pending = s.trimmed > 0 ? s.trimmed : s.whole;
      if (pending == 0) continue;  // what it was in turn for has been forgotten
      --pending;
      ++s.pulled;
      if (s.trimmed + s.whole > 0) {
        s.in_turn = true;
        turns_.push_back(peer);
      }
      next_ = now + pull_time_;
      return ControlPacket{peer, true, s.pulled};
    }
    return std::nullopt;
  }
  Time wake() const override { return turns_.empty() ? Time::never() : next_; }

 private:
  struct Source {  // to a peer
    std::int64_t first, packets;  // the first window, and what may be sent now
    std::int64_t in_flight = 0;  // bytes
    std::uint64_t pulled = 0;  // in all
  };
  struct Sink {  // from a peer: pulls that are pending, and all that were sent
    std::uint64_t trimmed = 0, whole = 0, pulled = 0;
    bool in_turn = false;
  };

  Source& source(NodeId peer) {
    const auto found = sources_.find(peer);
    if (found != sources_.end()) return found->second;
    const Time trip = setup_.zero_load(node_, peer, setup_.packet_bytes) + setup_.zero_load(peer, node_, 0);
    const std::int64_t first = std::max(kFirstWindowPackets, (trip.ps() + pull_time_.ps() - 1) / pull_time_.ps());
    return sources_.emplace(peer, Source{first, first}).first->second;
  }

  static void landed(Source& s, std::uint32_t bytes) {
    s.in_flight = std::max<std::int64_t>(s.in_flight - bytes, 0);
    if (s.in_flight == 0) s.packets = s.first;
  }

  PacingSetup setup_;
  NodeId node_;
  Time pull_time_;
  std::unordered_map<NodeId, Source> sources_;
  std::unordered_map<NodeId, Sink> sinks_;
  std::deque<NodeId> turns_;
  Time next_;
};

PacingSetup ndp_sample(std::uint32_t packet) {
  return {100'000'000'000, packet, packet, [](NodeId, NodeId, std::uint32_t) { return Time::us(6); }};
}

std::unique_ptr<Pacing> make_ndp(const PacingSetup& setup, NodeId node) { return std::make_unique<Ndp>(setup, node); }

}  // namespace

namespace pacings {

PacingKind ndp() {
  return {.name = "ndp",
          .help = "NDP, a first window at full speed and then a packet for each pull of the receiver",
          .samples = {ndp_sample(256), ndp_sample(4096)},
          .make = make_ndp,
          .blocks = false,
          .packets = true};
}

}  // namespace pacings

}  // namespace exanet
