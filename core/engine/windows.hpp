// SPDX-License-Identifier: Apache-2.0
// Several event queues on several threads, in windows of simulated time.
//
// Problem: run the parts of one model at the same time and get, bit for bit, what one queue would give. Model: what one
// part does at an instant is felt in another no sooner than the lookahead later, e.g. a link's latency. So from the
// earliest event of all, every part may run its events up to the lookahead beyond without hearing from the others; what
// it has for them it mails, and they collect it before the next window, whose times it all lies in. (Conservative
// synchronous windows: Nicol 1993; Lubachevsky 1989.)
//
// A window's parts belong to no thread. Each thread takes those that it took before, if it can, for their state is in
// its processor's cache; then those that nobody has taken. A thread that the host does not run therefore holds up only
// what it was in the middle of, and a thread that runs does all the rest: on a busy host they take little longer than
// one thread alone. (Work stealing: Blumofe and Leiserson 1999.)
//
// The results do not depend on how the model is divided if they do not depend on the order of events of one instant in
// different places. The model has to see to that. Limit: no window begins before all parts have ended the last one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "core/engine/event_queue.hpp"

namespace exanet {

// Carries mail between parts. Contract: calls for one part come from one thread at a time; all parts end a window
// before any begins the next one, but another part may already be in the window of the one that collects.
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
  // Up to `threads` threads run the queues, the caller's among them: at least 1, and no more than there are queues. All
  // outlive the windows.
  Windows(std::vector<EventQueue*> queues, Crossing& crossing, std::size_t threads = processors());
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

  static std::size_t processors();  // that this process may use

 private:
  struct alignas(64) Slot {
    std::atomic<bool> free{false};  // in this window, nobody has taken the part yet
    Time next;  // its earliest event, or mail sent, after the window
    double spent_s = 0;
    std::exception_ptr failure;
  };

  void begin_window();
  void run_parts(std::size_t thread);
  std::size_t take(std::size_t thread);
  void run_part(std::size_t part);
  void announce();
  void await_other(std::uint32_t window);
  std::uint32_t window() const { return window_.load(std::memory_order_acquire) & ~kSleeping; }

  static constexpr std::uint32_t kSleeping = 1;

  std::vector<EventQueue*> queues_;
  Crossing& crossing_;
  const Time lookahead_;
  const std::size_t thread_count_;
  std::vector<Slot> slots_;
  // Changes when there may be something to do, by 2; kSleeping: a thread sleeps until then.
  alignas(64) std::atomic<std::uint32_t> window_{0};
  alignas(64) std::atomic<std::size_t> left_{0};  // parts that have not ended the window
  std::atomic<bool> running_{false}, ending_{false};
  Time end_, last_;  // of the run, and of the window
  bool timed_ = false;
  double longest_s_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace exanet
