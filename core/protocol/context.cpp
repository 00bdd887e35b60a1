// SPDX-License-Identifier: Apache-2.0
#include "core/protocol/context.hpp"

#include "core/nic/bridged/bridged_nic.hpp"
#include "core/nic/shared_memory/shared_memory_nic.hpp"
#include "core/nic/targets/memory_target.hpp"
#include "core/topology/bridged.hpp"

namespace exanet {

Context::Context(EventQueue& queue, const Topology& machine, const NetworkConfig& fabric, const NiConfig& ni,
                 std::vector<NodeId> nodes, Host& owner, NicListener& listener, const NicKind& kind,
                 const MakeNetwork& make)
    : events(queue),
      topology(machine),
      config(ni),
      router(fabric.router),
      host(owner),
      placement(std::move(nodes)),
      memory(placement.size()),
      open_reductions(machine.node_count()),
      tree_numbers(machine.node_count()),
      nic(with_shared_memory(make_interfaces(kind, {queue, machine, fabric, ni, listener, make}), queue, ni, listener,
                             machine.node_count())),
      known_deaths(placement.size()),
      processors(queue, placement.size(), zero_cost, known_deaths),
      matching(*this, placement.size()),
      peer_memory_(memory_kind("gpu-peer")),
      staged_memory_(memory_kind("gpu-staged")) {
  nic->set_zero_cost(zero_cost);
  const BridgedTopology* two = machine.bridged();
  if (two == nullptr) costs_.push_back({ni, fabric.router});
  for (std::size_t network = 0; two != nullptr && network < 2; ++network)
    costs_.push_back({ni.networks[network], fabric.networks[network].router});
  for (const NodeId node : placement) costs_of_.push_back(&costs_[two == nullptr ? 0 : two->network_of(node)]);
}

bool Context::copy(RankId from, std::uint64_t from_addr, RankId to, std::uint64_t to_addr, std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = 256 * 1024;  // fits the second-level cache: read and written back warm
  if (bounce_.empty()) bounce_.resize(kPiece);
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    const std::uint64_t n = std::min(kPiece, bytes - at);
    const auto piece = [at](std::uint64_t addr) { return addr == 0 ? 0 : addr + at; };  // 0: no contents
    if (!host.read(from, piece(from_addr), bounce_.data(), n) || !host.write(to, piece(to_addr), bounce_.data(), n))
      return false;
  }
  return true;
}

}  // namespace exanet
