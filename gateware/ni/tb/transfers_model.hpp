// SPDX-License-Identifier: Apache-2.0
// Runs a case on the model of the network interfaces: it is given each store in the cycle in which the bus has taken
// it.
//
// The network is the model of the router, whose packets are damaged, lost, doubled or late where those of the Verilated
// nodes are.
#pragma once

#include "gateware/ni/tb/disordered_network.hpp"
#include "gateware/ni/tb/transfers_case.hpp"

namespace exanet::gateware::transfers_equality {

class Model {
 public:
  Model(const Case& c, const std::vector<StoreOp>& ops, const Kernel& kernel, std::uint64_t end)
      : case_(c),
        ops_(ops),
        topology_(topology_of(c.nodes, c.square)),
        interfaces_{{kCycle,
                     {events_, kCycle, c.nodes},
                     {events_, messages_config(), c.nodes, this,
                      [](void* self, NodeId node, std::uint32_t slot, std::uint64_t, MessageAnswer answer, Cycle at) {
                        static_cast<Model*>(self)->add(
                            {static_cast<std::uint64_t>(at), 'a', node, slot, static_cast<std::uint64_t>(answer)});
                      }},
                     {events_, messages_config(), c.nodes, this,
                      [](void* self, const StoredMessage& m) { static_cast<Model*>(self)->stored(m); }}},
                    {events_, config(), c.nodes, this,
                     [](void* self, NodeId node, std::uint64_t user, TransferEnding ending, Cycle at) {
                       static_cast<Model*>(self)->ended(node, user, ending, at);
                     }},
                    {events_, config(), c.nodes, this,
                     [](void* self, const WrittenPacket& packet) { static_cast<Model*>(self)->written(packet); }}} {
    attach_network();
    for (NodeId n = 0; n < c.nodes; ++n) interfaces_.messages.receiver.open(n, 0, kDomain, 1u << kLogEntries);
    schedule_tables(kernel);
    schedule_stores();
    events_.run_until(kCycle * static_cast<std::int64_t>(end));
    collect();
  }

  Result result;

 private:
  void attach_network() {
    NetworkConfig fabric = fabric_of(kCycle, case_.line_cycles, 3);
    fabric.router = router_with_transfers(fabric.router);
    PacketSink sink{this,
                    [](void* self, const exanet::Packet& packet, Time injected, Time tail) {
                      Model& model = *static_cast<Model*>(self);
                      add_packet(model.result.happenings, packet, injected, tail);
                      exanet::Packet came = packet;
                      std::size_t& number = model.came_[packet.dst][packet.intra_port];
                      if (model.case_.damages(packet.dst, packet.intra_port, number++)) came.marked = 1;
                      model.interfaces_.delivered(came, tail);
                    },
                    [](void* self, NodeId node, std::uint8_t port, std::uint8_t, Time) {
                      static_cast<Model*>(self)->interfaces_.ready(node, port);
                    }};
    sink.gives_back = Interfaces::kGivesBack;
    if (case_.disorder.any()) {
      sink.delivered = [](void* self, const exanet::Packet& packet, Time, Time tail) {
        static_cast<Model*>(self)->interfaces_.delivered(packet, tail);
      };
      auto disordered = std::make_unique<DisorderedNetwork>(events_, kCycle, case_.disorder, case_.nodes, sink);
      disordered->attach(
          make_network(events_, *topology_, fabric,
                       disordered->sink([](void* self, const exanet::Packet& packet, Time injected, Time tail) {
                         add_packet(static_cast<Model*>(self)->result.happenings, packet, injected, tail);
                       })));
      network_ = std::move(disordered);
    } else {
      network_ = make_network(events_, *topology_, fabric, sink);
    }
    interfaces_.attach(*network_);
  }
  // What the kernel has written to its tables, when it did.
  void schedule_tables(const Kernel& kernel) {
    Pages& pages = interfaces_.transfers.pages();
    for (const auto& [at, root] : kernel.roots)
      pages.set_root(static_cast<NodeId>(at.first), static_cast<std::uint16_t>(at.second), root);
    pages.read_tables({this, [](void* self, NodeId node, std::uint64_t address) {
                         return static_cast<Model*>(self)->tables_[{node, address}];
                       }});
    const std::uint32_t on_write = events_.add_handler(
        [](void* self, Time, std::uint32_t i, std::uint64_t) {
          Model& model = *static_cast<Model*>(self);
          const TableWrite& write = (*model.writes_)[i];
          model.tables_[{static_cast<NodeId>(write.node), write.address}] = write.entry;
        },
        this);
    writes_ = &kernel.writes;
    for (std::uint32_t i = 0; i < kernel.writes.size(); ++i)
      events_.schedule(kCycle * static_cast<std::int64_t>(kernel.writes[i].cycle), on_write, i);
  }
  // A store is at the interface in the cycle behind that in which the bus took it.
  void schedule_stores() {
    const std::uint32_t on_store = events_.add_handler(
        [](void* self, Time, std::uint32_t i, std::uint64_t) {
          Model& model = *static_cast<Model*>(self);
          const StoreOp& op = model.ops_[i];
          if (op.kind == StoreOp::kInvalidation)
            model.interfaces_.transfers.pages().invalidate(static_cast<NodeId>(op.node));
          else if (op.kind == StoreOp::kContext)
            return;  // each store says whose it is
          else if (op.kind == StoreOp::kMessage)
            model.interfaces_.messages.sender.store(static_cast<NodeId>(op.node), op.context, op.message);
          else
            model.interfaces_.transfers.store(static_cast<NodeId>(op.node), op.transfer);
        },
        this);
    for (std::uint32_t i = 0; i < ops_.size(); ++i)
      events_.schedule(kCycle * static_cast<std::int64_t>(ops_[i].taken + 1), on_store, i);
  }
  void collect() {
    std::sort(result.happenings.begin(), result.happenings.end());
    const TransferSender& sender = interfaces_.transfers;
    const BlockReceiver& blocks = interfaces_.blocks;
    result.counts = {sender.packets(),
                     sender.ended(),
                     sender.repeated(),
                     sender.unexpected_acks(),
                     blocks.written(),
                     blocks.repeated(),
                     blocks.dropped(),
                     blocks.answered(),
                     interfaces_.messages.sender.sent(),
                     interfaces_.messages.receiver.stored(),
                     interfaces_.transfers.pages().walks(),
                     interfaces_.transfers.pages().faults(),
                     interfaces_.transfers.pages().invalidations()};
  }
  TransfersConfig config() const {
    TransfersConfig config;
    config.cycle = kCycle;
    config.channels = kChannels;
    config.timeout = case_.timeout;
    config.tries = case_.tries;
    config.kept_channels = case_.kept;
    config.read_timeout = case_.read_timeout;
    config.begins = kClearTransfers;
    config.translate = case_.translate;
    config.fault_tries = case_.fault_tries;
    config.memory_read = config.memory_answer = case_.memory_cycles;
    return config;
  }
  MessagesConfig messages_config() const {
    MessagesConfig config;
    config.cycle = kCycle;
    config.contexts = kContexts;
    config.tries = case_.tries;
    config.timeout = 8;
    config.begins = kClear;
    config.memory_answer = case_.memory_cycles;
    return config;
  }
  void add(const Happening& h) { result.happenings.push_back(h); }
  std::uint32_t address(NodeId node) const { return case_.square ? dcid(node % 2, node / 2) : dcid(node, 0); }
  void stored(const StoredMessage& m) {
    add({static_cast<std::uint64_t>(m.at), 's', m.node, m.place % (1u << kLogEntries),
         std::uint64_t{address(m.src)} << 40 | m.word.number});
  }
  void written(const WrittenPacket& packet) {
    std::uint64_t target = interfaces_.transfers.target(packet.src, packet.node, packet.word);
    if (case_.translate) target = packet.frame << 12 | target % kPage;
    add({static_cast<std::uint64_t>(packet.at), 'w', packet.node, (target + packet.bytes - 1) / 16 * 16, 0});
  }
  void ended(NodeId node, std::uint64_t token, TransferEnding ending, Cycle at) {
    const auto op = std::find_if(ops_.begin(), ops_.end(), [&](const StoreOp& o) {
      return o.kind == StoreOp::kTransfer && o.transfer.user == token;
    });
    if (!op->transfer.notify) return;
    std::uint64_t word = kEnds + 8 * token;
    if (case_.translate) {
      const Pages& pages = interfaces_.transfers.pages();
      if (pages.fault(node, Pages::kEnd) != TransferEnding::kWhole) return;  // it is not written
      word = pages.frame(node, Pages::kEnd) << 12 | word % kPage;
    }
    add({static_cast<std::uint64_t>(at), 'w', node, word / 16 * 16, token << 8 | static_cast<std::uint64_t>(ending)});
  }

  Case case_;
  const std::vector<StoreOp>& ops_;
  EventQueue events_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Network> network_;
  Interfaces interfaces_;
  std::map<std::pair<NodeId, std::uint64_t>, std::uint64_t> tables_;
  const std::vector<TableWrite>* writes_ = nullptr;
  std::map<NodeId, std::array<std::size_t, 3>> came_;  // packets at each port
};

}  // namespace exanet::gateware::transfers_equality
