// SPDX-License-Identifier: Apache-2.0
// What has become of an operation on the network: each completion has one, from the interface over the protocols to the
// program.
#pragma once

#include <cstdint>

#include "core/faults/status_table.h"

namespace exanet {

#define EXANET_STATUS_NAME(name, number, fi, text) k##name,
enum class Status : std::uint8_t { EXANET_STATUSES(EXANET_STATUS_NAME) };
#undef EXANET_STATUS_NAME

// As the status of a completion record: 0, or a negative errno value.
constexpr std::int32_t completion_status(Status status) {
#define EXANET_STATUS_ERRNO(name, number, fi, text) -(number),
  constexpr std::int32_t values[] = {EXANET_STATUSES(EXANET_STATUS_ERRNO)};
#undef EXANET_STATUS_ERRNO
  return values[static_cast<std::uint8_t>(status)];
}

// What a completion record's status says has failed on the network; nullptr: nothing has, or nothing of the network.
constexpr const char* network_failure(std::int32_t status) {
  if (status == completion_status(Status::kMismatched)) return nullptr;  // the program has
#define EXANET_STATUS_TEXT(name, number, fi, text) \
  if (number != 0 && status == -(number)) return text;
  EXANET_STATUSES(EXANET_STATUS_TEXT)
#undef EXANET_STATUS_TEXT
  return nullptr;
}

}  // namespace exanet
