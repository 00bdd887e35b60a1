// SPDX-License-Identifier: Apache-2.0
// The event engine: a priority queue of plain 32-byte events in (time, sequence) order.
//
// Two events at the same time run in the order in which they were scheduled, so a run is a pure function of its input. Handlers are
// plain function pointers kept in a small table: an event costs one indirect call and no allocation.
//
// The queue is a heap of four children a node in one flat vector: half the levels of a binary heap, and four children share two cache
// lines. Most handlers schedule exactly one follower, so the place of the event being run stays open while its handler runs, and the
// follower is put there: one descent instead of a removal and an insertion.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct Event {
  Time time;
  std::uint64_t seq;
  std::uint32_t handler;
  std::uint32_t a;
  std::uint64_t b;
};

class EventQueue {
 public:
  using Handler = void (*)(void* self, Time now, std::uint32_t a, std::uint64_t b);

  // Contract: registered once per component before the first event; the component outlives the queue's use.
  std::uint32_t add_handler(Handler fn, void* self) {
    handlers_.push_back({fn, self});
    return static_cast<std::uint32_t>(handlers_.size() - 1);
  }

  // Contract: `at` is not before now().
  void schedule(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b = 0) {
    EXANET_CHECK(at >= now_, "event scheduled in the past, at", now_.ps(), at.ps(), handler);
    const Event event{at, next_seq_++, handler, a, b};
    if (open_) {
      open_ = false;
      sift_down(event);
    } else {
      heap_.push_back(event);
      sift_up(heap_.size() - 1, event);
    }
  }

  bool empty() const { return heap_.size() == (open_ ? 1u : 0u); }

  // Time::never() when empty.
  Time next_time() const {
    if (!open_) return heap_.empty() ? Time::never() : heap_[0].time;
    Time earliest = Time::never();  // the root's place is open: its children hold the earliest
    for (std::size_t i = 1; i < std::min<std::size_t>(heap_.size(), kArity + 1); ++i) earliest = min(earliest, heap_[i].time);
    return earliest;
  }

  Time now() const { return now_; }

  // Pops the earliest event and calls its handler. Contract: not empty, and not called from a handler.
  void run_one() {
    EXANET_CHECK(!open_ && !heap_.empty(), "run_one on an empty queue or from a handler", now_.ps(), open_, heap_.size());
    const Event event = heap_[0];
    open_ = true;
    now_ = event.time;
    ++processed_;
    const Slot slot = handlers_[event.handler];
    slot.fn(slot.self, event.time, event.a, event.b);
    if (open_) close();
  }

  // Runs all events with time <= end; now() is `end` afterwards unless it was later before or `end` is Time::never().
  void run_until(Time end) {
    while (!heap_.empty() && heap_[0].time <= end) run_one();
    if (end != Time::never()) now_ = max(now_, end);
  }

  std::uint64_t processed() const { return processed_; }

 private:
  struct Slot {
    Handler fn;
    void* self;
  };
  static constexpr std::size_t kArity = 4;

  static bool before(const Event& x, const Event& y) { return x.time < y.time || (x.time == y.time && x.seq < y.seq); }

  void sift_up(std::size_t at, const Event event) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!before(event, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  // Puts `event` at or below the root, whose present content is overwritten.
  void sift_down(const Event event) {
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = at * kArity + 1) {
      std::size_t least = child;
      const std::size_t end = std::min(child + kArity, size);
      for (std::size_t i = child + 1; i < end; ++i) least = before(heap_[i], heap_[least]) ? i : least;
      if (!before(heap_[least], event)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = event;
  }

  void close() {
    open_ = false;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
  }

  std::vector<Event> heap_;
  std::vector<Slot> handlers_;
  std::uint64_t next_seq_ = 0;
  std::uint64_t processed_ = 0;
  Time now_;
  bool open_ = false;  // the root's event is being run and nothing has taken its place yet
};

}  // namespace exanet
