// SPDX-License-Identifier: Apache-2.0
// The event engine: a priority queue of plain 40-byte events in (time, sequence) order.
//
// Two events at the same time run in the order in which they were scheduled, so a run is a pure function of its input. Handlers are
// plain function pointers kept in a small table: an event costs one indirect call and no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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
  std::uint32_t add_handler(Handler fn, void* self);
  void schedule(Time at, std::uint32_t handler, std::uint32_t a, std::uint64_t b = 0);

  bool empty() const;
  Time next_time() const;  // Time::never() when empty
  Time now() const;
  void run_one();           // pops the earliest event and calls its handler
  void run_until(Time end);  // all events with time <= end
  std::uint64_t processed() const;
};

}  // namespace exanet
