// SPDX-License-Identifier: Apache-2.0
// The words of a line, 64 bits wide or 128, and what each of them is: the framing of gateware/link/rtl/link_tx.sv,
// followed from outside.
#pragma once

#include <array>
#include <cstdint>

#include "core/spec/packet.hpp"

namespace exanet::gateware {

using NarrowWord = std::uint64_t;
using WideWord = std::array<std::uint64_t, 2>;  // lower half first

template <typename Word>
inline constexpr unsigned kLineBits = 8 * sizeof(Word);

inline std::uint64_t part(NarrowWord word, unsigned) { return word; }
inline std::uint64_t part(const WideWord& word, unsigned i) { return word[i]; }
inline void set_part(NarrowWord& word, unsigned, std::uint64_t value) { word = value; }
inline void set_part(WideWord& word, unsigned i, std::uint64_t value) { word[i] = value; }

template <typename Word>
void turn_bit(Word& word, std::uint64_t bit) {
  const auto i = static_cast<unsigned>(bit / 64);
  set_part(word, i, part(word, i) ^ std::uint64_t{1} << bit % 64);
}

enum LineWordKind : unsigned {
  kMagic = 1,
  kStart = 2,
  kCredit = 4,
  kHeader = 8,
  kPayload = 16,
  kFooter = 32,
  kAnyWord = 63
};

// Contract: sees every word that a sender offers, from reset on.
template <typename Word>
class Framing {
 public:
  static constexpr bool kWide = kLineBits<Word> == 128;

  // Kind of the next word. A wide control word is its Start or Credit; kMagic is a word that announces and is nothing
  // else.
  LineWordKind next(const Word& word) {
    if (!open_) return control(word);
    const bool escape = kWide ? part(word, 0) == spec::kMagicWord && part(word, 1) == spec::kMagicWord
                              : part(word, 0) == spec::kMagicWord;
    const LineWordKind kind = data_kind();
    if (escape && !magic_) {
      magic_ = true;
      return kWide ? kMagic : kind;
    }
    magic_ = false;
    for (unsigned i = 0; i < kLineBits<Word> / 64; ++i) data(part(word, i));
    return kind;
  }
  bool open() const { return open_; }  // in the middle of a packet
  bool announced() const { return magic_; }  // by Magic
  unsigned position() const { return at_; }  // 64-bit parts of the packet that are over
  const spec::Header& header() const { return header_; }  // of the last packet whose header is over

 private:
  LineWordKind control(const Word& word) {
    if (!kWide && !magic_) {
      magic_ = true;
      return kMagic;
    }
    magic_ = false;
    open_ = (part(word, kWide ? 1 : 0) & 3) == static_cast<unsigned>(spec::ControlKind::kStart);
    at_ = 0;
    return open_ ? kStart : kCredit;
  }
  LineWordKind data_kind() const { return at_ < 2 ? kHeader : at_ + 2 < end_ ? kPayload : kFooter; }
  void data(std::uint64_t half) {
    if (at_ < 2) {
      header_.raw[2 * at_] = static_cast<std::uint32_t>(half);
      header_.raw[2 * at_ + 1] = static_cast<std::uint32_t>(half >> 32);
    }
    if (++at_ == 2) end_ = 4 + 2 * ((static_cast<unsigned>(header_.length()) + 15) / 16);
    open_ = at_ < 2 || at_ != end_;
  }

  bool open_ = false, magic_ = false;
  unsigned at_ = 0, end_ = 0;
  spec::Header header_;
};

}  // namespace exanet::gateware
