// SPDX-License-Identifier: Apache-2.0
// Two networks as one, for whoever asks what links have carried: the link between a gateway's endpoints is its
// processor.
#pragma once

#include <array>
#include <memory>

#include "core/network/network.hpp"
#include "core/nic/bridged/gateways.hpp"
#include "core/nic/nic.hpp"
#include "core/topology/bridged.hpp"

namespace exanet {

class BridgedNetwork final : public Network {
 public:
  BridgedNetwork(const BridgedTopology& topology, const std::array<std::unique_ptr<Nic>, 2>& nics,
                 const Gateways& gateways)
      : topology_(topology), nics_(nics), gateways_(gateways) {}

  bool inject(const Packet& packet) override;  // contract: never called
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override;
  Time asleep(NodeId node, std::uint16_t port, Time now) const override;
  std::uint64_t packet_hops() const override { return of(0).packet_hops() + of(1).packet_hops(); }
  std::uint64_t discarded(NodeId node) const override;
  std::uint64_t lost() const override { return of(0).lost() + of(1).lost(); }
  std::uint64_t in_flight() const override { return of(0).in_flight() + of(1).in_flight(); }
  void set_link(PortRef link, bool up, Time now) override;

 private:
  const Network& of(std::uint32_t network) const { return nics_[network]->network(); }

  const BridgedTopology& topology_;
  const std::array<std::unique_ptr<Nic>, 2>& nics_;
  const Gateways& gateways_;
};

}  // namespace exanet
