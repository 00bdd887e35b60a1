// SPDX-License-Identifier: Apache-2.0
// The event engine: a priority queue of plain events in (time, sequence) order.
//
// Two events at the same time run in the order in which they were scheduled, so a run is a pure function of its input.
// Handlers are plain function pointers kept in a small table: an event costs one indirect call and no allocation.
//
// Most events of a network lie within a microsecond or two of the present, thousands of them, and a heap pays a
// cache-unfriendly descent for each. So the near future is a wheel of short intervals: an event is added to its
// interval at the end, and an interval is sorted when time gets there, while it is small and in cache. What is
// scheduled into the interval being run goes to a heap beside it, and what lies beyond the wheel to another, from which
// it moves to the wheel as time goes on. The order is exactly that of a heap. (Calendar queue: Brown 1988; sorting
// late: ladder queue, Tang and others 2005.) An interval's events lie in chunks, which are used again at once: what is
// touched is the events that are pending, not the longest that each interval has ever been. An interval of one event,
// as most are where little goes on, takes no chunk.
//
// An interval of more than a few is sorted by counting, low bits of the time first and then high ones, for comparing
// costs a mispredicted branch for every event or two. Counting is stable, so events of one time stay as they were
// scheduled and need no number; and the interval says the rest of their time, so an event takes 8 bytes, or more if it
// has a second argument.
//
// The state that an event is going to touch is in no cache when a network is large. But a sorted interval says which
// events come next: a handler may have a `peek`, which is called in several steps ahead of the event to fetch what that
// will need. In a small one a step costs more than it saves, but for one that needs no call: to fetch the record that
// an event is about.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace exanet {

class EventQueue {
 public:
  using Handler = void (*)(void* self, Time now, std::uint32_t a, std::uint64_t b);

  // Contract: fetches into the cache, and changes nothing. Called for steps 0 to kPeeks - 1 in turn, each some events
  // later, or not at all; what a step reads, the step before has fetched.
  using Peek = void (*)(void* self, std::uint32_t a, unsigned step);
  static constexpr unsigned kPeeks = 3;

  EventQueue() : sorted_(1 + kFetchAhead) {}

  // Contract: registered once per component before the first event; the component outlives the queue's use; at most 256
  // of them. `records` and their size say where an event of argument `a` finds the a-th of them, if all stay where they
  // are: it is fetched ahead.
  std::uint32_t add_handler(Handler fn, void* self, Peek peek = nullptr, const void* records = nullptr,
                            std::size_t size = 0) {
    handlers_.push_back({fn, self, peek, reinterpret_cast<std::uintptr_t>(records != nullptr ? records : this), size});
    peeking_ = peeking_ || peek != nullptr;
    EXANET_CHECK(handlers_.size() <= 256, "too many event handlers", now_.ps(), handlers_.size(), 256);
    return static_cast<std::uint32_t>(handlers_.size() - 1);
  }

  // Contract: `at` is not before now().
  void schedule(Time at, std::uint32_t handler, std::uint32_t a) {
    if (on_wheel(at, handler)) [[likely]]
      return add(at, handler, a);
    push(at, handler, a, 0);
  }
  void schedule(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b) {
    if (on_wheel(at, handler)) return add(at, handler, a, b);
    push(at, handler, a, b);
  }

  bool empty() const { return on_wheel_ == 0 && next_ == last_ && near_.empty() && far_.empty(); }

  // Time::never() when empty.
  Time next_time() const {
    if (next_ != last_ || !near_.empty()) return next_of_interval();
    if (on_wheel_ == 0) return far_.empty() ? Time::never() : far_[0].time;
    const std::int64_t interval = next_occupied();
    const std::size_t slot = slot_of(interval);
    std::uint16_t earliest = kIntervalPs;
    if (tail_[slot] == kSingle)
      earliest = single_[slot].within;
    else
      each_of(wheel_[slot], tail_[slot], [&](const Event& e) { earliest = std::min(earliest, e.within); });
    return Time::ps((interval << kIntervalBits) + earliest);
  }

  Time now() const { return now_; }

  // Pops the earliest event and calls its handler. Contract: not empty.
  void run_one() {
    EXANET_CHECK(!empty(), "run_one on an empty queue", now_.ps(), processed_, 0);
    run_earliest();
  }

  // The same for so many, or as many as there are.
  void run_some(std::size_t most) {
    for (; most > 0 && !empty(); --most) run_earliest();
  }

  // The same if the earliest event lies before `end`; else false, and nothing has changed.
  bool run_one_before(Time end) {
    if (next_ == last_ && near_.empty()) {
      if (empty()) return false;
      const std::int64_t interval = next_interval();
      // Time must not get to an interval of which nothing is due: an earlier event may yet be scheduled.
      if (interval >= interval_of(end) && next_time() >= end) return false;
      if (is_single(interval)) {
        run_single(interval);
        return true;
      }
      begin_interval(interval);
    }
    if (next_of_interval() >= end) return false;
    run_next();
    return true;
  }

  // Runs all events with time <= end; now() is `end` afterwards unless it was later before or `end` is Time::never().
  void run_until(Time end) {
    for (;;) {
      if (begin_ <=
          end - Time::ps(kIntervalPs -
                         1))  // most often the whole interval is due, and nothing has been scheduled into it since
        while (next_ != last_ && near_.empty()) run_sorted();
      while (next_ != last_ || !near_.empty()) {
        if (next_of_interval() > end) return reach(end);
        run_next();
      }
      if (on_wheel_ == 0 && far_.empty()) break;
      const std::int64_t interval = next_interval();
      if (interval > interval_of(end)) break;  // time has not got there: an earlier event may yet be scheduled
      if (interval < interval_of(end) && is_single(interval))
        run_single(interval);
      else
        begin_interval(interval);
    }
    reach(end);
  }

  std::uint64_t processed() const { return processed_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kSingle = 1;  // in place of a cell: an interval's one event is in single_
  static constexpr int kIntervalBits = 12;  // 4096 ps: below a router's cycle
  static constexpr std::uint16_t kIntervalPs = 1 << kIntervalBits;
  static constexpr std::int64_t kIntervals = 1 << 11;  // 8.4 us ahead

  static constexpr std::uint32_t kCells = 32;  // of a chunk: a quarter of a kilobyte
  static constexpr std::size_t kFew =
      8;  // events that are sorted by insertion: counting costs as much for one as for forty
  static constexpr std::uint32_t kValues = 1 << kIntervalBits / 2;  // of half the bits of a time within an interval
  static constexpr std::uint64_t kOnes = 0x0101010101010101;
  static constexpr std::size_t kFetchAhead = 2;
  static constexpr std::size_t kPeekAhead = 4;  // events between two steps of peeking

  struct Slot {
    Handler fn;
    void* self;
    Peek peek;
    std::uintptr_t records;
    std::size_t size;
  };
  struct Event {  // of an interval
    std::uint32_t a;
    std::uint16_t within;  // picoseconds since its beginning
    std::uint16_t handler;  // with kMore, `a` is the place in more_ of both arguments
  };
  static constexpr std::uint16_t kMore = 0x8000;
  struct More {
    std::uint64_t b;
    std::uint32_t a;  // of those not in use, another
  };
  struct Outside {  // an event of the near or the far heap
    Time time;
    std::uint64_t order;
    std::uint64_t b;
    std::uint32_t a;
    std::uint32_t handler;
  };
  struct alignas(64) Chunk {
    Event
        cells[kCells];  // in `a` of the first the chunk filled after it, or, of those not in use, another; then events
  };
  struct Later {
    bool operator()(const Outside& x, const Outside& y) const {
      return x.time > y.time || (x.time == y.time && x.order > y.order);
    }
  };

  static std::int64_t interval_of(Time t) { return t.ps() >> kIntervalBits; }
  static std::size_t slot_of(std::int64_t interval) { return static_cast<std::size_t>(interval & (kIntervals - 1)); }

  // Whether an event belongs to an interval of the wheel, and not to one of the heaps.
  bool on_wheel(Time at, std::uint32_t handler) const {
    EXANET_CHECK(at >= now_, "event scheduled in the past, at", now_.ps(), at.ps(), handler);
    const std::int64_t ahead = interval_of(at) - present_;
    return ahead > 0 && ahead < kIntervals;
  }

  [[gnu::noinline]] void push(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b) {
    std::vector<Outside>& heap = interval_of(at) > present_ ? far_ : near_;
    heap.push_back({at, next_order_++, b, a, handler});
    std::push_heap(heap.begin(), heap.end(), Later{});
  }

  [[gnu::noinline]] static Outside pop_heap(std::vector<Outside>& heap) {
    std::pop_heap(heap.begin(), heap.end(), Later{});
    const Outside event = heap.back();
    heap.pop_back();
    return event;
  }

  // Where the next event of an interval goes is kept as a number that counts cells of all chunks, so that adding one
  // touches that and the cell.
  void add(Time at, std::uint32_t handler, std::uint32_t a) {
    const std::size_t slot = slot_of(interval_of(at));
    const Event event{a, static_cast<std::uint16_t>(at.ps() & (kIntervalPs - 1)), static_cast<std::uint16_t>(handler)};
    std::uint32_t& tail = tail_[slot];
    ++on_wheel_;
    if (tail == 0) {
      single_[slot] = event;
      tail = kSingle;
      occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
      return;
    }
    if (tail % kCells <= kSingle) [[unlikely]]
      add_chunk(slot);
    cell(tail++) = event;
  }

  Event& cell(std::uint32_t number) { return chunks_[number / kCells].cells[number % kCells]; }
  std::uint32_t& next_chunk(std::uint32_t chunk) { return chunks_[chunk].cells[0].a; }

  // Visits the events of an interval in the order in which they were added: `tail` is its tail_. Contract: there is
  // one.
  template <typename Visit>
  void each_of(std::uint32_t first, std::uint32_t tail, Visit visit) const {
    const std::uint32_t newest = (tail - 1) / kCells;
    for (std::uint32_t c = first;; c = chunks_[c].cells[0].a) {
      const Event* const cells = chunks_[c].cells;
      for (std::uint32_t i = 1, end = c == newest ? (tail - 1) % kCells + 1 : kCells; i < end; ++i) visit(cells[i]);
      if (c == newest) return;
    }
  }

  // The same for any b.
  void add(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b) {
    if (b == 0) return add(at, handler, a);
    std::uint32_t place = unused_more_;
    if (place == kNone) {
      place = static_cast<std::uint32_t>(more_.size());
      more_.emplace_back();
    } else {
      unused_more_ = more_[place].a;
    }
    more_[place] = {b, a};
    add(at, handler | kMore, place);
  }

  // Gives an interval with an event, of which the next one has no place, another chunk.
  [[gnu::noinline]] void add_chunk(std::size_t slot) {
    std::uint32_t chunk = free_;
    if (chunk == kNone) {
      chunk = static_cast<std::uint32_t>(chunks_.size());
      chunks_.emplace_back();
    } else {
      free_ = next_chunk(chunk);
    }
    const std::uint32_t begin = chunk * kCells + 1;
    if (tail_[slot] == kSingle) {
      wheel_[slot] = chunk;
      cell(begin) = single_[slot];
      tail_[slot] = begin + 1;
    } else {
      next_chunk(tail_[slot] / kCells - 1) = chunk;
      tail_[slot] = begin;
    }
  }

  // Contract: an event is pending, and none in the present interval.
  std::int64_t next_interval() const { return on_wheel_ > 0 ? next_occupied() : interval_of(far_[0].time); }

  // Time moves to `interval`, the next one that holds an event: its events are sorted, and the wheel reaches further.
  // What was too far until now comes to the wheel before anything can be scheduled behind it.
  [[gnu::noinline]] void begin_interval(std::int64_t interval) {
    present_ = interval;
    begin_ = Time::ps(interval << kIntervalBits);
    while (!far_.empty() && interval_of(far_[0].time) < present_ + kIntervals) {
      const Outside event = pop_heap(far_);
      add(event.time, event.handler, event.a, event.b);
    }
    const std::size_t slot = slot_of(interval);
    const std::uint32_t first = wheel_[slot], tail = tail_[slot], newest = (tail - 1) / kCells;
    next_ = 0;
    empty_slot(slot);
    if (tail == kSingle) {
      last_ = 1;
      sorted_[0] = single_[slot];
      --on_wheel_;
      return;
    }
    last_ = (tail - 1) % kCells;
    for (std::uint32_t c = first; c != newest; c = next_chunk(c)) last_ += kCells - 1;
    if (half_sorted_.size() < last_) sorted_.resize(last_ + kFetchAhead), half_sorted_.resize(last_);
    if (last_ <= kFew)
      insert(first, tail);
    else if (last_ < 256)
      sort<std::uint8_t>(first, tail);
    else
      sort<std::uint32_t>(first, tail);
    next_chunk(newest) = free_;
    free_ = first;
    on_wheel_ -= last_;
  }

  // Sorts few events of an interval: each goes before those that are later.
  void insert(std::uint32_t first, std::uint32_t tail) {
    Event* const whole = sorted_.data();
    std::size_t count = 0;
    each_of(first, tail, [&](const Event& e) {
      std::size_t at = count++;
      for (; at > 0 && whole[at - 1].within > e.within; --at) whole[at] = whole[at - 1];
      whole[at] = e;
    });
  }

  // Sorts an interval's events by the low and then the high half of their time within the interval. A count is of
  // events with a smaller half; all fit into a Count.
  template <typename Count>
  void sort(std::uint32_t first, std::uint32_t tail) {
    alignas(8) Count low[kValues] = {}, high[kValues] = {};
    each_of(first, tail, [&](const Event& e) { ++low[e.within % kValues], ++high[e.within / kValues]; });
    sum_up(low);
    sum_up(high);
    Event *const half = half_sorted_.data(), *const whole = sorted_.data();
    each_of(first, tail, [&](const Event& e) { half[low[e.within % kValues]++] = e; });
    for (std::size_t i = 0; i < last_; ++i) whole[high[half[i].within / kValues]++] = half[i];
  }

  // Turns counts into how many come before.
  static void sum_up(std::uint8_t (&counts)[kValues]) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t before = 0;  // eight at a time: the multiplication adds to each byte those below it
    for (std::size_t i = 0; i < kValues; i += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, counts + i, 8);
      eight *= kOnes;
      const std::uint64_t sums = before * kOnes + (eight << 8);
      std::memcpy(counts + i, &sums, 8);
      before += eight >> 56;
    }
  }
  static void sum_up(std::uint32_t (&counts)[kValues]) {
    std::uint32_t before = 0;
    for (std::uint32_t& count : counts) before += std::exchange(count, before);
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

  Time time_of(const Event& event) const { return begin_ + Time::ps(event.within); }

  Time next_of_interval() const {
    if (next_ == last_) return near_[0].time;
    const Time sorted = time_of(sorted_[next_]);
    return near_.empty() ? sorted : min(near_[0].time, sorted);
  }

  // Whether an interval, the next one with an event, has one alone, and nothing is to come to the wheel when time gets
  // there.
  bool is_single(std::int64_t interval) const {
    return tail_[slot_of(interval)] == kSingle && (far_.empty() || interval_of(far_[0].time) >= interval + kIntervals);
  }

  // Time moves to such an interval, and its event runs.
  void run_single(std::int64_t interval) {
    const std::size_t slot = slot_of(interval);
    present_ = interval;
    begin_ = Time::ps(interval << kIntervalBits);
    empty_slot(slot);
    --on_wheel_;
    run_event(single_[slot]);
  }

  void empty_slot(std::size_t slot) {
    tail_[slot] = 0;
    occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
  }

  // Contract: an event is pending.
  void run_earliest() {
    if (next_ == last_ && near_.empty()) {
      const std::int64_t interval = next_interval();
      if (is_single(interval)) return run_single(interval);
      begin_interval(interval);
    }
    run_next();
  }

  // Of events of one time, those of the heap were scheduled later. Contract: the present interval holds an event.
  void run_next() {
    if (!near_.empty() && (next_ == last_ || near_[0].time < time_of(sorted_[next_]))) {
      const Outside event = pop_heap(near_);
      return run(event.time, event.handler, event.a, event.b);
    }
    run_sorted();
  }

  void run_sorted() {
    peeking_ ? peek() : fetch();
    run_event(sorted_[next_++]);
  }

  // An event of the present interval.
  void run_event(const Event event) {
    if ((event.handler & kMore) == 0) return run(time_of(event), event.handler, event.a, 0);
    const More more = std::exchange(more_[event.a], {0, unused_more_});
    unused_more_ = event.a;
    run(time_of(event), event.handler & ~kMore, more.a, more.b);
  }

  // Records behind an interval's last event have been events once.
  void fetch() const {
    const Event& coming = sorted_[next_ + kFetchAhead];
    const Slot& slot = handlers_[coming.handler & ~kMore];
    __builtin_prefetch(reinterpret_cast<const void*>(slot.records + slot.size * coming.a), 1);
  }

  void peek() const {
    for (std::size_t step = 0, ahead = kPeeks * kPeekAhead; step < kPeeks; ++step, ahead -= kPeekAhead) {
      if (next_ + ahead >= last_) continue;
      const Event& coming = sorted_[next_ + ahead];
      const Slot& slot = handlers_[coming.handler & ~kMore];
      if (slot.peek != nullptr && coming.handler < kMore) slot.peek(slot.self, coming.a, static_cast<unsigned>(step));
    }
  }

  void run(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b) {
    ++processed_;
    now_ = at;
    const Slot& slot = handlers_[handler];
    slot.fn(slot.self, at, a, b);
  }

  void reach(Time end) {
    if (end != Time::never()) now_ = max(now_, end);
  }

  Time now_;
  Time begin_;  // of the present interval
  std::int64_t present_ = -1;  // that interval's number; it is never beyond now()
  std::size_t next_ = 0, last_ = 0;  // of `sorted_`: the next event, and the end
  std::vector<Event> sorted_;  // the present interval
  std::vector<Chunk> chunks_;
  std::vector<Outside> near_;  // heap: scheduled into the present interval since
  std::vector<Outside> far_;  // heap: beyond the wheel
  std::vector<Slot> handlers_;
  std::uint64_t next_order_ = 0;  // of those in heaps
  std::uint64_t processed_ = 0;
  std::size_t on_wheel_ = 0;
  std::uint32_t free_ = kNone, unused_more_ = kNone;
  bool peeking_ = false;
  std::vector<Event> half_sorted_;
  std::vector<More> more_;
  std::array<std::uint64_t, kIntervals / 64> occupied_{};
  std::array<std::uint32_t, kIntervals> wheel_;  // the first chunk of each interval with several events
  std::array<std::uint32_t, kIntervals>
      tail_{};  // the cell for its next event; a multiple of kCells: of a chunk that is yet to be added; 0: it has none
  std::array<Event, kIntervals> single_;  // the event of each interval of one
};

}  // namespace exanet
