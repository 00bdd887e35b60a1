// SPDX-License-Identifier: Apache-2.0
// Flows over time, each at its max-min fair rate.
//
// Between two events all rates stand still, so the next end is known; events touch the rates of the flows that they
// concern (MaxMin) and their ends alone. Events within one grain are taken together, at its end: a flow's own end is
// reported to the picosecond, but what it held is free, and what waits for it begins, up to a grain later.
//
// A sender's messages move together, a packet of each in turn. But what an interface has handed to the router's FIFO
// cannot be overtaken: a message begins to move when that has left which stood there when it came, all that the sender
// had to send or as much as the FIFO holds. Messages of one moment come together.
//
// Limits: but for that no queues and no buffers, so rates change at once and everywhere; of a sender's messages a slow
// one does not hold up the others; a message's way through the network adds a latency at its end.
#pragma once

#include <utility>
#include <vector>

#include "core/flow/flows.hpp"

namespace exanet {

class FlowSimulator final : public Flows {
 public:
  // Throws std::invalid_argument on a grain below a picosecond. `network` outlives the simulator.
  FlowSimulator(const FlowNetwork& network, Time grain);

  bool step(Time limit) override;  // one event and all within its grain
  // Reports, from now on, when all that this sender (FlowNetwork::sender_of) still has to send fits its FIFO: its owner
  // may then write over the rest.
  void watch(std::uint32_t sender, bool on) { watched_[sender] = on; }
  struct Vacancy {
    std::uint32_t sender;
    Time at;  // unless rates change before: then the sender is reported again
  };
  std::vector<Vacancy> take_vacancies() {
    return std::exchange(vacancies_, {});
  }  // of watched senders, since the last call
  Time next() const;  // of the next step; Time::never() where there is none
  double moved_bits(FlowId flow) const override;
  std::vector<double> use_bits() const override;
  void links_changed() override;
  std::uint64_t work() const override { return sharing_.filled(); }  // rates given to flows
  std::uint64_t memory_bytes() const override;
  void check_conserved() const override;
  const MaxMin& sharing() const { return sharing_; }

 private:
  struct Moving {
    // at `since`; of one that waits in its sender: what must have left it before, since the sender was last idle
    double left_bits = 0;
    Time since;
  };
  struct Sender {
    FlowId moving = kNothing;  // the first of a list
    FlowId waiting = kNothing, last_waiting = kNothing;  // the same, in order; none waits where none moves
    double bits = 0, waiting_bits = 0;  // taken since the sender was last idle; of these, of those that wait
    Time taken;  // the last of them
    double ahead = 0;  // of it
    std::uint64_t aimed = 0;  // the last step that looked when the next one may go
  };
  struct Due {
    Time at;
    FlowId flow;
    bool operator<(const Due& other) const {
      return at != other.at ? at > other.at : flow > other.flow;
    }  // least on top
  };

  Time next_event() const;
  Time taken_at(Time event) const;
  void begin(FlowId flow) override;
  void release(FlowId flow);
  void release_due(std::uint32_t sender);
  void finish(FlowId flow, Time drained);
  bool take_rates();
  void lose(FlowId flow);
  void leave_sender(FlowId flow);
  double sent_bits(const Sender& sender) const;
  bool waits(FlowId flow) const { return senders_[sender_of(flow)].waiting == flow; }  // of those in ends_
  void advance_to(Time at);
  void reschedule();
  void aim(std::uint32_t sender);
  void idle(std::uint32_t sender);
  double left_now(FlowId flow, Rate rate) const;
  // The ends of flows: a heap in which an end can be moved.
  void set_end(FlowId flow, Time at);
  void drop_first_end();
  void drop_end(FlowId flow);
  void sift_up(std::uint32_t at);
  void sift_down(std::uint32_t at);

  Time grain_;
  MaxMin sharing_;
  std::vector<Moving> moving_;  // by flow
  std::vector<Sender> senders_;  // by FlowNetwork::sender_of
  std::vector<FlowId> next_of_sender_;  // by flow: in one of its sender's lists
  std::vector<std::uint8_t> watched_;  // the same
  std::vector<Vacancy> vacancies_;
  std::vector<std::uint32_t> stirred_;  // senders for which something else than rates has changed in this step
  std::vector<Due> ends_;  // and when the first that waits in a sender may go
  std::vector<std::uint32_t> end_place_;  // of a flow in ends_
  std::vector<double> used_bits_;  // by flows that have ended
  std::vector<ResourceId> route_;
  // Kept for check_conserved(): all rates together over time, and what has arrived, or been lost on its way.
  __int128 rates_ = 0;
  double carried_bits_ = 0, delivered_bits_ = 0, lost_bits_ = 0, rounded_bits_ = 0;
};

}  // namespace exanet
