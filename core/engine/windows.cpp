// SPDX-License-Identifier: Apache-2.0
// Runs the windows: a thread for each queue but the first, which the caller's thread runs.
//
// Problem: all threads have to choose the same window, and one that throws must not leave the others at a barrier.
// Model: each part writes when its next event is, and after the barrier all compute the least of these; a failed part
// writes kFailed there, keeps what it threw, and all end with that window. Limits: windows.hpp.
#include "core/engine/windows.hpp"

#include <ctime>
#include <utility>

namespace exanet {

namespace {

constexpr Time kFailed = Time::ps(-1);  // in place of a part's next event

double thread_s() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

Windows::Windows(std::vector<EventQueue*> queues, Crossing& crossing)
    : queues_(std::move(queues)),
      crossing_(crossing),
      lookahead_(crossing.lookahead()),
      slots_(queues_.size()),
      barrier_(static_cast<std::ptrdiff_t>(queues_.size())) {
  EXANET_CHECK(lookahead_ > Time(), "parts that feel each other at once", 0, lookahead_.ps(), queues_.size());
  for (std::size_t part = 1; part < queues_.size(); ++part) {
    threads_.emplace_back([this, part] {
      for (;;) {
        barrier_.arrive_and_wait();
        if (ending_) return;
        run_part(part);
      }
    });
  }
}

Windows::~Windows() {
  ending_ = true;
  if (!threads_.empty()) barrier_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

Time Windows::next_time() const {
  Time next = Time::never();
  for (std::size_t part = 0; part < queues_.size(); ++part)
    next = min(next, min(queues_[part]->next_time(), crossing_.mailed(part)));
  return next;
}

void Windows::run_until(Time end) {
  end_ = end;
  if (!threads_.empty()) barrier_.arrive_and_wait();
  run_part(0);
  for (Slot& slot : slots_)
    if (slot.failure) std::rethrow_exception(std::exchange(slot.failure, nullptr));
}

// Every thread goes through this in step. Each window has one barrier, so `next` is kept twice: another part may write
// that of its next window while this one reads. Where one part has failed, all end with the window that it failed in.
void Windows::run_part(std::size_t part) {
  EventQueue& queue = *queues_[part];
  Slot& slot = slots_[part];
  slot.next[0] = min(queue.next_time(), crossing_.mailed(part));
  slot.spent_s[0] = 0;
  bool failed = false;
  for (unsigned turn = 0;; turn ^= 1) {
    barrier_.arrive_and_wait();
    Time first = Time::never();
    for (const Slot& other : slots_) first = min(first, other.next[turn]);
    if (part == 0) account(turn);
    failed = first == kFailed;
    if (failed || first > end_ || first == Time::never()) break;
    const double began_s = timed_ ? thread_s() : 0;
    slot.next[turn ^ 1] = guarded(slot, [&] {
      crossing_.collect(part);
      const Time last = end_ - first < lookahead_ ? end_ : first + lookahead_ - Time::ps(1);
      queue.run_until(last);
      crossing_.finish(part, last);
      return min(queue.next_time(), crossing_.mailed(part));
    });
    slot.spent_s[turn ^ 1] = timed_ ? thread_s() - began_s : 0;
  }
  if (end_ != Time::never() && !failed)
    guarded(slot, [&] {
      queue.run_until(end_);
      return end_;
    });
  barrier_.arrive_and_wait();
}

// Returns what `work` returns, or kFailed, with what it threw kept for the caller's thread.
template <typename Work>
Time Windows::guarded(Slot& slot, Work work) {
  try {
    return work();
  } catch (...) {
    slot.failure = std::current_exception();
    return kFailed;
  }
}

void Windows::account(unsigned turn) {
  double longest_s = 0;
  for (const Slot& slot : slots_) longest_s = longest_s < slot.spent_s[turn] ? slot.spent_s[turn] : longest_s;
  longest_s_ += longest_s;
}

}  // namespace exanet
