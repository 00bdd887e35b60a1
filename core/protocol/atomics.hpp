// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one-sided atomics; which exist is in atomic_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exanet {

// target[i] = op(target[i], operand[i] [, compare[i]]) for count elements; the old values go to `old` if it is not
// null. Contract: exanet_op_valid(); pointers need no alignment; `operand` may be null for a read.
void atomic_apply(int op, int type, std::size_t count, std::byte* target, const std::byte* operand,
                  const std::byte* compare, std::byte* old);

}  // namespace exanet
