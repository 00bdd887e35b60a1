// SPDX-License-Identifier: Apache-2.0
// How much a test does: its full size in the long set (`make test-long`), else a part of it that finds what broke.
#pragma once

#include <cstdlib>

namespace exanet::testing {

inline bool in_full() { return std::getenv("EXANET_TEST_LONG") != nullptr; }

}  // namespace exanet::testing
