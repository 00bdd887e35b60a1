// SPDX-License-Identifier: Apache-2.0
// What has failed on the network, in words.
#pragma once

#include <string>

#include "core/protocol/host.hpp"

namespace exanet {

// "receive of 4096 bytes from rank 2 failed: a packet of it was lost, ..."; "" of a completion of which nothing has
// failed on the network.
std::string failure_of(const Completion& completion);

// As messages say it: "12.345 us".
std::string in_microseconds(Time time);

}  // namespace exanet
