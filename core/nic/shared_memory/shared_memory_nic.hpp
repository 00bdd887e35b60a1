// SPDX-License-Identifier: Apache-2.0
// Ranks of a node that reach each other through its memory, beside the interface that all others use.
//
// Problem: MPI libraries copy between the processes of a node, and send nothing through the interface. A machine whose
// interface loops such messages back needs none of this, and is the default.
//
// Model: what has one node as source and destination never reaches the interface within. A message or a read request is
// visible after `shared_memory_latency`; data take the time of their bytes at `shared_memory_rate` before. The process
// that data come from copies them, one transfer after the other. Whoever asked for an acknowledgement sees at the same
// time that they are there. Messages of a node arrive in the order in which they were posted, and so do the transfers
// of a process. In a zero-cost phase they take no time.
//
// Limits: copies of different processes do not share a rate, so memory never saturates. The processor's times, its
// stores of envelopes and `packetizer` remain as for any other message. Reductions, and messages to several nodes, are
// the interface's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/nic/nic.hpp"

namespace exanet {

// `inner` itself where the configuration has no `shared_memory_rate`. Throws ConfigError on a latency without one.
std::unique_ptr<Nic> with_shared_memory(std::unique_ptr<Nic> inner, EventQueue& events, const NiConfig& config,
                                        NicListener& listener, std::size_t nodes);

}  // namespace exanet
