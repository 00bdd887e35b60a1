// SPDX-License-Identifier: Apache-2.0
// What has been lost, sent again and waited for between two changes of a plan of faults.
//
// Model: totals are taken just before each change, so what happens at the time of a change belongs to the interval that
// begins with it. Limits: an interval has the effects of all faults that are present, also of earlier ones.
#pragma once

#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

struct FaultInterval {
  Time begin;  // the end is the next one's beginning, or that of the run
  std::uint64_t lost = 0;  // packets
  std::uint64_t retransmitted = 0;  // packets, by interfaces that retransmit end to end
  std::uint64_t failed = 0;  // completions with a status
  Time waited;  // of all ranks together, asleep in the library
};

}  // namespace exanet
