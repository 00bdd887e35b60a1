// SPDX-License-Identifier: Apache-2.0
// Threads that do the same thing at the same time, over and over: run() has each of them call work(thread) and returns
// when all have. Thread 0 is the caller's own. Between two calls the others look for the next one for a while, then
// sleep.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace exanet::gateware {

class Team {
 public:
  Team(unsigned threads, std::function<void(unsigned)> work) : work_(std::move(work)) {
    for (unsigned thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
  }
  ~Team() {
    stop_ = true;
    begin();
    for (std::thread& helper : helpers_) helper.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return helpers_.size() + 1; }

  void run() {
    if (!helpers_.empty()) {
      busy_.store(static_cast<std::uint32_t>(helpers_.size()), std::memory_order_relaxed);
      begin();
    }
    work_(0);
    wait(busy_, [](std::uint32_t busy) { return busy == 0; });
  }

 private:
  static constexpr unsigned kLooks = 100'000;  // some tens of microseconds: longer than the threads of a cycle differ

  void begin() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  void help(unsigned thread) {
    for (std::uint32_t done = 0;; ++done) {
      wait(round_, [done](std::uint32_t round) { return round != done; });
      if (stop_) return;
      work_(thread);
      if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
    }
  }
  template <typename Holds>
  static void wait(std::atomic<std::uint32_t>& value, Holds holds) {
    for (unsigned look = 0;; ++look) {
      const std::uint32_t seen = value.load(std::memory_order_acquire);
      if (holds(seen)) return;
      if (look >= kLooks) value.wait(seen, std::memory_order_acquire);
    }
  }

  std::function<void(unsigned)> work_;
  std::atomic<std::uint32_t> round_ = 0, busy_ = 0;  // calls of run() begun; helpers that have not ended it
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace exanet::gateware
