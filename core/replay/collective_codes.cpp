// SPDX-License-Identifier: Apache-2.0
#include "core/replay/collective_codes.hpp"

#include "core/units/check.hpp"

namespace exanet {

CollectiveOperation collective_operation(std::uint8_t code) {
  const bool waits = code < EXANET_TRACE_Ibarrier;
  const int blocking = waits ? code : code - EXANET_TRACE_NONBLOCKING;
  for (const CollectiveCode& named : kCollectiveCodes)
    if (named.code == blocking) return {named.collective, waits};
  EXANET_CHECK(false, "a call that is no collective's", 0, code, 0);
  return {};
}

}  // namespace exanet
