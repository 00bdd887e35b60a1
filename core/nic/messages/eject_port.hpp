// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_eject.sv, to the cycle: when the beats of a packet that arrives are in its register, one
// frame after the other. A slot is given back in the cycle behind that in which the packet's last beat gets there.
#pragma once

#include <algorithm>

#include "core/nic/messages/cycle.hpp"

namespace exanet {

struct EjectPort {
  Cycle last_load = kLongAgo;  // the last beat of the frame before
  Cycle register_free = kLongAgo;  // its last beat was taken

  // First beat of a packet whose footer is on the wire in `footer`.
  Cycle load(Cycle footer, std::uint32_t words) const {
    return std::max({footer + (words != 0 ? 3 : 2), last_load + 1, register_free});
  }
  // The frame's first beat is in the register behind `load`, and taken in `taken`, those behind it one a cycle. Returns
  // when its last beat gets there.
  Cycle take(Cycle load, Cycle taken, std::uint32_t words) {
    last_load = words > 1 ? taken + words - 2 : load;
    register_free = taken + std::max(words, 1u) - 1;
    return last_load;
  }
  // A damaged packet goes nowhere, and its slot is given back in this cycle.
  static Cycle dropped(Cycle footer) { return footer + 2; }
};

}  // namespace exanet
