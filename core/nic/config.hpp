// SPDX-License-Identifier: Apache-2.0
// What a network interface costs. Every figure comes from the machine file, which names its source.
#pragma once

#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

struct NiConfig {
  std::uint32_t packet_max_bytes = 64;   // packetizer: largest atomic message
  std::uint32_t eager_max_bytes = 32;    // MPI payload that fits beside its envelope
  std::uint32_t envelope_bytes = 32;     // matching information and protocol word of an MPI message
  Time library_send, library_receive;    // user-space library, CPU
  Time mpi_send, mpi_receive;            // MPI software above it, CPU
  Time store_word;                       // CPU stores one 128-bit word to the interface
  Time packetizer;                       // last store to packet offered to the router
  Time mailbox, mailbox_word;            // packet's tail to message visible: fixed part, and per 128-bit word into the shared cache
  Time mailbox_read;                     // CPU reads one 64-byte line of the mailbox
  Time dma_start;                        // descriptor in the engine to first memory access
  Time dma_completion;                   // last word written to completion visible to the CPU
  Time memory_read, memory_write;        // first word out of memory; last word into it
  Time translation;                      // SMMU, per transfer
  Time atomic;                           // one read-modify-write at the target
  Time test_step;                        // an empty poll inside MPI_Test
  Time clock;                            // packets go to the router at multiples of this; 0: whenever they are ready
  std::uint32_t dma_block_bytes = 4096;  // acknowledged end to end
  std::uint32_t dma_window_blocks = 16;  // sent and not yet acknowledged, per transfer
};

}  // namespace exanet
