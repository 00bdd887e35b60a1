// SPDX-License-Identifier: Apache-2.0
// Flows that begin when their time has come and those they wait for have arrived: what every way of sharing the network
// has in common.
//
// How they move is for those that derive: FlowSimulator, at max-min fair rates; FluidSimulator, through FIFOs served in
// turn.
//
// A flow is lost when a link of its route goes down while it moves, since packets of it are on that link, or when its
// route leads over a link that is down when it leaves its sender. Flows that leave later take the topology's route of
// that time. What depends on a lost flow begins when the loss is known.
#pragma once

#include <utility>
#include <vector>

#include "core/faults/status.hpp"
#include "core/flow/flow_network.hpp"
#include "core/units/time.hpp"

namespace exanet {

class Flows {
 public:
  // `network` outlives the flows. Throws ConfigError where its routing looks at queues.
  explicit Flows(const FlowNetwork& network) : network_(network) { network.require_fixed_routes(); }
  virtual ~Flows() = default;

  // Contract: both are endpoints; start is not before now().
  FlowId add(NodeId src, NodeId dst, std::uint64_t bytes, Time start);
  void after(FlowId flow, FlowId earlier);  // contract: before the first step(), without a cycle

  // Handles the next event. False when nothing is left to happen by `limit`; then now() is `limit`.
  virtual bool step(Time limit) = 0;

  // Loses the flows that move over links that are down (FlowNetwork::set_link). Contract: no step reaches beyond now()
  // before it.
  virtual void links_changed() = 0;

  Time now() const { return now_; }
  // Its number may be another flow's from now on. Contract: it has arrived, and that has been taken.
  void forget(FlowId flow) { forgotten_.push_back(flow); }
  bool done() const { return finished_count_ == added_; }
  std::size_t finished_count() const { return finished_count_; }
  Time begun(FlowId flow) const { return flows_[flow].begin; }  // when it could start
  // Its arrival, or when it was lost; Time::never() if still to come.
  Time finished(FlowId flow) const { return flows_[flow].finished; }
  Status status(FlowId flow) const { return flows_[flow].status; }  // of one that has finished
  std::size_t lost_count() const { return lost_count_; }  // of finished_count()
  std::vector<FlowId> take_arrivals() {
    return std::exchange(arrivals_, {});
  }  // of which it is known since the last call when they arrive, or that they are lost
  double mean_hops() const {
    return routes_ == 0 ? 0 : static_cast<double>(hops_) / static_cast<double>(routes_);
  }  // of what has been on its way
  std::uint64_t events() const { return events_; }

  virtual double moved_bits(FlowId flow) const = 0;  // of payload, until now
  virtual std::vector<double> use_bits() const = 0;  // of each resource until now, in bits of full packets
  virtual std::uint64_t work() const = 0;  // how much was computed, in a unit of its own
  virtual std::uint64_t memory_bytes() const = 0;
  // Of all that has begun, each bit has been delivered, is lost or is under way, and resources are used by what is
  // under way alone. Throws InternalError if not.
  virtual void check_conserved() const = 0;

 protected:
  struct Flow {
    NodeId src, dst;
    std::uint64_t bytes;
    Time begin;  // asked for, or when the last flow that it waits for arrives
    Time finished = Time::never();
    std::uint32_t waits = 0;  // for so many others
    bool started = false;
    Status status = Status::kOk;
    std::uint32_t dependents = kNothing;  // first in edges_
  };

  virtual void begin(FlowId flow) = 0;  // takes it into the network at now_
  std::uint32_t sender_of(FlowId flow) const { return network_.sender_of(flows_[flow].src, flows_[flow].dst); }
  std::uint64_t under_way() const { return started_ - finished_count_; }  // or still at their senders
  Time next_start() const { return starts_.empty() ? Time::never() : starts_.front().at; }
  void start_due();  // begin() of all that may start by now_
  void arrive(FlowId flow, Time at, Status status = Status::kOk);
  std::uint64_t base_memory_bytes() const;

  const FlowNetwork& network_;
  Time now_;
  std::vector<Flow> flows_;
  std::uint64_t events_ = 0, hops_ = 0, routes_ = 0;

 private:
  struct Edge {
    FlowId flow;
    std::uint32_t next;
  };
  struct Start {
    Time at;
    FlowId flow;
    bool operator<(const Start& other) const {
      return at != other.at ? at > other.at : flow > other.flow;
    }  // least on top
  };
  void wait_for_start(FlowId flow);

  std::vector<Edge> edges_;
  std::vector<Start> starts_;  // a heap
  std::vector<FlowId> arrivals_;
  std::vector<FlowId> forgotten_;
  std::size_t added_ = 0, finished_count_ = 0, lost_count_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace exanet
