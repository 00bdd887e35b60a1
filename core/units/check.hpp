// SPDX-License-Identifier: Apache-2.0
// Impossible states end the run with an InternalError that says where it was; user input never gets this far.
// EXANET_CHECK is always compiled in, EXANET_DCHECK only in debug builds, for tests on the event path. What has thrown
// is good for nothing but its destruction.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

namespace exanet {

// A defect of the simulator, or of what was built on it.
class InternalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void check_failed(const char* file, int line, const char* what,
                                                                long long time_ps, long long a, long long b) {
  const char* inside = std::strstr(file, "core/");  // wherever it was compiled
  throw InternalError(std::string(what) + " (simulated time " + std::to_string(time_ps) + " ps, values " +
                      std::to_string(a) + " and " + std::to_string(b) + ", " + (inside != nullptr ? inside : file) +
                      ":" + std::to_string(line) + ")");
}

}  // namespace exanet

#define EXANET_CHECK(condition, what, time_ps, a, b)                                                               \
  do {                                                                                                             \
    if (!(condition)) [[unlikely]]                                                                                 \
      ::exanet::check_failed(__FILE__, __LINE__, what, static_cast<long long>(time_ps), static_cast<long long>(a), \
                             static_cast<long long>(b));                                                           \
  } while (false)

#ifdef NDEBUG
#define EXANET_DCHECK(condition, what, time_ps, a, b) static_cast<void>(0)
#else
#define EXANET_DCHECK(condition, what, time_ps, a, b) EXANET_CHECK(condition, what, time_ps, a, b)
#endif
