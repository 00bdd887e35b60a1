// SPDX-License-Identifier: Apache-2.0
// Network interfaces that acknowledge packets one by one, over networks that trim, drop and reorder them: the packet
// delivery of Ultra Ethernet's transport, reliable and unordered.
//
// Source: Ultra Ethernet Specification 1.0; its text was not at hand, so rules and constants are those of the
// consortium's simulator (uet-htsim, uec), in our words. Model: all that goes from one node to another is one
// context, whose packets are numbered. The receiver acknowledges selectively: what it has without a gap, and which of
// 64 packets further on. It does so at once for the first packet, a marked one, a repeated one, and where the source
// asks, as it does when it can send no more; else after 16 KiB. Of a trimmed packet it sends a negative
// acknowledgement, and the source sends the packet again before others. What nothing is heard of in time is sent again,
// too; the time doubles with each repetition of a packet. Acknowledgements and credits go in the class of priority. A
// source takes turns among its contexts, packet by packet, as far as the rate control lets each (core/nic/pacing), and
// chooses the entropy of each packet (entropies.hpp). Descriptors of a context complete in the order in which they were
// posted, once all packets before are there.
//
// Limits: an interface costs no time of its own, and translates no addresses. One rail. No request to send where all of
// a window is lost: the timeout does it. A receiver takes packets as far ahead as its source sends.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/pacing/paced_flows.hpp"
#include "core/nic/ultra_ethernet/entropies.hpp"

namespace exanet {

class UltraEthernetNic final : public Nic {
 public:
  explicit UltraEthernetNic(const NicSetup& setup);

  void post(const PacketizerMessage& m) override { enqueue({m.src, m.dst, m.bytes, m.user, Kind::kMessage}); }
  void post(const RdmaTransfer& t) override {
    const bool request = t.part == RdmaTransfer::Part::kRequest;
    enqueue({t.src, t.dst, t.bytes, t.user,
             request          ? Kind::kRequest
             : t.acknowledged ? Kind::kAcknowledged
                              : Kind::kTransfer});
  }
  void doorbell(NodeId node) override { pump(node, events_.now()); }
  const Network& network() const override { return *network_; }
  FaultTarget& links() override { return *network_; }
  std::uint64_t packets() const override { return packets_; }
  std::uint64_t payload_bytes() const override { return payload_bytes_; }
  ReliabilityStatistics reliability() const override { return statistics_; }
  std::uint64_t active() const override { return active_; }

 private:
  enum class Kind : std::uint8_t { kMessage, kTransfer, kAcknowledged, kRequest };
  enum class State : std::uint8_t { kInFlight, kToRepeat, kDelivered };
  struct Descriptor {
    NodeId src, dst;
    std::uint64_t bytes, user;
    Kind kind;
    std::uint64_t unsent = 0;  // bytes
    Status status = Status::kOk;
    std::uint32_t next_free = 0;
  };
  struct Sent {  // a packet that the source has sent once at least, until all before it are acknowledged, too
    std::uint32_t descriptor;
    std::uint16_t bytes, entropy = 0;
    Time at;
    State state = State::kInFlight;
    std::uint8_t repeats = 0, timeouts = 0;
    bool last = false;  // of its descriptor
  };
  // Both ends of what goes from one node to another.
  struct Context {
    NodeId src, dst;
    // at the source
    std::deque<std::uint32_t> waiting;  // descriptors, the first of which is being sent
    std::deque<Sent> sent;
    std::uint32_t base = 0;  // number of the first of these
    std::set<std::uint32_t> to_repeat;
    std::deque<std::pair<Time, std::uint32_t>> timers;  // when which packet was sent, in order
    std::unique_ptr<Entropies> entropies;
    std::uint64_t backlog = 0;  // bytes to send, for the first time or again
    std::uint64_t known = 0;  // bytes that the receiver has, as far as the source knows
    Time trip;  // the last that was measured
    std::uint16_t pending_entropy = 0;  // of a packet that the network has not taken yet
    bool in_turn = false, timer_set = false;
    // at the destination
    std::uint32_t expected = 0;  // it has all packets before
    std::deque<bool> beyond;  // and these, from `expected` on
    std::uint32_t gaps = 0;  // packets beyond the first that is missing
    std::uint64_t received = 0, unacknowledged = 0;  // bytes
    bool asked = false;  // the source wants to know when there are no gaps
  };
  struct Report {
    std::uint32_t context;
    std::uint32_t cumulative, base, number;  // all before are there; of the bitmap's first; of whom it answers
    std::uint64_t bitmap, received;
    std::uint16_t entropy;
    bool marked, trimmed, last_hop;
    std::uint32_t next_free = 0;
  };
  struct Node {
    std::deque<Packet> control;
    std::deque<std::uint32_t> turns;  // contexts with something to send
    std::vector<std::uint32_t> paused;  // contexts whose rate control names a time
    bool control_blocked = false, data_blocked = false;
    Time wake_at = Time::never();
  };

  PacketSink sink();
  void set_pacing(const NicSetup& setup);
  void register_events();
  void enqueue(const Descriptor& descriptor);
  Context& context_of(NodeId src, NodeId dst, std::uint32_t& index);

  // the source's side
  void pump(NodeId node, Time now);
  void send_next(NodeId node, Time now);
  bool inject(Context& c, std::uint32_t index, Sent& sent, std::uint32_t number, Time now);
  void take_turn(std::uint32_t index);
  void acknowledged(std::uint32_t report, Time now);
  void delivered_before(Context& c, std::uint32_t cumulative, Time now);
  void delivered_one(Context& c, std::uint32_t number);
  void trimmed(const Report& report, Context& c, Time now);
  void repeat(Context& c, std::uint32_t number);
  void timer(std::uint32_t index, Time now);
  void time_out(Context& c, std::uint32_t index, std::uint32_t number, Time now);
  void set_timer(Context& c, std::uint32_t index);
  void wake(NodeId node, Time at);
  Time timeout_of(const Sent& sent) const;

  // the destination's side
  void delivered(const Packet& packet, Time injected, Time now);
  void data(const Packet& packet, Time now);
  bool take(Context& c, std::uint32_t number, Time now);  // false: it was there
  void complete(std::uint32_t descriptor, Time now);
  void answer(Context& c, std::uint32_t index, const Packet& packet, bool trimmed, bool from_number);
  void grant_credits(NodeId node, Time now);
  void queue_control(NodeId node, const Packet& packet);

  EventQueue& events_;
  NicListener& listener_;
  NiConfig config_;
  std::uint32_t packet_bytes_;
  std::uint64_t seed_;
  const EntropiesKind& entropies_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<PacedFlows> paced_;  // null: no rate control
  std::vector<Node> nodes_;
  std::deque<Context> contexts_;
  std::unordered_map<std::uint64_t, std::uint32_t> context_numbers_;  // by source and destination
  Pool<Descriptor, &Descriptor::next_free> descriptors_;
  Pool<Report, &Report::next_free> reports_;
  std::uint32_t on_timer_ = 0, on_wake_ = 0;
  std::uint64_t packets_ = 0, payload_bytes_ = 0, active_ = 0;
  ReliabilityStatistics statistics_{.retransmits = true};
};

}  // namespace exanet
