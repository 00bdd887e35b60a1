// SPDX-License-Identifier: Apache-2.0
// A network of which packets come corrupted, twice or out of order to the interfaces that a plan of faults names.
//
// Problem: routers of the models carry each packet once and whole, and interfaces have to be shown what real fabrics do
// besides. Model: a layer between the interfaces and a network in one part. It draws the fate of each packet where it
// leaves its last router (core/faults/impairment.hpp). A corrupted packet is marked, as the last link's check does; or,
// where no interface checks, it is lost as corrupted. A copy comes at the same time, right behind the packet. A
// reordered packet comes after its delay. Limits: only interfaces that retransmit end to end drop copies and put
// packets into order, so others take corrupted packets alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/network/network.hpp"

namespace exanet {

// What interfaces do with packets that come wrong.
struct Checks {
  bool bits = false;  // drop what is marked, and retransmit
  bool order = false;  // the same, and drop copies, and put packets into order
};

class ImpairedNetwork final : public Network {
 public:
  ImpairedNetwork(EventQueue& events, const Topology& topology, const NetworkConfig& config, PacketSink sink,
                  const MakeNetwork& make, Checks checks);

  bool inject(const Packet& packet) override { return network_->inject(packet); }
  void stall(NodeId node, std::uint8_t port, Time until) override { network_->stall(node, port, until); }
  void give_back(NodeId node, std::uint8_t port, Time at) override { network_->give_back(node, port, at); }
  bool multicasts() const override { return network_->multicasts(); }
  bool keeps_order() const override { return !checks_.order && network_->keeps_order(); }
  bool may_lose() const override { return true; }
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override {
    return network_->link_stats(node, port);
  }
  Time asleep(NodeId node, std::uint16_t port, Time now) const override { return network_->asleep(node, port, now); }
  std::uint64_t packet_hops() const override { return network_->packet_hops(); }
  std::uint64_t discarded(NodeId node) const override { return network_->discarded(node); }
  std::uint64_t lost() const override { return network_->lost() + lost_; }
  std::uint64_t in_flight() const override { return network_->in_flight() + held_count_; }
  NodeBuses* buses() override { return network_->buses(); }
  std::uint64_t cycles() const override { return network_->cycles(); }

  void set_link(PortRef link, bool up, Time now) override { network_->set_link(link, up, now); }
  void set_loss(PortRef link, const LinkLoss& loss, Time now) override { network_->set_loss(link, loss, now); }
  void set_rate(PortRef link, std::uint32_t rate, Time now) override { network_->set_rate(link, rate, now); }
  void set_interface(NodeId endpoint, bool up, Time now) override { network_->set_interface(endpoint, up, now); }
  void before_routes_change() override { network_->before_routes_change(); }
  void set_impairment(NodeId endpoint, const Impairment& impairment, Time now) override;

 private:
  struct Held {
    Packet packet;
    Time injected;
    std::uint32_t next = 0;  // of those not in use
  };

  void arrived(const Packet& packet, Time injected, Time now);
  void corrupt(Packet packet, Time injected, Time now);

  EventQueue& events_;
  PacketSink sink_;
  const Checks checks_;
  std::unique_ptr<Network> network_;
  std::vector<ImpairedNode> nodes_;
  Pool<Held, &Held::next> held_;
  std::uint64_t held_count_ = 0, lost_ = 0;
  std::uint32_t on_held_ = 0;
};

}  // namespace exanet
