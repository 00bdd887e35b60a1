// SPDX-License-Identifier: Apache-2.0
// Runs the windows: threads take parts that are free, and whoever ends a window's last part begins the next window.
//
// Problem: a thread that waits must not keep the processor from the thread that it waits for, and must not sleep where
// the wait is shorter than waking up. Model: it looks for some microseconds, then sets kSleeping and sleeps. Threads
// are woken only where kSleeping is set. A part that throws keeps what it threw and writes kFailed for its next event:
// the run ends with that window. Limits: windows.hpp.
#include "core/engine/windows.hpp"

#include <sched.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace exanet {

namespace {

constexpr Time kFailed = Time::ps(-1);  // in place of a part's next event
constexpr std::size_t kNone = ~std::size_t{0};  // in place of a part
constexpr int kLooks = 1000;  // before a thread sleeps: some 20 us, a few times what waking it costs

double thread_s() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

std::size_t Windows::processors() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(std::max(1, CPU_COUNT(&set))) : 1;
}

Windows::Windows(std::vector<EventQueue*> queues, Crossing& crossing, std::size_t threads)
    : queues_(std::move(queues)),
      crossing_(crossing),
      lookahead_(crossing.lookahead()),
      thread_count_(std::min(threads, queues_.size())),
      slots_(queues_.size()) {
  EXANET_CHECK(lookahead_ > Time(), "parts that feel each other at once", 0, lookahead_.ps(), queues_.size());
  for (std::size_t thread = 1; thread < thread_count_; ++thread)
    threads_.emplace_back([this, thread] {
      for (;;) {
        const std::uint32_t seen = window();
        if (ending_.load(std::memory_order_acquire)) return;
        run_parts(thread);
        await_other(seen);
      }
    });
}

Windows::~Windows() {
  ending_.store(true, std::memory_order_release);
  announce();
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
  for (std::size_t part = 0; part < queues_.size(); ++part) {
    slots_[part].next = min(queues_[part]->next_time(), crossing_.mailed(part));
    slots_[part].spent_s = 0;
  }
  begin_window();
  for (;;) {
    const std::uint32_t seen = window();
    run_parts(0);
    if (!running_.load(std::memory_order_acquire)) break;
    await_other(seen);
  }
  for (Slot& slot : slots_)
    if (slot.failure) std::rethrow_exception(std::exchange(slot.failure, nullptr));
  if (end != Time::never())
    for (EventQueue* const queue : queues_) queue->run_until(end);
}

// Called when all parts have ended the last window, or none has begun the first.
void Windows::begin_window() {
  Time first = Time::never();
  double longest_s = 0;
  for (const Slot& slot : slots_) {
    first = min(first, slot.next);
    longest_s = std::max(longest_s, slot.spent_s);
  }
  longest_s_ += longest_s;
  const bool more = first != kFailed && first <= end_ && first != Time::never();
  if (more) {
    last_ = end_ - first < lookahead_ ? end_ : first + lookahead_ - Time::ps(1);
    left_.store(slots_.size(), std::memory_order_relaxed);
  }
  running_.store(more, std::memory_order_release);
  // From the last of these on another thread may end this window and begin the next one.
  if (more)
    for (Slot& slot : slots_) slot.free.store(true, std::memory_order_release);
  announce();
}

// Runs what is free, a thread's own parts first, until nothing is: also in windows that it begins itself.
void Windows::run_parts(std::size_t thread) {
  for (std::size_t part = take(thread); part != kNone; part = take(thread)) run_part(part);
}

std::size_t Windows::take(std::size_t thread) {
  const std::size_t parts = slots_.size();
  const auto taken = [&](std::size_t part) {
    std::atomic<bool>& free = slots_[part].free;
    return free.load(std::memory_order_relaxed) && free.exchange(false, std::memory_order_acq_rel);
  };
  for (std::size_t part = thread; part < parts; part += thread_count_)
    if (taken(part)) return part;
  for (std::size_t part = 0; part < parts; ++part)
    if (taken(part)) return part;
  return kNone;
}

void Windows::run_part(std::size_t part) {
  EventQueue& queue = *queues_[part];
  Slot& slot = slots_[part];
  const double began_s = timed_ ? thread_s() : 0;
  try {
    crossing_.collect(part);
    queue.run_until(last_);
    crossing_.finish(part, last_);
    slot.next = min(queue.next_time(), crossing_.mailed(part));
  } catch (...) {
    slot.failure = std::current_exception();
    slot.next = kFailed;
  }
  slot.spent_s = timed_ ? thread_s() - began_s : 0;
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) begin_window();
}

void Windows::announce() {
  std::uint32_t old = window_.load(std::memory_order_relaxed);
  while (!window_.compare_exchange_weak(old, (old | kSleeping) + 1, std::memory_order_acq_rel)) {
  }
  if ((old & kSleeping) != 0) window_.notify_all();
}

// Until another window than `window` has been announced.
void Windows::await_other(std::uint32_t window) {
  for (int look = 0; look < kLooks; ++look) {
    if (this->window() != window) return;
    __builtin_ia32_pause();
  }
  std::uint32_t now = window;
  while (window_.compare_exchange_strong(now, window | kSleeping, std::memory_order_acq_rel) ||
         now == (window | kSleeping)) {
    window_.wait(window | kSleeping, std::memory_order_acquire);
    now = window;
  }
}

}  // namespace exanet
