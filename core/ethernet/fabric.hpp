// SPDX-License-Identifier: Apache-2.0
// Ethernet devices on the nodes of a machine: frames go in at one and come out at others, over the simulated network.
//
// Problem: a host's network stack gives and takes whole frames, the network carries packets. Model: an Ethernet device
// has a transmit ring of descriptors, a frame each, and a receive ring of buffers. It looks the destination up in a
// table of addresses (mac_table.hpp); a frame to a group, or to an address that nobody has, goes to each other device
// as a copy of its own. The node's interface sends a frame, with padding and check, as one transfer, which it cuts into
// packets; frames between two nodes arrive in order where the interface is ordered. A transmit descriptor is free when
// its frame has arrived or is lost; at the receiver, the host sees the frame when its descriptor is written, too. A
// frame that finds a ring full is dropped. The host takes what is in the receive ring at an interrupt: one comes with
// each frame, or, with moderation, a fixed time after the last one at the earliest.
//
// A device may be on no node: frames between such devices pass at once, which shows what the hosts alone take.
//
// Limits: nothing is sent again, there are no pause frames for a full receive ring, and devices take no time of their
// own beside the interface's and moderation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/ethernet/mac_table.hpp"
#include "core/protocol/engine.hpp"
#include "core/units/histogram.hpp"

namespace exanet {

struct EthernetConfig {
  std::vector<NodeId> nodes;  // of the devices; kNoNode: on none
  std::vector<MacAddress> addresses;  // that they have from the start, if not 0
  // Descriptors of a ring that Linux's drivers of such interfaces have by default (ixgbe: 512, mlx5: 1024).
  std::uint32_t transmit_ring = 1024, receive_ring = 1024;
  Time interrupt_interval;  // between interrupts of a device; 0: one comes with each frame
  Time completion;  // from a frame's last word in memory until the host sees its descriptor (`ni.dma_completion`)
};

template <typename V>
void visit(EthernetConfig& c, V&& v) {
  v("nodes", c.nodes);
  v("addresses", c.addresses);
  v("transmit_ring", c.transmit_ring);
  v("receive_ring", c.receive_ring);
  v("interrupt_interval_ps", c.interrupt_interval);
}

struct Frame {
  std::shared_ptr<const std::vector<std::byte>> bytes;  // that copies share
  std::uint32_t from = 0, to = 0;  // devices
  Time sent, arrived;  // handed to the device; whole in the receive ring
};

struct DeviceCounts {
  std::uint64_t sent = 0, sent_bytes = 0;  // that the host has handed over
  std::uint64_t received = 0, received_bytes = 0;  // that the host has taken
  std::uint64_t transmit_drops = 0, receive_drops = 0;  // for which a ring had no space, as often as they were copied
  std::uint64_t lost = 0;  // that the network has not brought, by sender
  std::uint64_t malformed = 0, unaddressed = 0;  // no frames; to nobody but who sent them
  std::uint64_t interrupts = 0;
};

struct PairCounts {
  std::uint64_t frames = 0, bytes = 0;
  Histogram latency;  // from the sender's host to the receiver's
  std::uint64_t latency_ps = 0, least_ps = ~std::uint64_t{0}, most_ps = 0;
};

// The hosts: take frames at the queue's present time.
class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  virtual void received(const Frame& frame, Time now) = 0;
};

class EthernetFabric final : private TransferListener {
 public:
  // All references outlive it. Throws ConfigError.
  EthernetFabric(EventQueue& events, MessageEngine& engine, std::uint32_t endpoints, EthernetConfig config,
                 FrameReceiver& hosts);
  ~EthernetFabric() override;
  EthernetFabric(const EthernetFabric&) = delete;
  EthernetFabric& operator=(const EthernetFabric&) = delete;

  // The host of `device` hands a frame over, at the queue's present time.
  void send(std::uint32_t device, std::vector<std::byte> bytes, Time now);

  std::uint32_t devices() const { return static_cast<std::uint32_t>(devices_.size()); }
  const DeviceCounts& counts(std::uint32_t device) const { return devices_[device].counts; }
  const PairCounts& pair(std::uint32_t from, std::uint32_t to) const { return pairs_[from * devices() + to]; }
  const MacTable& addresses() const { return addresses_; }

 private:
  struct Device {
    NodeId node = kNoNode;
    std::uint32_t transmitting = 0;  // descriptors in use
    std::deque<Frame> ring;  // received, and not yet taken
    Time next_interrupt;  // the earliest
    bool interrupts = false;  // one is to come
    DeviceCounts counts;
  };

  bool together(std::uint32_t a, std::uint32_t b) const {
    return (devices_[a].node == kNoNode) == (devices_[b].node == kNoNode);
  }
  void transmit(Frame frame, Time now);
  void visible(std::uint32_t transfer, Time now);
  void receive(Frame frame, Time now);
  void interrupt(std::uint32_t device, Time now);
  void arrived(std::uint32_t transfer, Status status, Time now) override;
  void acknowledged(std::uint32_t, Status, Time) override {}

  EventQueue& events_;
  MessageEngine& engine_;
  const EthernetConfig config_;
  FrameReceiver& hosts_;
  MacTable addresses_;
  std::vector<Device> devices_;
  std::vector<PairCounts> pairs_;  // [from][to]
  std::vector<Frame> transfers_;  // under way, by number
  std::vector<std::uint32_t> free_;
  std::uint32_t on_interrupt_ = 0, on_visible_ = 0;
};

}  // namespace exanet
