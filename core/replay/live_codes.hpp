// SPDX-License-Identifier: Apache-2.0
// What kind of call a code of a live rank's is (live_call.h).
#pragma once

#include <cstdint>

#include "core/protocol/host.hpp"
#include "core/replay/live_call.h"
#include "core/replay/trace_format.h"

namespace exanet {

inline bool is_send(std::uint32_t code) { return code <= EXANET_TRACE_Irsend; }
inline bool is_synchronous(std::uint32_t code) { return code == EXANET_TRACE_Ssend || code == EXANET_TRACE_Issend; }
inline bool returns_at_once(std::uint32_t code) {
  return (code >= EXANET_TRACE_Isend && code <= EXANET_TRACE_Irsend) || code == EXANET_TRACE_Irecv ||
         code == EXANET_TRACE_Imrecv;
}
inline bool takes_probed(std::uint32_t code) { return code == EXANET_TRACE_Mrecv || code == EXANET_TRACE_Imrecv; }
inline bool probes(std::uint32_t code) { return code >= EXANET_TRACE_Probe && code <= EXANET_TRACE_Improbe; }
inline bool claims(std::uint32_t code) { return code == EXANET_TRACE_Mprobe || code == EXANET_TRACE_Improbe; }
inline bool finds(std::uint32_t code) { return code == EXANET_TRACE_Probe || code == EXANET_TRACE_Mprobe; }
inline bool asks_for_requests(std::uint32_t code) {
  return code >= EXANET_TRACE_Wait && code <= EXANET_TRACE_Request_get_status;
}
inline bool tests(std::uint32_t code) {
  return (code >= EXANET_TRACE_Test && code <= EXANET_TRACE_Request_get_status) || code == EXANET_TRACE_Win_test;
}
inline bool takes_all(std::uint32_t code) {
  return code == EXANET_TRACE_Wait || code == EXANET_TRACE_Waitall || code == EXANET_TRACE_Testall;
}
inline RankId source_of(const exanet_live_message& m) { return m.peer == EXANET_LIVE_ANY ? kAnyRank : m.peer; }
inline std::uint64_t ignored_of(const exanet_live_message& m) { return m.tag == EXANET_LIVE_ANY ? 0xffffffffu : 0; }
inline bool is_of_tolerance(std::uint32_t code) { return code >= EXANET_LIVE_REVOKE && code <= EXANET_LIVE_CHECK; }
inline bool takes_one(std::uint32_t code) { return code == EXANET_TRACE_Waitany || code == EXANET_TRACE_Testany; }
inline bool exchanges(std::uint32_t code) {
  return code == EXANET_TRACE_Sendrecv || code == EXANET_TRACE_Sendrecv_replace || code == EXANET_LIVE_ISENDRECV;
}
inline bool is_message(std::uint32_t code) {
  return is_send(code) || code == EXANET_TRACE_Recv || code == EXANET_TRACE_Irecv || exchanges(code);
}

}  // namespace exanet
