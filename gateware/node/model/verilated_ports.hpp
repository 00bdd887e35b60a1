// SPDX-License-Identifier: Apache-2.0
// Ports of a Verilated node as this project's types, whatever the node's parameters are.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "gateware/node/model/framing.hpp"
#include "verilated.h"

namespace exanet::gateware {

inline NarrowWord line_word(QData port) { return port; }
inline WideWord line_word(const VlWide<4>& port) {
  return {port[0] | std::uint64_t{port[1]} << 32, port[2] | std::uint64_t{port[3]} << 32};
}
inline void drive_word(QData& port, NarrowWord word) { port = word; }
inline void drive_word(VlWide<4>& port, const WideWord& word) {
  for (unsigned i = 0; i < 4; ++i) port[i] = static_cast<EData>(word[i / 2] >> 32 * (i % 2));
}

// A bit for each port, in a type that depends on how many there are.
template <typename Bits>
void drive_ports(Bits& port, unsigned bits) {
  port = static_cast<Bits>(bits);
}

template <typename T, std::size_t N>
constexpr std::size_t length_of(const VlUnpacked<T, N>*) {
  return N;
}

// Of Verilator's class of a node.
template <typename Model>
struct NodeShape {
  static constexpr unsigned kInter =
      length_of(static_cast<std::remove_reference_t<decltype(Model::tx_data_o)>*>(nullptr));
  static constexpr unsigned kIntra = length_of(static_cast<std::remove_reference_t<decltype(Model::flit_o)>*>(nullptr));
  using Word = decltype(line_word(std::declval<Model&>().tx_data_o[0]));
};

}  // namespace exanet::gateware
