// SPDX-License-Identifier: Apache-2.0
// RCCC, the receiver-credited congestion control of Ultra Ethernet, alone and beside NSCC's window.
//
// Source: Ultra Ethernet Specification 1.0 has it under that name. Its text was not at hand: rules and constants are
// those of the consortium's simulator (uet-htsim, uec), in our words. Model: a source sends while it has any credit
// for a destination. It begins with 1.5 bandwidth-delay products, unasked, which end with the first answer. Each data
// packet, whole or trimmed, says up to what sum the source asks for credit: what it has been granted, and its demand,
// which is its backlog, at most 1.5 bandwidth-delay products or NSCC's window and a packet, less the credit that it
// has, divided among the destinations to which it sends. A receiver goes round the sources that have asked for more
// than they have, and grants four packets at a time, at 0.99 of its link's rate. When nobody asks, those who did go on
// being granted, up to 1.5 bandwidth-delay products, so that what they ask for next goes at once. A grant is the sum of
// all, in quanta of 256 bytes, so that a lost one does not matter.
//
// Limits: bytes are payload. No slowing down where the network's core is oversubscribed (htsim's oversubscribed_cc).
#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <unordered_map>

#include "core/nic/pacing/nscc.hpp"
#include "core/nic/pacing/pacing.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kQuantum = 256, kPacketsPerGrant = 4;
constexpr std::uint64_t kRatePercent = 99, kEmptyGrantBytes = 1024;

class Rccc final : public Pacing {
 public:
  Rccc(const PacingSetup& setup, NodeId node, bool window)
      : setup_(setup),
        node_(node),
        grant_(std::max<std::uint64_t>(setup.packet_bytes * kPacketsPerGrant / kQuantum, 1)) {
    if (window) constants_.emplace(setup.packet_bytes, setup.payload_bits_per_second, setup.round_trip);
  }

  Allowance allowance(NodeId peer, Time) override {
    Source& s = source(peer);
    Allowance allowed;
    if (s.window) allowed.window_bytes = static_cast<std::uint64_t>(s.window->bytes());
    allowed.credit_bytes = s.credit;
    return allowed;
  }
  void sent(NodeId peer, std::uint32_t bytes, Time) override {
    Source& s = source(peer);
    s.credit -= bytes;
    if (s.window) s.window->sent(bytes);
  }
  std::uint64_t demand(NodeId peer, std::uint64_t backlog, std::uint32_t bytes, std::uint32_t peers) override {
    Source& s = source(peer);
    std::int64_t asked = static_cast<std::int64_t>(backlog);
    if (s.window) asked = std::min(asked, static_cast<std::int64_t>(s.window->bytes()) + setup_.packet_bytes);
    asked = std::min(asked, s.most) - (s.credit - bytes);
    if (s.unasked && asked < setup_.packet_bytes && backlog > 0) asked = setup_.packet_bytes;
    asked /= std::max(peers, 1u);
    const std::int64_t sum = asked + static_cast<std::int64_t>(s.granted * kQuantum);
    return sum <= 0 ? 0 : (static_cast<std::uint64_t>(sum) + kQuantum - 1) / kQuantum;
  }
  void acknowledged(NodeId peer, const Feedback& feedback, Time now) override {
    Source& s = source(peer);
    if (s.window)
      s.window->acknowledged(feedback.bytes, (feedback.notes & Packet::kCongested) != 0, now - feedback.sent, now);
    answered(s);
  }
  void lost(NodeId peer, const Loss& loss, Time now) override {
    Source& s = source(peer);
    if (s.window) s.window->lost(loss, true, now);
    answered(s);
  }
  void heard(const ControlPacket& packet, Time) override {
    Source& s = source(packet.peer);
    answered(s);
    if (packet.stamp <= s.granted) return;
    s.credit = std::min(s.credit + static_cast<std::int64_t>((packet.stamp - s.granted) * kQuantum), s.most);
    s.granted = packet.stamp;
  }

  void arrived(NodeId peer, const Packet& packet, Time now) override {
    Sink& s = sinks_[peer];
    const bool more = packet.stamp > s.asked;
    s.asked = std::max(s.asked, packet.stamp);
    if (s.in_turn || (!more && (packet.notes & Packet::kTrimmed) == 0)) return;
    s.in_turn = true;
    active_.push_back(peer);
    next_ = max(next_, now);
  }
  std::optional<ControlPacket> control(Time now) override {
    if ((active_.empty() && idle_.empty()) || now < next_) return std::nullopt;
    std::uint64_t granted = 0;
    const NodeId peer = active_.empty() ? grant_unasked(granted) : grant_asked(granted);
    const std::uint64_t bytes = granted > 0 ? granted * kQuantum : kEmptyGrantBytes;
    next_ =
        now + Time::ps(static_cast<std::int64_t>(static_cast<double>(bytes) * 8e12 * 100 /
                                                 (static_cast<double>(setup_.payload_bits_per_second) * kRatePercent)));
    return ControlPacket{peer, true, sinks_[peer].granted};
  }
  Time wake() const override { return active_.empty() && idle_.empty() ? Time::never() : next_; }

 private:
  struct Source {  // to a peer
    std::int64_t credit, most;  // bytes
    std::uint64_t granted = 0;  // in all, quanta
    bool unasked = true;  // its credit is what it began with
    std::optional<NsccWindow> window;
  };
  struct Sink {  // from a peer; quanta
    std::uint64_t asked = 0, granted = 0;
    bool in_turn = false, idle = false;
  };

  Source& source(NodeId peer) {
    const auto found = sources_.find(peer);
    if (found != sources_.end()) return found->second;
    const Time trip = setup_.zero_load(node_, peer, setup_.packet_bytes) + setup_.zero_load(peer, node_, 0);
    const double product =
        1.5e-12 * static_cast<double>(trip.ps()) * static_cast<double>(setup_.payload_bits_per_second) / 8;
    const std::int64_t most = std::max<std::int64_t>(std::llround(product), setup_.packet_bytes);
    Source made{most, most, 0, true, std::nullopt};
    if (constants_) made.window.emplace(*constants_, trip);
    return sources_.emplace(peer, std::move(made)).first->second;
  }

  static void answered(Source& s) {
    if (s.unasked && s.credit > 0) s.credit = 0;
    s.unasked = false;
  }

  NodeId grant_asked(std::uint64_t& granted) {
    const NodeId peer = active_.front();
    active_.pop_front();
    Sink& s = sinks_[peer];
    const std::uint64_t before = s.granted;
    s.granted = std::max(std::min(s.granted + grant_, s.asked), before);
    granted = s.granted - before;
    if (s.asked > s.granted) {
      active_.push_back(peer);
    } else {
      s.in_turn = false;
      if (!s.idle) idle_.push_back(peer);
      s.idle = true;
    }
    return peer;
  }

  NodeId grant_unasked(std::uint64_t& granted) {
    const NodeId peer = idle_.front();
    idle_.pop_front();
    Sink& s = sinks_[peer];
    s.granted += granted = grant_;
    s.idle = s.granted >= s.asked && (s.granted - s.asked) * kQuantum < static_cast<std::uint64_t>(source(peer).most);
    if (s.idle) idle_.push_back(peer);
    return peer;
  }

  PacingSetup setup_;
  NodeId node_;
  std::uint64_t grant_;
  std::optional<NsccConstants> constants_;
  std::unordered_map<NodeId, Source> sources_;
  std::unordered_map<NodeId, Sink> sinks_;
  std::deque<NodeId> active_, idle_;  // who has asked, and who would be granted more unasked
  Time next_;
};

PacingSetup rccc_sample(std::uint32_t packet) {
  PacingSetup setup{100'000'000'000, packet, packet, [](NodeId, NodeId, std::uint32_t) { return Time::us(6); }};
  setup.round_trip = Time::us(13);
  return setup;
}

template <bool kWindow>
std::unique_ptr<Pacing> make_rccc(const PacingSetup& setup, NodeId node) {
  return std::make_unique<Rccc>(setup, node, kWindow);
}

}  // namespace

namespace pacings {

PacingKind rccc() {
  return {.name = "rccc",
          .help = "RCCC of Ultra Ethernet, credits that receivers grant at their links' rate",
          .samples = {rccc_sample(256), rccc_sample(4096)},
          .make = make_rccc<false>,
          .blocks = false,
          .packets = true};
}

PacingKind nscc_rccc() {
  return {.name = "nscc-rccc",
          .help = "both of them, NSCC's window and RCCC's credits",
          .samples = {rccc_sample(256), rccc_sample(4096)},
          .make = make_rccc<true>,
          .blocks = false,
          .packets = true};
}

}  // namespace pacings

}  // namespace exanet
