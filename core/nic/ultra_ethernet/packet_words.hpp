// SPDX-License-Identifier: Apache-2.0
// What the headers of packets between ultra-ethernet interfaces say, in the word that a packet hands back.
#pragma once

#include <cstdint>

#include "core/network/network.hpp"

namespace exanet {

struct PacketWords {
  enum Kind : std::uint8_t { kData, kReport, kCredit };
  static constexpr std::uint32_t kMostContexts = 1u << 27;
  static constexpr unsigned kKindShift = 60, kContextShift = 32;
  static constexpr std::uint64_t kAsks = 1ull << 59;  // for an acknowledgement at once

  static std::uint64_t data(std::uint32_t context, std::uint32_t number, bool asks) {
    return std::uint64_t{context} << kContextShift | number | (asks ? kAsks : 0);
  }
  static std::uint64_t report(std::uint32_t id) { return std::uint64_t{kReport} << kKindShift | id; }
  static std::uint64_t credit() { return std::uint64_t{kCredit} << kKindShift; }

  static Kind kind(const Packet& p) { return static_cast<Kind>(p.user >> kKindShift); }
  static std::uint32_t context(const Packet& p) {
    return static_cast<std::uint32_t>(p.user >> kContextShift) & (kMostContexts - 1);
  }
  static std::uint32_t number(const Packet& p) { return static_cast<std::uint32_t>(p.user); }
  static std::uint32_t report(const Packet& p) { return static_cast<std::uint32_t>(p.user); }
  static bool asks(const Packet& p) { return (p.user & kAsks) != 0; }
};

}  // namespace exanet
