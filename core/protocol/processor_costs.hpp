// SPDX-License-Identifier: Apache-2.0
// What steps of the message library cost a rank's processor, in one network of the machine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/network/config.hpp"
#include "core/nic/config.hpp"
#include "core/nic/targets/device_range.h"
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
  // It takes or puts a short message's bytes itself: from or into a GPU's memory it waits for that.
  Time device_read(std::uint64_t address, std::uint64_t bytes) const {
    return is_device(address) && bytes > 0 ? ni.gpu->read(bytes) : Time();
  }
  Time device_write(std::uint64_t address, std::uint64_t bytes) const {
    return is_device(address) && bytes > 0 ? ni.gpu->write(bytes) : Time();
  }

 private:
  bool is_device(std::uint64_t address) const { return ni.gpu.has_value() && exanet_is_device(address) != 0; }

  static constexpr std::uint64_t kDescriptorBytes = 64;  // of an RDMA descriptor
  static constexpr std::uint64_t kTransferBytes = 32;  // as gateware/ni takes it; the word of a fence is not counted
};

}  // namespace exanet
