// SPDX-License-Identifier: Apache-2.0
// Which Ethernet device has which address: given, or learned from the sources of frames.
//
// Model: as in a bridge (IEEE 802.1Q, clause 8.8), a learned address moves to the device that last sent from it; a
// given one stays. Limits: learned addresses do not age; a full table learns no more, and frames to others go to all
// devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/ethernet/frame.hpp"

namespace exanet {

class MacTable {
 public:
  static constexpr std::size_t kEntries = 1024;  // as Linux's gc_thresh3 for neighbours

  void fix(MacAddress address, std::uint32_t device) { devices_[address] = {device, true}; }

  void learn(MacAddress address, std::uint32_t device) {
    const auto found = devices_.find(address);
    if (found != devices_.end()) {
      if (!found->second.fixed) found->second.device = device;
    } else if (devices_.size() < kEntries) {
      devices_.emplace(address, Entry{device, false});
    }
  }

  std::optional<std::uint32_t> find(MacAddress address) const {
    const auto found = devices_.find(address);
    if (found == devices_.end()) return std::nullopt;
    return found->second.device;
  }

  std::size_t size() const { return devices_.size(); }

 private:
  struct Entry {
    std::uint32_t device;
    bool fixed;
  };
  std::unordered_map<MacAddress, Entry> devices_;
};

}  // namespace exanet
