// SPDX-License-Identifier: Apache-2.0
// The codes that protect packets, in software: CRC-8 for headers, CRC-32 of IEEE 802.3 for the rest; by long division,
// apart from the gateware's masks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/spec/packet.hpp"

namespace exanet::spec {

// Remainder of bits 118:0, the highest first, behind which come eight zeros.
constexpr std::uint32_t header_crc8(const Header& header) {
  std::uint32_t state = 0;
  for (unsigned i = 119; i-- > 0;) {
    const std::uint32_t top = (state >> 7 ^ header.raw[i / 32] >> (i % 32)) & 1u;
    state = (state << 1 ^ top * 0x07u) & 0xffu;
  }
  return state;
}

constexpr void protect(Header& header) { header.set_ecc(header_crc8(header)); }
constexpr bool intact(const Header& header) { return header.ecc() == header_crc8(header) && header.reserved() == 0; }

// Remainders of all bytes, each by long division; table i is of bytes that i others follow.
inline constexpr auto kCrc32 = [] {
  std::array<std::array<std::uint32_t, 256>, 4> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (auto& of_byte : table) {
      for (int i = 0; i < 8; ++i) state = state >> 1 ^ (state & 1u ? 0xEDB88320u : 0u);
      of_byte[byte] = state;
    }
  }
  return table;
}();

constexpr std::uint32_t crc32(std::uint32_t state, std::uint32_t word) {
  state ^= word;
  return kCrc32[3][state & 0xffu] ^ kCrc32[2][state >> 8 & 0xffu] ^ kCrc32[1][state >> 16 & 0xffu] ^
         kCrc32[0][state >> 24];
}

// CRC of header, padded payload and footer, as the footer carries it. What routers and links write counts as zero.
constexpr std::uint32_t packet_crc(Header header, std::span<const std::array<std::uint32_t, 4>> payload,
                                   Footer footer) {
  header.set_vc(0);
  header.set_ecc(0);
  footer.set_crc32(0);
  footer.set_error(0);
  std::uint32_t state = 0xFFFFFFFFu;
  for (const std::uint32_t part : header.raw) state = crc32(state, part);
  for (const auto& word : payload)
    for (const std::uint32_t part : word) state = crc32(state, part);
  for (const std::uint32_t part : footer.raw) state = crc32(state, part);
  return ~state;
}

}  // namespace exanet::spec
