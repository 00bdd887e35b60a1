// SPDX-License-Identifier: Apache-2.0
// Flows over time: each starts when its time has come and the flows that it waits for have arrived, moves at its max-min fair rate, and ends.
//
// Between two events all rates stand still, so the next end is known; events touch the rates of the flows that they concern (MaxMin) and
// their ends alone. Events within one grain are taken together, at its end: a flow's own end is told to the picosecond, but what it held
// is free, and what waits for it begins, up to a grain later.
//
// Limits: no queues and no buffers, so rates change at once and everywhere; a message's way through the network adds a latency at its end.
#pragma once

#include <vector>

#include "core/flow/flow_network.hpp"
#include "core/units/time.hpp"

namespace exanet {

class FlowSimulator {
 public:
  // Throws std::invalid_argument on a grain below a picosecond. `network` outlives the simulator.
  FlowSimulator(const FlowNetwork& network, Time grain);

  // Contract: src != dst, both endpoints; start is not before now().
  FlowId add(NodeId src, NodeId dst, std::uint64_t bytes, Time start);
  void after(FlowId flow, FlowId earlier);  // contract: before run_until(), without a cycle

  // One event and all within its grain. False when nothing is left to happen by `limit`; then now() is `limit`.
  bool step(Time limit);

  Time now() const { return now_; }
  bool done() const { return finished_count_ == flows_.size(); }
  std::size_t finished_count() const { return finished_count_; }
  Time begun(FlowId flow) const { return flows_[flow].begin; }        // when it could start
  Time finished(FlowId flow) const { return flows_[flow].finished; }  // its arrival; Time::never() if still to come
  double moved_bits(FlowId flow) const;                               // of payload, until now
  std::vector<double> use_bits() const;                               // of each resource until now, in bits of full packets
  const MaxMin& sharing() const { return sharing_; }
  std::uint64_t events() const { return events_; }
  double mean_hops() const { return started_ == 0 ? 0 : static_cast<double>(hops_) / static_cast<double>(started_); }  // of what has started
  std::uint64_t memory_bytes() const;

 private:
  struct Flow {
    NodeId src, dst;
    std::uint64_t bytes;
    double left_bits;  // at `since`
    Time since;
    Time begin;  // asked for, or when the last flow that it waits for arrives
    Time finished = Time::never();
    std::uint32_t waits = 0;                // for so many others
    bool started = false;
    std::uint32_t dependents = kNothing;  // first in edges_
  };
  struct Edge {
    FlowId flow;
    std::uint32_t next;
  };
  struct Due {
    Time at;
    FlowId flow;
    bool operator<(const Due& other) const { return at != other.at ? at > other.at : flow > other.flow; }  // least on top
  };

  void begin(FlowId flow);
  void finish(FlowId flow, Time drained);
  void reschedule();
  double left_now(const Flow& flow, Rate rate) const;
  // The ends of flows: a heap in which an end can be moved.
  void set_end(FlowId flow, Time at);
  void drop_first_end();
  void sift_up(std::uint32_t at);
  void sift_down(std::uint32_t at);

  const FlowNetwork& network_;
  Time grain_, now_;
  MaxMin sharing_;
  std::vector<Flow> flows_;
  std::vector<Edge> edges_;
  std::vector<Due> starts_;  // a heap
  std::vector<Due> ends_;
  std::vector<std::uint32_t> end_place_;  // of a flow in ends_
  std::vector<double> used_bits_;         // by flows that have ended
  std::vector<ResourceId> way_;
  std::size_t finished_count_ = 0;
  std::uint64_t events_ = 0, hops_ = 0, started_ = 0;
};

}  // namespace exanet
