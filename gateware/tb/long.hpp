// SPDX-License-Identifier: Apache-2.0
// Whether tests take their full size (`make test-long`); else one that finds what broke, at a third of the time or less.
#pragma once

#include <cstdlib>

namespace exanet::gateware {

inline bool in_full() { return std::getenv("EXANET_TEST_LONG") != nullptr; }

}  // namespace exanet::gateware
