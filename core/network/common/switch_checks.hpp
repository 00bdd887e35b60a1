// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/network/config.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// Words of a packet of the largest size, header and footer included.
std::int64_t most_packet_words(const RouterConfig& router);

// Checks what every input-queued switch needs, whatever its switching. Throws ConfigError, saying what to do.
void check_input_queued(const NetworkConfig& config, const Topology& topology);

// Refuses what looks at queues on several threads. Throws ConfigError.
void require_one_thread_if(bool looks, std::size_t threads, const char* who);

}  // namespace exanet
