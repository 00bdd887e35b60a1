// SPDX-License-Identifier: Apache-2.0
// The ranks' processors inside the message library. Matching's consequences and protocol steps need one: they happen
// only while their rank is in the library (polling), each at its cost, one after another. Until then they wait here.
// What the interface does in hardware needs no rank.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/protocol/host.hpp"
#include "core/protocol/known_deaths.hpp"

namespace exanet {

// Contract: cost() is asked right before step(), which is given the time at which the processor is done.
class ProcessorStep {
 public:
  virtual ~ProcessorStep() = default;
  virtual Time cost(std::uint32_t operation) const = 0;
  virtual void step(std::uint32_t operation, Time done) = 0;
  virtual RankId waiter(std::uint32_t operation) const = 0;  // the other rank of it
  virtual void abandoned(std::uint32_t operation) = 0;  // its rank has died, and the waiter knows: in place of step()
};

class Processors {
 public:
  // `zero_cost`: steps cost nothing and wait for nobody.
  Processors(EventQueue& events, std::size_t ranks, const bool& zero_cost, const KnownDeaths& known);

  void enqueue(RankId rank, ProcessorStep& step, std::uint32_t operation, Time at);
  // The rank polls from `clock` on / has been given back to its program.
  void asleep(RankId rank, Time clock);
  void awake(RankId rank) { processors_[rank].polling = false; }
  bool has_pending(RankId rank) const { return !processors_[rank].pending.empty(); }
  // Does nothing more / and what others wait for of whom some now know more is abandoned, also what comes later.
  void die(RankId rank) { processors_[rank].dead = true; }
  void abandon(RankId rank);
  Time busy_until(RankId rank) const { return processors_[rank].busy_until; }

 private:
  struct Work {
    ProcessorStep* step;
    std::uint32_t operation;
    Time time;
  };
  struct Processor {
    bool polling = false, dead = false;
    Time clock, busy_until;
    std::vector<Work> pending;
  };

  void progress(RankId rank, Time now);
  void run(Processor& processor, const Work& work);

  EventQueue& events_;
  const bool& zero_cost_;
  const KnownDeaths& known_;
  std::vector<Processor> processors_;
  std::uint32_t on_progress_;
};

}  // namespace exanet
