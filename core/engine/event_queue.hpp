// SPDX-License-Identifier: Apache-2.0
// The event engine: a priority queue of plain events in (time, sequence) order.
//
// Two events at the same time run in the order in which they were scheduled, so a run is a pure function of its input. Handlers are
// plain function pointers kept in a small table: an event costs one indirect call and no allocation.
//
// Most events of a network lie within a microsecond or two of the present, thousands of them, and a heap pays a cache-unfriendly descent
// for each. So the near future is a wheel of short intervals: an event is added to its interval unsorted, and an interval is sorted
// when time gets there, while it is small and in cache. What is scheduled into the interval being run goes to a heap beside it, and what
// lies beyond the wheel to another, from which it moves to the wheel as time goes on. The order is exactly that of a heap.
// (Calendar queue: Brown 1988; sorting late: ladder queue, Tang and others 2005.) An interval's events lie in chunks, which are used again
// at once: what is touched is the events that are pending, not the longest that each interval has ever been.
//
// The state that an event is going to touch is in no cache when a network is large. But a sorted interval says which events come next: a
// handler may have a `peek`, which is called in several steps ahead of the event to fetch what that will need.
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

  // Contract: fetches into the cache, and changes nothing. Called for steps 0 to kPeeks - 1 in turn, each some events later, or not at all;
  // what a step reads, the step before has fetched.
  using Peek = void (*)(void* self, std::uint32_t a, unsigned step);
  static constexpr unsigned kPeeks = 3;

  EventQueue() { wheel_.fill(kNone); }

  // Contract: registered once per component before the first event; the component outlives the queue's use; at most 256 of them.
  std::uint32_t add_handler(Handler fn, void* self, Peek peek = nullptr) {
    handlers_.push_back({fn, self, peek});
    peeking_ = peeking_ || peek != nullptr;
    EXANET_CHECK(handlers_.size() <= 256, "too many event handlers", now_.ps(), handlers_.size(), 256);
    return static_cast<std::uint32_t>(handlers_.size() - 1);
  }

  // Contract: `at` is not before now().
  void schedule(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b = 0) {
    EXANET_CHECK(at >= now_, "event scheduled in the past, at", now_.ps(), at.ps(), handler);
    const Event event{at, next_order_ | handler, b, a};
    next_order_ += 256;
    ++pending_;
    const std::int64_t interval = interval_of(at);
    if (interval <= present_)
      push(near_, event);
    else if (interval < present_ + kIntervals)
      add(interval, event);
    else
      push(far_, event);
  }

  bool empty() const { return pending_ == 0; }

  // Time::never() when empty.
  Time next_time() const {
    if (!sorted_.empty() || !near_.empty()) return next_of_interval();
    if (on_wheel_ == 0) return far_.empty() ? Time::never() : far_[0].time;
    Time earliest = Time::never();
    for (std::uint32_t c = wheel_[slot_of(next_occupied())]; c != kNone; c = chunks_[c].next)
      for (std::uint32_t i = 0; i < chunks_[c].count; ++i) earliest = min(earliest, chunks_[c].events[i].time);
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

  static constexpr std::uint32_t kChunk = 15;          // events of a chunk: half a kilobyte
  static constexpr std::size_t kPeekAhead = 4;         // events between two steps of peeking

  struct Slot {
    Handler fn;
    void* self;
    Peek peek;
  };
  struct Event {
    Time time;
    std::uint64_t order;  // sequence number, and the handler in the low 8 bits
    std::uint64_t b;
    std::uint32_t a;
  };
  struct Chunk {
    Event events[kChunk];
    std::uint32_t count;
    std::uint32_t next;
  };
  struct Later {
    bool operator()(const Event& x, const Event& y) const { return x.time > y.time || (x.time == y.time && x.order > y.order); }
  };

  static std::int64_t interval_of(Time t) { return t.ps() >> kIntervalBits; }
  static std::size_t slot_of(std::int64_t interval) { return static_cast<std::size_t>(interval & (kIntervals - 1)); }

  static void push(std::vector<Event>& heap, const Event& event) {
    heap.push_back(event);
    std::push_heap(heap.begin(), heap.end(), Later{});
  }

  static Event pop_heap(std::vector<Event>& heap) {
    std::pop_heap(heap.begin(), heap.end(), Later{});
    const Event event = heap.back();
    heap.pop_back();
    return event;
  }

  void add(std::int64_t interval, const Event& event) {
    const std::size_t slot = slot_of(interval);
    std::uint32_t chunk = wheel_[slot];
    if (chunk == kNone || chunks_[chunk].count == kChunk) chunk = new_chunk(slot);
    Chunk& to = chunks_[chunk];
    to.events[to.count++] = event;
    ++on_wheel_;
  }

  std::uint32_t new_chunk(std::size_t slot) {
    std::uint32_t chunk = free_;
    if (chunk == kNone) {
      chunk = static_cast<std::uint32_t>(chunks_.size());
      chunks_.emplace_back();
    } else {
      free_ = chunks_[chunk].next;
    }
    chunks_[chunk].count = 0;
    chunks_[chunk].next = wheel_[slot];
    wheel_[slot] = chunk;
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    return chunk;
  }

  // Contract: an event is pending, and none in the present interval.
  std::int64_t next_interval() const { return on_wheel_ > 0 ? next_occupied() : interval_of(far_[0].time); }

  // Time moves to `interval`, the next one that holds an event: its events are sorted, and the wheel reaches further.
  void begin_interval(std::int64_t interval) {
    // Wide of the wheel first stop just before it, so that the interval's events come through the wheel.
    present_ = on_wheel_ > 0 ? interval : interval - 1;
    while (!far_.empty() && interval_of(far_[0].time) < present_ + kIntervals) {
      const Event event = pop_heap(far_);
      add(interval_of(event.time), event);
    }
    present_ = interval;
    const std::size_t slot = slot_of(interval);
    for (std::uint32_t chunk = wheel_[slot]; chunk != kNone;) {
      Chunk& from = chunks_[chunk];
      sorted_.insert(sorted_.end(), from.events, from.events + from.count);
      const std::uint32_t next = from.next;
      from.next = free_;
      free_ = chunk;
      chunk = next;
    }
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

  Event pop() {
    if (!near_.empty() && (sorted_.empty() || Later{}(sorted_.back(), near_[0]))) return pop_heap(near_);
    const Event event = sorted_.back();
    sorted_.pop_back();
    if (peeking_) peek();
    return event;
  }

  void peek() const {
    for (std::size_t step = 0, ahead = kPeeks * kPeekAhead; step < kPeeks; ++step, ahead -= kPeekAhead) {
      if (ahead > sorted_.size()) continue;
      const Event& coming = sorted_[sorted_.size() - ahead];
      const Slot& slot = handlers_[coming.order & 255];
      if (slot.peek != nullptr) slot.peek(slot.self, coming.a, static_cast<unsigned>(step));
    }
  }

  void run(const Event& event) {
    --pending_;
    ++processed_;
    now_ = event.time;
    const Slot& slot = handlers_[event.order & 255];
    slot.fn(slot.self, event.time, event.a, event.b);
  }

  std::vector<Chunk> chunks_;
  std::array<std::uint32_t, kIntervals> wheel_;
  std::array<std::uint64_t, kIntervals / 64> occupied_{};
  std::vector<Event> sorted_;    // the present interval, latest first
  std::vector<Event> near_;      // heap: scheduled into the present interval since
  std::vector<Event> far_;       // heap: beyond the wheel
  std::int64_t present_ = -1;  // never beyond now()
  std::size_t on_wheel_ = 0;
  std::vector<Slot> handlers_;
  std::uint64_t next_order_ = 0;
  std::uint64_t processed_ = 0;
  std::size_t pending_ = 0;
  bool peeking_ = false;
  std::uint32_t free_ = kNone;
  Time now_;
};

}  // namespace exanet
