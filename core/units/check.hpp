// SPDX-License-Identifier: Apache-2.0
// Impossible states stop the program and say where it was; user input never gets this far. EXANET_CHECK is always compiled in,
// EXANET_DCHECK only in debug builds, for tests on the event path.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace exanet {

[[noreturn, gnu::cold, gnu::noinline]] inline void check_failed(const char* file, int line, const char* what, long long time_ps,
                                                                long long a, long long b) {
  std::fprintf(stderr, "%s:%d: impossible state: %s (simulated time %lld ps, values %lld and %lld)\n", file, line, what, time_ps, a, b);
  std::abort();
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
