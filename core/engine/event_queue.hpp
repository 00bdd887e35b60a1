// SPDX-License-Identifier: Apache-2.0
// The event engine: a priority queue of plain events in (time, sequence) order.
//
// Two events at the same time run in the order in which they were scheduled, so a run is a pure function of its input. Handlers are
// plain function pointers kept in a small table: an event costs one indirect call and no allocation.
//
// Most events of a network lie within a microsecond or two of the present, thousands of them, and a heap pays a cache-unfriendly descent
// for each. So the near future is a wheel of short intervals: an event is linked into its interval unsorted, and an interval is sorted
// when time gets there, while it is small and in cache. What is scheduled into the interval being run goes to a heap beside it, and what
// lies beyond the wheel to another, from which it moves to the wheel as time goes on. The order is exactly that of a heap.
// (Calendar queue: Brown 1988; sorting late: ladder queue, Tang and others 2005.)
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace exanet {

class EventQueue {
 public:
  using Handler = void (*)(void* self, Time now, std::uint32_t a, std::uint64_t b);

  EventQueue() { wheel_.fill(kNone); }

  // Contract: registered once per component before the first event; the component outlives the queue's use; at most 256 of them.
  std::uint32_t add_handler(Handler fn, void* self) {
    handlers_.push_back({fn, self});
    EXANET_CHECK(handlers_.size() <= 256, "too many event handlers", now_.ps(), handlers_.size(), 256);
    return static_cast<std::uint32_t>(handlers_.size() - 1);
  }

  // Contract: `at` is not before now().
  void schedule(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b = 0) {
    EXANET_CHECK(at >= now_, "event scheduled in the past, at", now_.ps(), at.ps(), handler);
    std::uint32_t index = free_;
    if (index == kNone) {
      index = static_cast<std::uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[index].next;
    }
    const Key key{at, next_order_ | handler, index};
    next_order_ += 256;
    pool_[index] = {at, key.order, b, a, kNone};
    ++pending_;
    const std::int64_t interval = interval_of(at);
    if (interval <= present_)
      push(near_, key);
    else if (interval < present_ + kIntervals)
      link(interval, index);
    else
      push(far_, key);
  }

  bool empty() const { return pending_ == 0; }

  // Time::never() when empty.
  Time next_time() const {
    if (!sorted_.empty() || !near_.empty()) return next_of_interval();
    if (on_wheel_ == 0) return far_.empty() ? Time::never() : far_[0].time;
    Time earliest = Time::never();
    for (std::uint32_t i = wheel_[slot_of(next_occupied())]; i != kNone; i = pool_[i].next) earliest = min(earliest, pool_[i].time);
    return earliest;
  }

  Time now() const { return now_; }

  // Pops the earliest event and calls its handler. Contract: not empty.
  void run_one() {
    EXANET_CHECK(pending_ > 0, "run_one on an empty queue", now_.ps(), processed_, 0);
    if (sorted_.empty() && near_.empty()) begin_interval(next_interval());
    run(pop());
  }

  // Runs all events with time <= end; now() is `end` afterwards unless it was later before or `end` is Time::never().
  void run_until(Time end) {
    while (pending_ > 0) {
      if (sorted_.empty() && near_.empty()) {
        const std::int64_t interval = next_interval();
        if (interval > interval_of(end)) break;  // time has not got there: an earlier event may yet be scheduled
        begin_interval(interval);
      }
      if (next_of_interval() > end) break;
      run(pop());
    }
    if (end != Time::never()) now_ = max(now_, end);
  }

  std::uint64_t processed() const { return processed_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr int kIntervalBits = 12;             // 4096 ps: below a router's cycle
  static constexpr std::int64_t kIntervals = 1 << 11;  // 8.4 us ahead

  struct Slot {
    Handler fn;
    void* self;
  };
  struct Event {
    Time time;
    std::uint64_t order;  // sequence number, and the handler in the low 8 bits
    std::uint64_t b;
    std::uint32_t a;
    std::uint32_t next;
  };
  struct Key {
    Time time;
    std::uint64_t order;
    std::uint32_t event;
  };
  struct Later {
    bool operator()(const Key& x, const Key& y) const { return x.time > y.time || (x.time == y.time && x.order > y.order); }
  };

  static std::int64_t interval_of(Time t) { return t.ps() >> kIntervalBits; }
  static std::size_t slot_of(std::int64_t interval) { return static_cast<std::size_t>(interval & (kIntervals - 1)); }

  static void push(std::vector<Key>& heap, const Key& key) {
    heap.push_back(key);
    std::push_heap(heap.begin(), heap.end(), Later{});
  }

  static Key pop_heap(std::vector<Key>& heap) {
    std::pop_heap(heap.begin(), heap.end(), Later{});
    const Key key = heap.back();
    heap.pop_back();
    return key;
  }

  void link(std::int64_t interval, std::uint32_t event) {
    const std::size_t slot = slot_of(interval);
    pool_[event].next = wheel_[slot];
    wheel_[slot] = event;
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    ++on_wheel_;
  }

  // Contract: an event is pending, and none in the present interval.
  std::int64_t next_interval() const { return on_wheel_ > 0 ? next_occupied() : interval_of(far_[0].time); }

  // Time moves to `interval`, the next one that holds an event: its events are sorted, and the wheel reaches further.
  void begin_interval(std::int64_t interval) {
    // Wide of the wheel first stop just before it, so that the interval's events come through the wheel.
    present_ = on_wheel_ > 0 ? interval : interval - 1;
    while (!far_.empty() && interval_of(far_[0].time) < present_ + kIntervals) {
      const Key key = pop_heap(far_);
      link(interval_of(key.time), key.event);
    }
    present_ = interval;
    const std::size_t slot = slot_of(interval);
    for (std::uint32_t i = wheel_[slot]; i != kNone; i = pool_[i].next) sorted_.push_back({pool_[i].time, pool_[i].order, i});
    wheel_[slot] = kNone;
    occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    on_wheel_ -= sorted_.size();
    std::sort(sorted_.begin(), sorted_.end(), Later{});
  }

  // The first interval after the present one that holds an event. Contract: the wheel is not empty.
  std::int64_t next_occupied() const {
    const std::size_t start = slot_of(present_ + 1);
    std::size_t word = start / 64;
    std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << (start % 64));
    while (bits == 0) {
      word = (word + 1) % occupied_.size();
      bits = occupied_[word];
    }
    const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    return present_ + 1 + static_cast<std::int64_t>((slot - start) % kIntervals);
  }

  Time next_of_interval() const {
    if (near_.empty()) return sorted_.back().time;
    return sorted_.empty() ? near_[0].time : min(near_[0].time, sorted_.back().time);
  }

  std::uint32_t pop() {
    if (!near_.empty() && (sorted_.empty() || Later{}(sorted_.back(), near_[0]))) return pop_heap(near_).event;
    const std::uint32_t event = sorted_.back().event;
    sorted_.pop_back();
    return event;
  }

  void run(std::uint32_t index) {
    const Event event = pool_[index];
    pool_[index].next = free_;
    free_ = index;
    --pending_;
    ++processed_;
    now_ = event.time;
    const Slot slot = handlers_[event.order & 255];
    slot.fn(slot.self, event.time, event.a, event.b);
  }

  std::vector<Event> pool_;
  std::array<std::uint32_t, kIntervals> wheel_;
  std::array<std::uint64_t, kIntervals / 64> occupied_{};
  std::vector<Key> sorted_;    // the present interval, latest first
  std::vector<Key> near_;      // heap: scheduled into the present interval since
  std::vector<Key> far_;       // heap: beyond the wheel
  std::int64_t present_ = -1;  // never beyond now()
  std::size_t on_wheel_ = 0;
  std::vector<Slot> handlers_;
  std::uint64_t next_order_ = 0;
  std::uint64_t processed_ = 0;
  std::size_t pending_ = 0;
  std::uint32_t free_ = kNone;
  Time now_;
};

}  // namespace exanet
