// SPDX-License-Identifier: Apache-2.0
// Runs interfaces by their models alone on stores and mailboxes of a test, and records what is seen at their ports, for
// the comparison with the gateware. Limits: interface_run.hpp.
#include "core/nic/transfers/interface_run.hpp"

#include <algorithm>
#include <memory>

#include "core/network/network.hpp"
#include "core/nic/messages/fabric.hpp"
#include "core/nic/transfers/interfaces.hpp"

namespace exanet {

namespace {

class Run {
 public:
  Run(const InterfaceRunConfig& config, const std::vector<HandedOver>& operations)
      : config_(config),
        operations_(operations),
        cycle_(config.messages.cycle),
        topology_(topology_of(config.nodes, false)),
        interfaces_{{cycle_,
                     {events_, cycle_, config.nodes},
                     {events_, config.messages, config.nodes, this,
                      [](void* self, NodeId node, std::uint32_t slot, std::uint64_t, MessageAnswer, Cycle at) {
                        static_cast<Run*>(self)->add(at, PortEvent::What::kSlot, node, slot);
                      }},
                     {events_, config.messages, config.nodes, this,
                      [](void* self, const StoredMessage& stored) {
                        static_cast<Run*>(self)->add(stored.at, PortEvent::What::kEntry, stored.node);
                      }}},
                    {events_, config.transfers, config.nodes, this,
                     [](void* self, NodeId node, std::uint64_t user, TransferEnding, Cycle at) {
                       Run& run = *static_cast<Run*>(self);
                       if (run.operations_[user].transfer.notify) run.add(at, PortEvent::What::kWrite, node);
                     }},
                    {events_, config.transfers, config.nodes, this, [](void* self, const WrittenPacket& written) {
                       static_cast<Run*>(self)->add(written.at, PortEvent::What::kWrite, written.node);
                     }}} {
    PacketSink sink{
        this,
        [](void* self, const Packet& packet, Time injected, Time tail) {
          Run& run = *static_cast<Run*>(self);
          run.add(cycle_of(injected, run.cycle_), PortEvent::What::kHeaderIn, packet.src, packet.intra_port);
          run.add(cycle_of(tail, run.cycle_) - 1, PortEvent::What::kFooterOut, packet.dst, packet.intra_port);
          run.interfaces_.delivered(packet, tail);
        },
        [](void* self, NodeId node, std::uint8_t port, std::uint8_t, Time) {
          static_cast<Run*>(self)->interfaces_.ready(node, port);
        }};
    sink.gives_back = Interfaces::kGivesBack;
    NetworkConfig fabric = fabric_of(cycle_, config.line_cycles, 3);
    fabric.router = router_with_transfers(fabric.router);
    network_ = make_network(events_, *topology_, fabric, sink);
    interfaces_.attach(*network_);
    Pages& pages = interfaces_.transfers.pages();
    pages.read_tables({this, [](void* self, NodeId node, std::uint64_t address) {
                         const auto& tables = static_cast<Run*>(self)->config_.tables;
                         const auto found = tables.find({node, address});
                         return found == tables.end() ? 0 : found->second;
                       }});
    for (NodeId node = 0; node < config.nodes; ++node) {
      interfaces_.messages.receiver.open(node, config.mailbox, config.domain, config.entries);
      if (config.transfers.translate) pages.set_root(node, static_cast<std::uint16_t>(config.domain), config.root);
    }
    const std::uint32_t on_store = events_.add_handler(
        [](void* self, Time, std::uint32_t i, std::uint64_t) { static_cast<Run*>(self)->hand_over(i); }, this);
    // A store is at the interface in the cycle behind that in which the bus took it.
    for (std::uint32_t i = 0; i < operations.size(); ++i)
      events_.schedule(time_of(operations[i].cycle + 1, cycle_), on_store, i);
  }

  std::vector<PortEvent> until(Cycle end) {
    events_.run_until(time_of(end, cycle_));
    std::erase_if(found_, [end](const PortEvent& event) { return event.cycle >= end; });
    std::stable_sort(found_.begin(), found_.end(),
                     [](const PortEvent& a, const PortEvent& b) { return a.cycle < b.cycle; });
    return std::move(found_);
  }

 private:
  void add(Cycle cycle, PortEvent::What what, NodeId node, std::uint32_t place = 0) {
    found_.push_back({cycle, what, node, place});
  }
  void hand_over(std::uint32_t i) {
    const HandedOver& operation = operations_[i];
    if (operation.is_message) {
      interfaces_.messages.sender.store(operation.node, operation.context, operation.message);
      return;
    }
    TransferStore transfer = operation.transfer;
    transfer.user = i;
    interfaces_.transfers.store(operation.node, transfer);
  }

  const InterfaceRunConfig& config_;
  const std::vector<HandedOver>& operations_;
  Time cycle_;
  EventQueue events_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Network> network_;
  Interfaces interfaces_;
  std::vector<PortEvent> found_;
};

}  // namespace

std::vector<PortEvent> run_interfaces(const InterfaceRunConfig& config, const std::vector<HandedOver>& operations,
                                      Cycle end) {
  return Run(config, operations).until(end);
}

}  // namespace exanet
