// SPDX-License-Identifier: Apache-2.0
// Puts the ExaNet interface together: which engines the configuration asks for, which of them a descriptor or packet
// belongs to, and, with several rails, which of a node's interfaces. Rejects figures that it cannot be built with.
// Model and limits: exanet_nic.hpp and the engines.
#include "core/nic/exanet/exanet_nic.hpp"

#include "core/config/error.hpp"
#include "core/network/impaired_network.hpp"
#include "core/network/model.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/timing.hpp"
#include "core/network/vc_allocation.hpp"
#include "core/network/zero_load.hpp"
#include "core/nic/pacing/pacing.hpp"
#include "core/nic/rail_policy.hpp"
#include "core/nic/transfers/interfaces.hpp"
#include "core/spec/packet.hpp"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

// What the gateware does in cycles of its own has no figure beside them.
void require_none(Time figure, const std::string& key, const char* part) {
  require(figure == Time(), "ni." + key + "_ps",
          key + " must be 0 with '" + part + ": gateware', which takes the gateware's cycles");
}

// The gateware's ports towards the router take a word of a packet each cycle, its header and footer being one each
// (ni_inject.sv, ni_eject.sv). Links have words of any width: each converts the router's to those of its line.
void require_its_words(const RouterConfig& router) {
  require(router.word_bits == spec::kWordBits, "router.word_bits",
          "word must be 128 bit with 'messages: gateware', whose interface has words of that width");
  require(router.header_words == 1, "router.header_words",
          "header must be 1 word with 'messages: gateware', whose packets have one");
  require(router.footer_words == 1, "router.footer_words",
          "footer must be 1 word with 'messages: gateware', whose packets have one");
}

// What the gateware has where the file takes its costs, and constants that then say nothing.
void check_gateware(const NiConfig& ni, const RouterConfig& router) {
  if (ni.messages == NiConfig::Costs::kGateware) {
    require_its_words(router);
    require(ni.packet_max_bytes <= 64, "ni.packet_max_bytes",
            "packet_max must be at most 64 B with 'messages: gateware'");
    require_none(ni.packetizer, "packetizer", "messages");
    require_none(ni.mailbox_word, "mailbox_word", "messages");
  }
  if (ni.transfers == NiConfig::Costs::kGateware) {
    require(ni.messages == NiConfig::Costs::kGateware, "ni.transfers",
            "'transfers: gateware' needs 'messages: gateware': both share a port for their answers");
    require_none(ni.dma_start, "dma_start", "transfers");
    require_none(ni.dma_completion, "dma_completion", "transfers");
    require_none(ni.translation, "translation", "transfers");
    require(ni.dma_block_bytes == 4096, "ni.dma_block_bytes", "dma_block must be 4 KiB with 'transfers: gateware'");
    require(router.intra_ports >= 3, "router.intra_ports",
            "intra_ports must be at least 3 with 'transfers: gateware': for messages, answers and transfers");
    require(router.max_payload_bytes >= 512, "router.max_payload_bytes",
            "max_payload must be at least 512 B with 'transfers: gateware', whose packets have that");
  }
  if (ni.reductions == NiConfig::Costs::kGateware) {
    require(ni.transfers == NiConfig::Costs::kGateware, "ni.reductions",
            "'reductions: gateware' needs 'transfers: gateware': reductions use the port after those of transfers");
    require_none(ni.reduction, "reduction", "reductions");
    require_none(ni.reduction_word, "reduction_word", "reductions");
    require(ni.reduction_trees <= kReductionTrees, "ni.reduction_trees",
            "reduction_trees must be at most 16 with 'reductions: gateware'");
    require(router.intra_ports > kReductionPort, "router.intra_ports",
            "intra_ports must be at least 4 with 'reductions: gateware'");
  }
}

void check_congestion_control(const NiConfig& ni, const RouterConfig& router) {
  const PacingKind& pacing = pacing_kind(ni.congestion_control);
  if (pacing.make == nullptr) return;
  require(ni.transfers == NiConfig::Costs::kTimes, "ni.congestion_control",
          "congestion_control is '" + ni.congestion_control +
              "': transfers with 'transfers: gateware' have no rate control; say none");
  require_its_action(pacing, router.queue_action);
  PacingSetup setup = pacing.samples.front();  // its maker rejects its own constants
  setup.parameters = ni.pacing;
  if (pacing.blocks || router.hpcc_round_trip > Time()) setup.round_trip = router.hpcc_round_trip;
  pacing.make(setup, 0);
}

}  // namespace

NiConfig checked(const NiConfig& ni, const RouterConfig& router) {
  require(router.intra_ports >= 2, "router.intra_ports",
          "intra_ports must be at least 2: one for mailboxes and one for RDMA");
  require(std::int64_t{ni.packet_max_bytes} <= router.max_payload_bytes, "ni.packet_max_bytes",
          "packet_max is more than the router's max_payload");
  require(std::int64_t{ni.envelope_bytes} + ni.eager_max_bytes <= router.max_payload_bytes, "ni.eager_max_bytes",
          "envelope and eager_max together are more than the router's max_payload: an eager message is one packet");
  require(router.max_payload_bytes > 0, "router.max_payload_bytes", "max_payload must not be 0");
  require(ni.dma_block_bytes > 0, "ni.dma_block_bytes", "dma_block must not be 0");
  require(ni.dma_window_blocks > 0, "ni.dma_window_blocks", "dma_window must be at least one block");
  check_gateware(ni, router);
  if (ni.pages_bytes != 0) {
    require(MappedTables::has(ni.pages_bytes), "ni.pages_bytes", "pages must be 4 KiB, 64 KiB or 2 MiB");
    require(ni.transfers == NiConfig::Costs::kGateware, "ni.pages_bytes",
            "pages need 'transfers: gateware': without it, 'translation' gives the time of an address translation");
  }
  if (ni.reliability == NiConfig::Reliability::kEndToEnd) {
    require(ni.messages == NiConfig::Costs::kTimes, "ni.reliability",
            "'reliability: end-to-end' is of interfaces of times: with 'messages: gateware' interfaces retransmit in "
            "their own cycles; say none");
    require(ni.retransmission_timeout > Time(), "ni.retransmission_timeout_ps", "the timeout must be above 0");
    require(ni.retransmission_tries >= 1 && ni.retransmission_tries <= 15, "ni.retransmission_tries",
            "retransmission_tries must be from 1 to 15");
  }
  require(ni.tries <= 15, "ni.tries", "tries must be at most 15");
  if (rail_policy_kind(ni.rail_policy).spreads)
    require(ni.messages == NiConfig::Costs::kTimes, "ni.rail_policy",
            "rail_policy is '" + ni.rail_policy +
                "', which lets messages overtake each other: with 'messages: gateware', "
                "whose mailboxes do not reorder them, use pair");
  if (ni.rail_stripe_bytes != 0)
    require(rail_policy_kind(ni.rail_policy).spreads, "ni.rail_stripe_bytes",
            "rail_stripe cuts transfers over several rails, and rail_policy is '" + ni.rail_policy +
                "', which keeps each pair of nodes to one; say least-loaded");
  check_congestion_control(ni, router);
  require(ni.clock >= Time(), "ni.clock_ps", "the interface's clock must not be negative");
  return ni;
}

namespace {

NetworkConfig with_interface(NetworkConfig network, const NiConfig& ni) {
  network.priority = true;  // acknowledgements
  network.rails_by_port = rail_policy_kind(ni.rail_policy).spreads;
  network.notes = pacing_kind(ni.congestion_control).make != nullptr;
  if (ni.messages == NiConfig::Costs::kGateware) network.router = Messages::router(network.router);
  if (ni.transfers == NiConfig::Costs::kGateware) network.router = router_with_transfers(network.router);
  return network;
}

Packet packet_of(const PacketizerMessage& m, std::uint64_t kind) {
  return {m.src, m.dst, static_cast<std::uint16_t>(m.bytes), kMailboxPort, 0, kind | m.user};
}

// Those of the port that answers share with RDMA are given back by the network.
std::uint16_t slots_given_back(const NiConfig& ni) {
  std::uint16_t ports = 0;
  if (ni.messages == NiConfig::Costs::kGateware) ports = 1u << kMailboxPort;
  if (ni.transfers == NiConfig::Costs::kGateware) ports = Interfaces::kGivesBack;
  if (ni.reductions == NiConfig::Costs::kGateware) ports |= 1u << kReductionPort;
  return ports;
}

std::unique_ptr<Stripes> make_stripes(const NicSetup& setup) {
  const NiConfig& ni = setup.config;
  if (ni.rail_stripe_bytes == 0 || setup.topology.rails() == 1) return nullptr;
  return std::make_unique<Stripes>(setup.listener, ni.rail_stripe_bytes, setup.topology.rails(), ni.dma_block_bytes);
}

std::size_t interfaces_of(const Topology& topology) {
  return std::size_t{topology.endpoint_count()} * topology.rails();
}

}  // namespace

PacketSink ExanetNic::sink(const NicSetup& setup) {
  PacketSink sink{this,
                  [](void* self, const Packet& p, Time injected, Time now) {
                    static_cast<ExanetNic*>(self)->delivered(p, p, injected, now);
                  },
                  [](void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
                    static_cast<ExanetNic*>(self)->ready(node, port, priority, now);
                  }};
  if (setup.topology.rails() > 1) {
    sink.delivered = [](void* self, const Packet& p, Time injected, Time now) {
      auto& nic = *static_cast<ExanetNic*>(self);
      nic.delivered(p, nic.rails_->arrived(p), injected, now);
    };
    sink.ready = [](void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
      auto& nic = *static_cast<ExanetNic*>(self);
      nic.ready(nic.rails_->interface_at(node, port), nic.rails_->port_of_interface(port), priority, now);
    };
  }
  sink.gives_back = slots_given_back(setup.config);
  // In the gateware's cycles interfaces retransmit what is lost.
  if (setup.config.transfers == NiConfig::Costs::kTimes) {
    sink.lost = [](void* self, const Packet& p, Status why, Time now) {
      auto& nic = *static_cast<ExanetNic*>(self);
      nic.lost(nic.rails_ ? nic.rails_->arrived(p) : p, why, now);
    };
  }
  // By times, what comes in the order of its way is known to come as soon as its last output is granted.
  const bool spread = setup.topology.rails() > 1 && rail_policy_kind(setup.config.rail_policy).spreads;
  const bool paced = pacing_kind(setup.config.congestion_control).make != nullptr;
  sink.early = setup.config.messages == NiConfig::Costs::kTimes && !spread && !paced &&
               packets_keep_order(setup.topology, setup.network.router);
  if (context_.config.reliability == NiConfig::Reliability::kEndToEnd) make_reliable(setup, sink);
  return sink;
}

void ExanetNic::make_reliable(const NicSetup& setup, PacketSink& sink) {
  require(setup.topology.rails() == 1, "ni.reliability",
          "'reliability: end-to-end' needs nodes with one rail; use none");
  require(pacing_kind(setup.config.congestion_control).make == nullptr, "ni.reliability",
          "'reliability: end-to-end' has no congestion control beside it: its acknowledgements carry no feedback; say "
          "'congestion_control: none' or 'reliability: none'");
  reliable_ = std::make_unique<EndToEnd>(context_, setup.topology.endpoint_count(), sink);
  sink = reliable_->sink();
}

// Where packets are to be impaired, the network is one that does so.
std::unique_ptr<Network> ExanetNic::make_network_below(const NicSetup& setup) {
  const NetworkConfig config = with_interface(setup.network, setup.config);
  if (!config.impairs) return setup.make_network(setup.events, setup.topology, config, sink(setup));
  const bool end_to_end = setup.config.reliability == NiConfig::Reliability::kEndToEnd;
  const Checks checks{end_to_end || setup.config.transfers == NiConfig::Costs::kGateware, end_to_end};
  return std::make_unique<ImpairedNetwork>(setup.events, setup.topology, config, sink(setup), setup.make_network,
                                           checks);
}

ExanetNic::ExanetNic(const NicSetup& setup)
    : stripes_(make_stripes(setup)),
      context_{setup.events, stripes_ ? *stripes_ : setup.listener, checked(setup.config, setup.network.router),
               setup.network.router},
      network_(make_network_below(setup)),
      packetizer_(context_, interfaces_of(setup.topology)),
      reductions_(context_, interfaces_of(setup.topology)),
      mailbox_(context_, interfaces_of(setup.topology)),
      rdma_(context_, interfaces_of(setup.topology)) {
  context_.network = reliable_ ? &reliable_->over(*network_) : network_.get();
  const RailPolicyKind& policy = rail_policy_kind(setup.config.rail_policy);
  if (setup.topology.rails() > 1)
    context_.network = &rails_.emplace(
        *network_, setup.topology, setup.network.router, policy,
        [this](NodeId node, std::uint32_t rail) { return rdma_.unsent(rails_->interface_of(node, rail)); });
  context_.rails = setup.topology.rails();
  context_.keeps_order =
      context_.network->keeps_order() && !context_.network->may_lose() && !(rails_ && policy.spreads);
  require_served(pacing_kind(setup.config.congestion_control), &PacingKind::blocks, "exanet");
  require(setup.config.load_balancing == "none", "ni.load_balancing",
          "load_balancing is of ultra-ethernet interfaces: take --nic ultra-ethernet, or say none");
  if (pacing_kind(setup.config.congestion_control).make != nullptr) set_pacing(setup);
  on_reduction_ = setup.events.add_handler(
      [](void* self, Time now, std::uint32_t status, std::uint64_t user) {
        static_cast<ExanetNic*>(self)->reduction_completed(user, static_cast<Status>(status), now);
      },
      this);
  if (context_.config.messages != NiConfig::Costs::kGateware) return;
  const std::size_t nodes = interfaces_of(setup.topology);
  GatewareListener& listener = *this;
  if (network_->buses() != nullptr)
    verilated_ = std::make_unique<VerilatedInterfaces>(context_, nodes, *network_->buses(), listener);
  else
    model_ = std::make_unique<ModelInterfaces>(context_, nodes, listener);
  GatewareInterfaces& interfaces = verilated_ ? static_cast<GatewareInterfaces&>(*verilated_) : *model_;
  bus_.emplace(context_, nodes, interfaces);
  gateware_messages_ = std::make_unique<GatewareMessages>(context_, nodes, *bus_, interfaces);
  if (context_.config.transfers == NiConfig::Costs::kGateware)
    transfers_ = std::make_unique<GatewareTransfers>(context_, nodes, *bus_, interfaces);
  if (context_.config.reductions == NiConfig::Costs::kGateware && context_.config.reduction_trees > 0)
    units_ = std::make_unique<GatewareReductions>(context_, nodes, interfaces);
}

// The rate control learns the rate of the interface's link and the times of an empty network.
void ExanetNic::set_pacing(const NicSetup& setup) {
  const auto* model = dynamic_cast<const NetworkModel*>(network_.get());
  require(
      model != nullptr, "ni.congestion_control",
      "a rate control needs the times of an empty network, which are not known with the gateware's nodes, nor where "
      "faults impair packets or interfaces send them again (reliability: end-to-end): say none there");
  const NodeId far = setup.topology.neighbour(0, 0).node;
  const std::size_t kind = far == kNoNode ? 0 : setup.topology.link_class(0, 0);
  const LinkConfig& link = setup.network.links.at(kind);
  const RouterConfig& router = setup.network.router;
  const auto largest = static_cast<std::uint32_t>(router.max_payload_bytes);
  const auto zero_load = make_zero_load_model(setup.topology, setup.network);
  const Time entry = zero_load->input_time(RouterTiming(router).payload_words(largest));
  rdma_.set_pacing(
      pacing_kind(setup.config.congestion_control),
      {.bits_per_second = static_cast<std::uint64_t>(link.word_bits) * 1'000'000'000'000 /
                          static_cast<std::uint64_t>(link.word_time.ps()),
       .packet_bytes = largest,
       .block_bytes = setup.config.dma_block_bytes,
       .zero_load =
           [this, model](NodeId src, NodeId dst, std::uint32_t bytes) {
             return model->zero_load_latency(context_.node_of(src), context_.node_of(dst),
                                             static_cast<std::uint16_t>(bytes));
           },
       .parameters = setup.config.pacing,
       .payload_bits_per_second = std::uint64_t{largest} * 8'000'000'000'000 / static_cast<std::uint64_t>(entry.ps()),
       .round_trip = router.hpcc_round_trip,
       .acc_clock = acc_clock(router),
       .acc_margin_percent = static_cast<std::uint32_t>(router.acc_margin_percent)});
}

bool ExanetNic::multicasts() const { return !gateware_messages_ && context_.network->multicasts(); }

void ExanetNic::post(const PacketizerMessage& message) {
  if (!rails_) return send(message);
  if (is_multicast(message.dst)) return send(rails_->by(rails_->rail(message.src, message.dst), message));
  send(rails_->by_choice(message));
}

void ExanetNic::post(const RdmaTransfer& transfer) {
  if (!rails_) return send(transfer);
  if (stripes_ && stripes_->cuts(transfer)) return send_striped(transfer);
  send(by_its_rail(transfer));
}

void ExanetNic::send_striped(const RdmaTransfer& transfer) {
  const std::uint32_t first = rails_->rail(transfer.src, transfer.dst);
  stripes_->cut(transfer, [&](const RdmaTransfer& part, std::uint32_t number) {
    send(rails_->by((first + number) % context_.rails, part));
  });
}

void ExanetNic::post(const ReductionPacket& packet) {
  rails_ ? send(rails_->by(rails_->rail(packet.src, packet.dst), packet)) : send(packet);
}

// A read that the other interface serves goes by the rail of its data.
RdmaTransfer ExanetNic::by_its_rail(const RdmaTransfer& t) {
  if (transfers_ && t.part == RdmaTransfer::Part::kRequest) return rails_->by(rails_->rail(t.dst, t.src), t);
  return is_multicast(t.dst) ? rails_->by(rails_->rail(t.src, t.dst), t) : rails_->by_choice(t);
}

void ExanetNic::open_tree(NodeId node, std::uint8_t tree, const ReductionPlace& place) {
  if (rails_) return units_->open(rails_->interface_of(node), tree, rails_->of_units(place));
  units_->open(node, tree, place);
}

void ExanetNic::post(const ReductionCall& call) {
  if (!rails_) return units_->post(call);
  ReductionCall own = call;
  own.node = rails_->interface_of(call.node);
  units_->post(own);
}

void ExanetNic::send(const PacketizerMessage& message) {
  context_.active += message.copies;
  if (is_multicast(message.dst)) {
    EXANET_CHECK(!context_.zero_cost, "a multicast in a zero-cost phase", context_.events.now().ps(), message.src,
                 message.dst);
    return packetizer_.post(packet_of(message, kMulticastPacket));
  }
  if (context_.zero_cost) return mailbox_.write_instantly(message.user);
  if (gateware_messages_) return gateware_messages_->post(message);
  if (!context_.keeps_order)
    messages_.sent(context_.node_of(message.src), context_.node_of(message.dst),
                   {message.user, message.bytes, message.dst});
  packetizer_.post(packet_of(message, kMessagePacket));
}

void ExanetNic::send(const ReductionPacket& p) {
  ++context_.active;
  if (context_.zero_cost) return void(context_.events.schedule(context_.events.now(), on_reduction_, 0, p.user));
  if (reliable_) reduction_packets_.sent(p.src, p.dst, p.user);
  reductions_.post({p.src, p.dst, static_cast<std::uint16_t>(p.bytes), kMailboxPort, 1, kMessagePacket | p.user});
}

// One that was sent again may come behind later ones of its pair: the unit gets them in their order.
void ExanetNic::reduction_arrived(const Packet& packet, std::uint64_t user, Status status, Time tail) {
  const auto arrives = [&](std::uint64_t its, Status what) {
    context_.events.schedule(tail, on_reduction_, static_cast<std::uint32_t>(what), its);
  };
  if (!reliable_) return arrives(user, status);
  reduction_packets_.arrived(packet.src, packet.dst, user, status, arrives);
}

void ExanetNic::reduction_completed(std::uint64_t user, Status status, Time now) {
  --context_.active;
  context_.listener.reduction_packet_completed(user, status, now);
}

void ExanetNic::send(const RdmaTransfer& transfer) {
  context_.active += transfer.copies;
  if (transfers_) return transfers_->post(transfer);
  rdma_.post(transfer);
}

void ExanetNic::ready(NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
  if (transfers_) return model_->ready(node, port);
  // Answers to messages share the port of RDMA.
  if (model_ && (port == kMailboxPort || priority != 0)) model_->ready(node, port);
  if (port != kMailboxPort)
    rdma_.ready(node, priority, now);
  else if (!model_)
    (priority != 0 ? reductions_ : packetizer_).ready(node, now);
}

void ExanetNic::delivered(const Packet& at_node, const Packet& packet, Time injected, Time tail) {
  if ((packet.notes & Packet::kTrimmed) != 0)
    return transfers_ ? void() : lost(packet, Status::kLost, tail);  // in the gateware's cycles its sender repeats it
  context_.listener.packet_delivered(at_node, injected, tail);
  if (transfers_) {
    context_.count(packet);
    if (model_) model_->delivered(packet, tail);  // else that is the network's own affair
    return;
  }
  const std::uint64_t user = packet.user & ~kPacketKind;
  switch (packet.user & kPacketKind) {
    case kDataPacket: rdma_.data_arrives(packet, injected, tail); break;
    case kMulticastPacket: mailbox_.write(packet.dst, packet.payload_bytes, user, tail, true); break;
    case kAckPacket: rdma_.ack_arrives(packet, tail); break;
    default:
      if (model_) {
        context_.count(packet);
        model_->delivered(packet, tail);
      } else if (packet.priority != 0) {
        reduction_arrived(packet, user, Status::kOk, tail);
      } else {
        message_arrived(packet, user, tail);
      }
  }
}

// A message that came before its turn waits in the interface: it is written once those before it have been.
void ExanetNic::message_arrived(const Packet& packet, std::uint64_t user, Time tail) {
  if (context_.keeps_order) return mailbox_.write(packet.dst, packet.payload_bytes, user, tail);
  message_completed(packet, user, Status::kOk, tail);
}

void ExanetNic::message_completed(const Packet& packet, std::uint64_t user, Status status, Time now) {
  messages_.arrived(context_.node_of(packet.src), context_.node_of(packet.dst),
                    {user, packet.payload_bytes, packet.dst}, status, [&](const Message& m, Status its) {
                      if (its == Status::kOk)
                        mailbox_.write(m.at, m.bytes, m.user, now);
                      else
                        mailbox_.fail(m.at, m.user, its, now);
                    });
}

// Nothing here sends it again: what it belongs to has failed.
void ExanetNic::lost(const Packet& packet, Status why, Time now) {
  const std::uint64_t user = packet.user & ~kPacketKind;
  switch (packet.user & kPacketKind) {
    case kDataPacket: return rdma_.data_lost(packet, why, now);
    case kAckPacket: return rdma_.ack_lost(packet, why, now);
    case kMulticastPacket: --context_.active; return context_.listener.multicast_completed(user, packet.dst, why, now);
    default: break;
  }
  if (model_) return;  // its sender repeats it
  if (packet.priority != 0 && reliable_) return reduction_arrived(packet, user, why, now);
  if (packet.priority != 0) return reduction_completed(user, why, now);
  message_completed(packet, user, why, now);
}

namespace nics {

NicKind exanet_interface() {
  return {"exanet",
          "packetizer, mailboxes and RDMA engine of the machine file, each with its costs, under the message library",
          true, true, [](const NicSetup& setup) -> std::unique_ptr<Nic> { return std::make_unique<ExanetNic>(setup); }};
}

}  // namespace nics

}  // namespace exanet
