// SPDX-License-Identifier: Apache-2.0
// What steps of the message library cost a rank's processor, in one network of the machine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/network/config.hpp"
#include "core/nic/config.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct ProcessorCosts {
  NiConfig ni;
  RouterConfig router;

  // What it stores to the interface goes a router word at a time.
  Time store(std::uint64_t bytes) const { return ni.store_word * router.words(bytes); }
  Time receive_cpu() const { return ni.mailbox_read + ni.library_receive; }
  Time consume_cpu(std::uint64_t bytes) const {  // of a mailbox message
    const auto lines = static_cast<std::int64_t>((bytes + 63) / 64);
    return ni.mailbox_read * std::max<std::int64_t>(lines, 1) + ni.library_receive;
  }
  Time send_cpu() const { return ni.mpi_send + ni.library_send; }
  Time rdma_cpu() const {
    return ni.library_send + store(ni.transfers == NiConfig::Costs::kGateware ? kTransferBytes : kDescriptorBytes);
  }
  Time packet_cpu() const { return ni.library_send; }

 private:
  static constexpr std::uint64_t kDescriptorBytes = 64;  // of an RDMA descriptor
  static constexpr std::uint64_t kTransferBytes = 32;  // as gateware/ni takes it; the word of a fence is not counted
};

}  // namespace exanet
