// SPDX-License-Identifier: Apache-2.0
// Flows of senders that give all they can, as a fluid through the routers' FIFOs.
//
// Problem: max-min fair rates are what a network can carry, not what free senders get of it. Routers serve their inputs
// in turn, whichever flows are in them; what is behind a blocked head waits as well; and a full FIFO holds back the one
// before it, up to the senders.
//
// Model: each FIFO (a virtual channel at the far end of a link, and each endpoint's port into its router) holds so many
// bits of each flow, well mixed. In steps of a credit loop (a packet's head over a link, and its credit back), each
// router passes on what RoundRobin says: its outputs serve FIFOs alike, a FIFO slows down all that it holds alike, no
// link carries more than its rate, and no FIFO takes more than its space at the beginning of the step, so that what is
// on its way and what has just been freed takes space as it does in the routers. A step takes fluid over one hop. Of a
// sender's messages one goes after the other.
//
// Of each message a mark goes along, its last bit, for which FIFOs are what they are: it leaves one when all has left
// that was in there before it. The message arrives with it, and what a packet takes for the way in an empty network
// above the steps that the mark took.
//
// Where rates hardly change, many steps are made as one. Steps in place of events: each change of a rate would change
// all rates behind it in turn (the ripple effect: Liu and others, "A study of networks simulation efficiency: fluid
// simulation vs. packet-level simulation", INFOCOM 2001).
//
// Limits: all but the last bit leaves a FIFO in proportion to what is in it, not in order; chance is not seen
// (RoundRobin); routing does not look at queues. Figures against the packet level: docs/flow.md.
#pragma once

#include <vector>

#include "core/flow/flows.hpp"
#include "core/flow/round_robin.hpp"

namespace exanet {

class FluidSimulator final : public Flows {
 public:
  explicit FluidSimulator(
      const FlowNetwork& network);  // throws std::invalid_argument when outputs do not serve their inputs in turn

  bool step(Time limit) override;
  double moved_bits(FlowId flow) const override;
  std::vector<double> use_bits() const override;
  std::uint64_t work() const override { return work_; }  // moves of a flow's fluid over a hop
  std::uint64_t memory_bytes() const override;
  void check_conserved() const override;
  void links_changed() override;
  double excess() const { return router_.excess(); }

 private:
  using FifoId = std::
      // (link, virtual channel); then each endpoint's port into its router; then its port out of it, which is no FIFO
      uint32_t;

  struct Branch {  // of a FIFO: what goes on to one other
    FifoId fifo, target;
    std::uint32_t next;  // of the same FIFO
    double bits = 0;
    double share = 0;  // of it, that moves in this step
  };
  struct Fifo {
    std::uint32_t first = kNothing;  // branch
    std::uint32_t slot = 0;  // as a resource of the router being solved, while solving_ is `mark`
    std::uint32_t mark = 0;
    double bits = 0;
    double in = 0, out = 0;  // in the last step
  };
  struct Place {  // of a flow, on its way
    std::uint32_t branch;
    double bits;
    double change = 0;  // in the last step
    double bend = 0;  // of the change, against the step before
  };
  struct Moving {
    FlowId flow;
    std::uint32_t first, length;  // in places_
    double volume, delivered = 0, last_move = 0;
    Time late;  // from when it could start to the step with which it did
    std::uint32_t mark = 0;  // its last bit's place
    double ahead = 0;  // what was in that FIFO before it, and still is
    double rate = 0;  // what left that FIFO in the step before
    double passed = 0;  // the share of a step that was over when it went on
  };

  void begin(FlowId flow) override;
  bool release(FlowId flow);  // it is its sender's turn; false: it is lost
  void pass_turn(FlowId flow);
  std::uint32_t branch(FifoId fifo, FifoId target);
  NodeId node_of(FifoId fifo) const;
  ResourceId resource(FifoId fifo) const;  // the link or port into it
  void list_nodes();
  void route(NodeId node, double step_s);
  std::uint32_t output(FifoId target, double step_s);  // as resources of the router that is being solved
  std::uint32_t space(FifoId target);
  void move();
  void leap(Time limit);
  void advance_marks(Time step);
  void advance_mark(Moving& moving, Time step);
  void arrive_mark(const Moving& moving, Time step);
  void retire(std::size_t index);
  void lose(std::size_t index);
  double take_out(const Moving& moving);
  void erase(std::size_t index);
  void add_use(const Moving& moving, std::vector<double>& use) const;
  void own_route(const Moving& moving, std::vector<ResourceId>& route) const;
  void check_whole(const Moving& moving, double in_flight) const;
  void close_gaps();

  std::uint32_t links_, channels_, sources_, sinks_;  // sources_, sinks_: the first of them among FIFOs
  double buffer_bits_, packet_bits_;
  Time step_;
  std::vector<Fifo> fifos_;
  std::vector<std::uint32_t> output_slot_, output_mark_;  // by link, or endpoint's port: as with Fifo
  std::vector<NodeId> link_end_;
  std::vector<Branch> branches_;
  std::vector<std::uint32_t> first_input_, input_links_;  // of each node: the links that end there
  std::vector<std::uint32_t> crossing_;  // flows that pass each node
  std::vector<NodeId> nodes_;  // that some flow passes
  bool nodes_changed_ = false;
  std::vector<Moving> moving_;
  std::vector<Place> places_;
  std::size_t dead_places_ = 0;  // of messages that are gone
  std::vector<std::uint32_t> moving_of_;  // by flow: place in moving_
  std::vector<FlowId> next_of_sender_;  // by flow
  std::vector<FlowId> turn_, last_;  // by sender: whose turn it is, and who comes last
  std::vector<double> used_bits_;  // by flows that have arrived
  std::vector<ResourceId> route_;
  std::vector<std::uint8_t> route_channels_;
  RoundRobin router_;
  std::vector<FifoId> used_fifos_, solved_;
  std::vector<FlowId> passing_;  // the turn on, after this step
  std::uint32_t solving_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace exanet
