// SPDX-License-Identifier: Apache-2.0
// The codes that protect packets, in software: extended Hamming for headers and link control words, CRC-32 of IEEE 802.3 for the rest.
//
// Same construction as the gateware's, written apart from its tables: data bit i has the i-th number that is neither 0 nor a power of two as its
// code word; check bit j is the parity of the data bits whose code word has bit j; the last check bit is the parity of everything.
#pragma once

#include <span>

#include "core/spec/packet.hpp"

namespace exanet::spec {

// Check bits for the lowest `data_bits` of `words`; `hamming_bits` is 7 for headers (120 bits), 6 for control words (57).
template <std::size_t N>
constexpr std::uint32_t extended_hamming(const std::array<std::uint32_t, N>& words, unsigned data_bits,
                                         unsigned hamming_bits) {
  std::uint32_t code = 0, parity = 0;
  for (unsigned i = 0, number = 3; i < data_bits; ++i, ++number) {
    while ((number & (number - 1)) == 0) ++number;
    if (words[i / 32] >> (i % 32) & 1u) {
      code ^= number;
      parity ^= 1;
    }
  }
  for (unsigned j = 0; j < hamming_bits; ++j) parity ^= code >> j & 1u;
  return code | parity << hamming_bits;
}

constexpr void protect(Header& header) { header.set_ecc(extended_hamming(header.raw, 120, 7)); }
constexpr bool intact(const Header& header) { return header.ecc() == extended_hamming(header.raw, 120, 7); }

constexpr std::uint32_t crc32(std::uint32_t state, std::uint32_t word) {
  state ^= word;
  for (int i = 0; i < 32; ++i) state = state >> 1 ^ (state & 1u ? 0xEDB88320u : 0u);
  return state;
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
