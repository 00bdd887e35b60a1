// SPDX-License-Identifier: Apache-2.0
// Several event queues on as many threads, in windows of simulated time.
//
// Problem: run the parts of one model at the same time and get, bit for bit, what one queue would give. Model: what one
// part does at an instant is felt in another no sooner than the lookahead later, e.g. a link's latency. So from the
// earliest event of all, every part may run its events up to the lookahead beyond without hearing from the others; what
// it has for them it mails, and they collect it before the next window, whose times it all lies in. (Conservative
// synchronous windows: Nicol 1993; Lubachevsky 1989.)
//
// The results do not depend on how the model is divided if they do not depend on the order of events of one instant in
// different places. The model has to see to that. Limit: a thread for each part, and a barrier a window.
#pragma once

#include <barrier>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "core/engine/event_queue.hpp"

namespace exanet {

// Carries mail between parts. Contract: each part's thread calls these for its own part; between the windows that mail
// is sent in and collected in lies a barrier, but another part may be a window ahead of the one that collects.
class Crossing {
 public:
  virtual ~Crossing() = default;
  virtual void collect(std::size_t part) = 0;  // takes what has been mailed to `part` in the window before
  virtual void finish(std::size_t part,
                      Time now) = 0;  // a window ends: no more events up to `now`; last mail may be sent
  virtual Time mailed(
      std::size_t part) const = 0;  // the earliest time at which what `part` has mailed in this window matters
  virtual Time lookahead() const = 0;  // above 0: mail matters no sooner than this after the event that sends it
};

class Windows {
 public:
  // The caller's thread runs queues[0], others of their own the rest. All outlive the windows.
  Windows(std::vector<EventQueue*> queues, Crossing& crossing);
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // Runs all events with time <= end, in all queues; as EventQueue::run_until(). What an event throws, in whichever
  // thread, is thrown here; the queues then stand at different times.
  void run_until(Time end);

  Time next_time() const;  // Time::never() when nothing is left to do

  // Processor time of the part that took longest, over all windows: what is left with a processor for each part. Only
  // kept when asked for.
  void keep_time() { timed_ = true; }
  double longest_s() const { return longest_s_; }

 private:
  struct alignas(64) Slot {
    Time next[2];  // earliest event, or mail sent, after a window; of this one and of the one before in turn
    double spent_s[2] = {};
    std::exception_ptr failure;
  };

  void run_part(std::size_t part);
  template <typename Work>
  static Time guarded(Slot& slot, Work work);
  void account(unsigned turn);

  std::vector<EventQueue*> queues_;
  Crossing& crossing_;
  Time lookahead_;
  std::vector<Slot> slots_;
  std::barrier<> barrier_;
  Time end_;
  bool ending_ = false, timed_ = false;
  double longest_s_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace exanet
