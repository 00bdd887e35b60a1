// SPDX-License-Identifier: Apache-2.0
// The collectives of a trace, by the codes of their calls (trace_format.h).
#pragma once

#include <cstdint>

#include "core/collectives/selection.hpp"
#include "core/replay/trace_format.h"

namespace exanet {

struct CollectiveCode {
  std::uint8_t code;  // of the blocking call
  Collective collective;
};
inline constexpr CollectiveCode kCollectiveCodes[] = {
    {EXANET_TRACE_Barrier, Collective::barrier},
    {EXANET_TRACE_Bcast, Collective::bcast},
    {EXANET_TRACE_Gather, Collective::gather},
    {EXANET_TRACE_Gatherv, Collective::gatherv},
    {EXANET_TRACE_Scatter, Collective::scatter},
    {EXANET_TRACE_Scatterv, Collective::scatterv},
    {EXANET_TRACE_Allgather, Collective::allgather},
    {EXANET_TRACE_Allgatherv, Collective::allgatherv},
    {EXANET_TRACE_Alltoall, Collective::alltoall},
    {EXANET_TRACE_Alltoallv, Collective::alltoallv},
    {EXANET_TRACE_Alltoallw, Collective::alltoallw},
    {EXANET_TRACE_Reduce, Collective::reduce},
    {EXANET_TRACE_Allreduce, Collective::allreduce},
    {EXANET_TRACE_Reduce_scatter, Collective::reduce_scatter},
    {EXANET_TRACE_Reduce_scatter_block, Collective::reduce_scatter_block},
    {EXANET_TRACE_Scan, Collective::scan},
    {EXANET_TRACE_Exscan, Collective::exscan},
};

// `code`: of the call, nonblocking or not. Contract: it is a collective's.
CollectiveOperation collective_operation(std::uint8_t code);

}  // namespace exanet
