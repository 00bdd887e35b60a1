// SPDX-License-Identifier: Apache-2.0
// Flows over time, each at its max-min fair rate.
//
// Between two events all rates stand still, so the next end is known; events touch the rates of the flows that they concern (MaxMin) and
// their ends alone. Events within one grain are taken together, at its end: a flow's own end is told to the picosecond, but what it held
// is free, and what waits for it begins, up to a grain later.
//
// Limits: no queues and no buffers, so rates change at once and everywhere; a message's way through the network adds a latency at its end.
#pragma once

#include <vector>

#include "core/flow/flows.hpp"

namespace exanet {

class FlowSimulator final : public Flows {
 public:
  // Throws std::invalid_argument on a grain below a picosecond. `network` outlives the simulator.
  FlowSimulator(const FlowNetwork& network, Time grain);

  bool step(Time limit) override;  // one event and all within its grain
  double moved_bits(FlowId flow) const override;
  std::vector<double> use_bits() const override;
  std::uint64_t work() const override { return sharing_.filled(); }  // rates given to flows
  std::uint64_t memory_bytes() const override;
  void check_all_given_back() const override;
  const MaxMin& sharing() const { return sharing_; }

 private:
  struct Moving {
    double left_bits = 0;  // at `since`
    Time since;
  };
  struct Due {
    Time at;
    FlowId flow;
    bool operator<(const Due& other) const { return at != other.at ? at > other.at : flow > other.flow; }  // least on top
  };

  void begin(FlowId flow) override;
  void finish(FlowId flow, Time drained);
  void reschedule();
  double left_now(FlowId flow, Rate rate) const;
  // The ends of flows: a heap in which an end can be moved.
  void set_end(FlowId flow, Time at);
  void drop_first_end();
  void sift_up(std::uint32_t at);
  void sift_down(std::uint32_t at);

  Time grain_;
  MaxMin sharing_;
  std::vector<Moving> moving_;  // by flow
  std::vector<Due> ends_;
  std::vector<std::uint32_t> end_place_;  // of a flow in ends_
  std::vector<double> used_bits_;         // by flows that have ended
  std::vector<ResourceId> way_;
};

}  // namespace exanet
