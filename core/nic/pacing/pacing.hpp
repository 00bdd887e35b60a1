// SPDX-License-Identifier: Apache-2.0
// Rate control of transfers: what has become of a source's packets goes in, the window and rate that it may use to a
// destination come out.
//
// Problem: DCQCN, HPCC, Swift, NSCC, RCCC and ACC react to marks, queue states, delays, trimmed packets, credits of
// receivers and explicit rates, at different ends. Model: one object for each interface has both roles, source and
// receiver, for all peers. As a source it is asked for an allowance before each packet and gets feedback with each
// acknowledgement; as a receiver it sees the data that arrive. Either role may send control packets to the other end,
// which carry 64 bits: an explicit rate, a credit, a probe that routers' queue actions rewrite. PacedFlows holds the
// engine to the allowance; what routers do to packets is the counterpart in core/network/queue_actions.
//
// Contract:
// - Calls come in the order of virtual time, at the present time. The same calls lead to the same answers.
// - allowance() may advance timers of its own. Whenever allowance() or control() changes without a call of the
//   engine's, wake() names the time.
// - A window counts as a block of the interface at least (NiConfig::dma_block_bytes), or packet, for less is not
//   acknowledged.
//   Rates count payload.
// - control() returns the next control packet that is due; it is asked until there is none. A packet that is a `report`
//   passes routers unchanged.
//
// Limits: transfers to several nodes are not paced, for nobody acknowledges them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/queue_actions/contention_point.hpp"
#include "core/nic/pacing/parameters.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct Allowance {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t window_bytes = kUnlimited;  // sent and not acknowledged
  std::uint64_t bits_per_second = kUnlimited;
  bool acts_at_once = false;  // a change of the rate acts within the gap that runs, else behind the next packet
  // That the receiver has granted and are not sent, where it grants: packets go while this is above 0.
  std::int64_t credit_bytes = INT64_MAX;
};

// Of the packets of a transfer that an acknowledgement covers.
struct Feedback {
  std::uint32_t bytes;  // payload
  Time sent;  // when the last of them was injected: now less this is a round trip
  std::uint8_t notes;  // of any of them: Packet::notes
  std::uint64_t stamp;  // of the last of them: Packet::stamp
};

// A packet that has not come: its header did, trimmed by the router before its destination or by an earlier one, or
// nothing was heard of it in time.
struct Loss {
  enum class Why : std::uint8_t { kTrimmed, kTrimmedLast, kTimeout };
  std::uint32_t bytes;  // payload
  Why why;
};

struct ControlPacket {
  NodeId peer;  // to or from whom
  bool report;  // answers another one, or reports from the receiver
  std::uint64_t stamp;
};

class Pacing {
 public:
  virtual ~Pacing() = default;
  virtual Allowance allowance(NodeId peer, Time now) = 0;
  virtual void sent(NodeId /*peer*/, std::uint32_t /*bytes*/, Time /*now*/) {}
  virtual void ended(NodeId /*peer*/, Time /*now*/) {}  // nothing that is known of is left to send
  virtual void acknowledged(NodeId /*peer*/, const Feedback&, Time /*now*/) {}
  virtual void lost(NodeId /*peer*/, const Loss&, Time /*now*/) {}  // of interfaces that acknowledge each packet
  // What a data packet of so many bytes reports to its receiver, in its stamp, of `backlog` bytes that are left to send
  // behind it, while the interface sends to so many peers. Of interfaces that acknowledge each packet.
  virtual std::uint64_t demand(NodeId /*peer*/, std::uint64_t /*backlog*/, std::uint32_t /*bytes*/,
                               std::uint32_t /*peers*/) {
    return 0;
  }
  virtual void arrived(NodeId /*peer*/, const Packet&, Time /*now*/) {}  // data, whole or trimmed, at their receiver
  virtual std::optional<ControlPacket> control(Time /*now*/) { return std::nullopt; }
  virtual void heard(const ControlPacket&, Time /*now*/) {}
  virtual Time wake() const { return Time::never(); }
};

// What a control knows of its network.
struct PacingSetup {
  std::uint64_t bits_per_second;  // of the interface's link, words as fast as they go
  std::uint32_t packet_bytes, block_bytes;  // largest payload; what is acknowledged at once
  std::function<Time(NodeId src, NodeId dst, std::uint32_t bytes)> zero_load;  // a packet's time in an empty network
  PacingParameters parameters = {};
  // Of routers and interfaces alike.
  std::uint64_t payload_bits_per_second = bits_per_second;  // that the router takes, in packets of the largest payload
  Time round_trip = Time::us(13);  // RouterConfig::hpcc_round_trip
  ContentionPoint::Clock acc_clock = {Time::us(20), Time::ps(6400) * FairShare::kEvaluationCycles};
  std::uint32_t acc_margin_percent = 1;
};

struct PacingKind {
  const char* name;  // as machine files call it
  const char* help;  // what it reacts to and how, as a clause
  std::vector<PacingSetup> samples;  // for the contract test, at least one; of those that are made
  std::unique_ptr<Pacing> (*make)(const PacingSetup& setup, NodeId node);  // null: transfers are not paced
  std::vector<std::string> actions =
      {};  // it needs routers with one of these queue actions; none: it needs nothing of them
  // Which interfaces serve it: those with RDMA engines, which acknowledge blocks, or those that acknowledge each packet
  // (core/nic/ultra_ethernet).
  bool blocks = true, packets = false;
};

const std::vector<PacingKind>& pacing_kinds();  // "none" first
// Throws ConfigError, naming those that there are.
const PacingKind& pacing_kind(const std::string& name);
// Throws ConfigError, saying what to do, where the routers' queue action gives the rate control nothing to react to.
void require_its_action(const PacingKind& kind, const std::string& queue_action);
// Throws ConfigError, naming the rate controls that `served` says are.
void require_served(const PacingKind& kind, bool PacingKind::* served, const std::string& nic);

}  // namespace exanet
