// SPDX-License-Identifier: Apache-2.0
// What accumulates of live programs compute.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exanet {

// target = target op origin, for as many elements as fit so many bytes, by the numbers of live_call.h. Contract: the
// operation exists for the type; pointers need no alignment.
void live_combine(std::uint32_t operation, std::uint32_t type, std::byte* target, const std::byte* origin,
                  std::size_t bytes);

}  // namespace exanet
