// SPDX-License-Identifier: Apache-2.0
// Traffic beside programs, which belongs to none of their ranks: what other users of a machine send meanwhile.
//
// Problem: a program meets other traffic on a real machine, in the links and in the interfaces of its own nodes. Model:
// each endpoint sends RDMA transfers through the interface that the node's ranks use: to the destinations of a traffic
// pattern in a Poisson process at a load, without an end; or keeps so many transfers under way, a new one beginning
// when one has arrived; or sends as a list of flows says. A transfer takes no processor, and nobody waits for it but
// those that follow. A load of 1 is the payload that an endpoint's link carries in packets of the largest size. Limits:
// whatever an interface cannot send yet waits there, so a load that it does not carry lets its queue grow for as long
// as the run lasts. Where ranks wait for what nobody sends, the traffic ends, so that the deadlock shows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/engine/random.hpp"
#include "core/network/config.hpp"
#include "core/protocol/engine.hpp"
#include "core/topology/topology.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/message_plan.hpp"
#include "core/workload/pattern.hpp"

namespace exanet {

struct BackgroundConfig {
  std::string traffic;  // one of pattern_names(), or a list of flows (flow_list.hpp)
  double load = 0;  // of a pattern, or
  std::uint32_t outstanding = 0;  // transfers that each of its endpoints keeps under way
  std::uint64_t message_bytes = 64 << 10;  // of a pattern
  std::string sizes;  // if given, one of flow_size_names() instead
  std::uint64_t seed = 1;
  Time start;  // from when the programs' time begins
  Time end;  // nothing begins from then on; 0: until the programs have ended
};

template <typename V>
void visit(BackgroundConfig& c, V&& v) {
  v("pattern", c.traffic);
  v("load", c.load);
  v("outstanding", c.outstanding);
  v("message_bytes", c.message_bytes);
  v("sizes", c.sizes);
  v("seed", c.seed);
  v("start_ps", c.start);
  v("end_ps", c.end);
}

struct BackgroundRecord {
  std::uint64_t messages = 0, bytes = 0;  // that have begun
  std::uint64_t arrived = 0, arrived_bytes = 0, failed = 0;  // failed: on a network on which something did
  Histogram latency;  // of those that have arrived, from when they began
  std::uint64_t latency_ps = 0;  // of all of them
};

template <typename V>
void visit(BackgroundRecord& r, V&& v) {
  v("messages", r.messages);
  v("bytes", r.bytes);
  v("arrived", r.arrived);
  v("arrived_bytes", r.arrived_bytes);
  v("failed", r.failed);
  v("latency", r.latency);
  v("latency_ps", r.latency_ps);
}

class BackgroundTraffic final : private TransferListener {
 public:
  // `wanted`: whether anything is still to come for the programs; asked now and then. All references outlive it.
  // Throws ConfigError on what cannot be sent on this machine.
  BackgroundTraffic(EventQueue& events, MessageEngine& engine, const Topology& topology, const TopologySpec& spec,
                    const NetworkConfig& network, const BackgroundConfig& config, std::function<bool()> wanted);
  ~BackgroundTraffic() override;
  BackgroundTraffic(const BackgroundTraffic&) = delete;
  BackgroundTraffic& operator=(const BackgroundTraffic&) = delete;

  void start();  // the programs' time begins now; once
  void stop() { stopped_ = true; }  // nothing begins any more
  const BackgroundRecord& record() const { return record_; }

 private:
  struct Source {  // of a pattern
    Random random;
    double next_ps;
    std::uint64_t sent = 0;
  };
  struct Flow {  // of a list
    std::uint32_t waits = 0;
    std::vector<std::uint32_t> dependents, awaiting_source;  // flows that follow
  };
  struct Transfer {
    Time began;
    std::uint64_t bytes;
    std::uint32_t flow;  // or source, of a pattern
  };
  static constexpr std::uint32_t kAskEvery = 64;  // messages

  void send_next(NodeId source, Time now);
  void begin_flow(std::uint32_t flow, Time now);
  void post(NodeId src, NodeId dst, std::uint64_t bytes, std::uint32_t flow, bool acknowledged, Time now);
  void schedule_source(NodeId source);
  void follow(const std::vector<std::uint32_t>& flows, Time now);
  bool over(Time now);
  void arrived(std::uint32_t transfer, Status status, Time now) override;
  void acknowledged(std::uint32_t transfer, Status status, Time now) override;

  EventQueue& events_;
  MessageEngine& engine_;
  const BackgroundConfig config_;
  const std::function<bool()> wanted_;
  std::unique_ptr<Pattern> pattern_;  // none with a list of flows
  MessagePlan plan_;  // a list of flows
  std::vector<Source> sources_;
  std::vector<Flow> flows_;
  double mean_ps_ = 0;  // between messages of a source
  double packet_ps_ = 0;  // of the largest size, on an endpoint's link
  Time origin_;
  std::vector<Transfer> transfers_;  // under way, by number
  std::vector<std::uint32_t> free_;
  BackgroundRecord record_;
  std::uint32_t on_send_ = 0, on_flow_ = 0;
  bool stopped_ = false;
};

}  // namespace exanet
