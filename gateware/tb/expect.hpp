// SPDX-License-Identifier: Apache-2.0
// What benches hold to be so, in tests and outside of them. In a test the exception is a failure.
#pragma once

#include <stdexcept>

namespace exanet::gateware {

inline void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace exanet::gateware
