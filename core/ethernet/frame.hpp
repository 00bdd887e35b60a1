// SPDX-License-Identifier: Apache-2.0
// What a network interface reads of an Ethernet frame: its addresses (IEEE 802.3, clause 3).
//
// Contract: a frame is what Linux gives a TAP interface: from the destination's address to the payload's last byte,
// without preamble and frame check. Tags of VLANs and what is behind them are payload here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace exanet {

using MacAddress = std::uint64_t;  // 48 bits, the first byte on the line the highest; 0: none

inline constexpr std::size_t kFrameHeader = 14;
inline constexpr std::uint32_t kLeastFrame = 60, kFrameCheck = 4;  // a shorter frame is padded on the line
inline constexpr std::uint32_t kMostFrame = 65'535;  // that Linux's TAP interfaces pass on

struct FrameHead {
  MacAddress destination, source;
};

// The least significant bit of the first byte.
constexpr bool is_group(MacAddress address) { return (address >> 40 & 1) != 0; }

// Nothing of what no interface takes: no whole header, or a group as its source.
inline std::optional<FrameHead> frame_head(std::span<const std::byte> frame) {
  if (frame.size() < kFrameHeader || frame.size() > kMostFrame) return std::nullopt;
  const auto address = [&](std::size_t at) {
    MacAddress found = 0;
    for (const std::byte byte : frame.subspan(at, 6)) found = found << 8 | static_cast<std::uint8_t>(byte);
    return found;
  };
  const FrameHead head{address(0), address(6)};
  if (is_group(head.source) || head.source == 0) return std::nullopt;
  return head;
}

// With padding and frame check: what the simulated network carries.
constexpr std::uint32_t carried_bytes(std::size_t frame) {
  return std::max(static_cast<std::uint32_t>(frame), kLeastFrame) + kFrameCheck;
}

}  // namespace exanet
