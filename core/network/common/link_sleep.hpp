// SPDX-License-Identifier: Apache-2.0
// A link that sleeps while it is idle, as Energy-Efficient Ethernet's do (IEEE 802.3, clause 78).
//
// Model: a link that has carried nothing for `after` sleeps. The next packet wakes it up, and waits for `wake`. Limits:
// credits and pauses of the other direction wake nobody, and an output does not foresee packets that are on their way.
#pragma once

#include "core/units/time.hpp"

namespace exanet {

struct LinkSleep {
  Time asleep;  // until it last woke up
  Time from;  // it sleeps from then on, unless a packet comes before; never() where it does not sleep

  Time by(Time now) const { return asleep + max(now - from, Time()); }
  // When the link can carry what is there at `now`.
  Time woken(Time now, Time wake) {
    if (now <= from) return now;
    asleep = by(now);
    return now + wake;
  }
  // It carries words until `free`.
  void carries(Time free, Time after) { from = after == Time::never() ? after : free + after; }
};

}  // namespace exanet
