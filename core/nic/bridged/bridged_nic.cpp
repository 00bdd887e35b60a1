// SPDX-License-Identifier: Apache-2.0
#include "core/nic/bridged/bridged_nic.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kPart = 1ull << 61;  // in a user word: a fragment's number follows
constexpr std::uint32_t kRequestBytes = 16;  // of a request, and of an answer

const GatewayConfig& checked(const NicSetup& setup) {
  const auto& gateway = setup.config.gateway;
  require(gateway.has_value() && setup.config.networks.size() == 2 && setup.network.networks.size() == 2, "gateway",
          "two networks that gateways join need the interfaces and routers of both, and the gateways' costs");
  require(gateway->rate_bit_per_s > 0, "gateway.rate", "a gateway copies at a rate above zero");
  require(gateway->fragment_bytes > 0, "gateway.fragment", "fragments have at least one byte");
  return *gateway;
}

}  // namespace

BridgedNic::BridgedNic(const NicKind& kind, const NicSetup& setup)
    : events_(setup.events),
      topology_(*setup.topology.bridged()),
      listener_(setup.listener),
      config_(checked(setup)),
      ordered_(kind.ordered),
      fabrics_{setup.network.networks[0], setup.network.networks[1]},
      interfaces_{setup.config.networks[0], setup.config.networks[1]},
      gateways_(config_, topology_.gateways()),
      network_(topology_, nics_, gateways_) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    fabrics_[i].seed = setup.network.seed;
    interfaces_[i].reduction_trees = 0;
    sides_[i].nic = this;
    sides_[i].network = i;
    nics_[i] = kind.make({events_, topology_.network(i), fabrics_[i], interfaces_[i], sides_[i], setup.make_network});
  }
  on_passed_ = events_.add_handler(
      [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<BridgedNic*>(self)->pass_on(id); }, this);
}

void BridgedNic::set_zero_cost(bool zero_cost) {
  zero_cost_ = zero_cost;
  for (const auto& nic : nics_) nic->set_zero_cost(zero_cost);
}

PageStatistics BridgedNic::pages() const {
  const PageStatistics a = nics_[0]->pages(), b = nics_[1]->pages();
  return {a.lookups + b.lookups, a.walks + b.walks};
}

ReliabilityStatistics BridgedNic::reliability() const {
  ReliabilityStatistics both = nics_[0]->reliability();
  const ReliabilityStatistics b = nics_[1]->reliability();
  both.retransmits = both.retransmits || b.retransmits;
  both.retransmissions += b.retransmissions;
  both.duplicates += b.duplicates;
  both.corrupted += b.corrupted;
  both.given_up += b.given_up;
  return both;
}

std::vector<GatewayUse> BridgedNic::gateways() const {
  std::vector<GatewayUse> all;
  for (std::uint32_t g = 0; g < gateways_.size(); ++g) {
    all.push_back(gateways_.use(g));
    all.back().first = topology_.node(0, topology_.gateway(g, 0));
    all.back().second = topology_.node(1, topology_.gateway(g, 1));
  }
  return all;
}

void BridgedNic::post(const PacketizerMessage& m) {
  if (crosses(m.src, m.dst))
    return begin({m.src, m.dst, m.user, Kind::kMessage, false, false, false, 0, 0, 0}, m.bytes);
  PacketizerMessage own = m;
  own.src = topology_.within(m.src);
  own.dst = topology_.within(m.dst);
  nics_[side_of(m.src)]->post(own);
}

void BridgedNic::post(const RdmaTransfer& t) {
  if (crosses(t.src, t.dst)) {
    const bool request = t.part == RdmaTransfer::Part::kRequest;
    return begin({t.src, t.dst, t.user, request ? Kind::kRequest : Kind::kTransfer, t.acknowledged, t.notifies,
                  t.reads_memory, 0, 0, 0, Status::kOk, t.own, t.target},
                 request ? kRequestBytes : t.bytes);
  }
  RdmaTransfer own = t;
  own.src = topology_.within(t.src);
  own.dst = topology_.within(t.dst);
  nics_[side_of(t.src)]->post(own);
}

void BridgedNic::begin(Crossing crossing, std::uint64_t bytes) {
  const std::uint64_t most =
      crossing.kind == Kind::kTransfer ? config_.fragment_bytes : std::max<std::uint64_t>(bytes, 1);
  const auto parts = static_cast<std::uint32_t>(std::max<std::uint64_t>((bytes + most - 1) / most, 1));
  crossing.gateway = topology_.gateway_to(crossing.dst);
  if (config_.choice == GatewayConfig::Choice::kLeastBusy) crossing.gateway = gateways_.least_busy(crossing.gateway);
  crossing.on_their_way = parts;
  crossing.unacknowledged = crossing.acknowledged ? parts : 0;
  gateways_.promise(crossing.gateway, bytes);
  ++crossing_;
  const std::uint32_t id = crossings_.add(crossing);
  if (crossing.kind == Kind::kMessage) messages_.sent(crossing.src, crossing.dst, id);
  if (crossing.kind == Kind::kTransfer && ordered_) transfers_.sent(crossing.src, crossing.dst, id);
  for (std::uint64_t at = 0; at == 0 || at < bytes; at += most) {
    const auto part = static_cast<std::uint32_t>(std::min(most, bytes - at));
    send_in(fragments_.add({id, part, Fragment::Leg::kIn, at}));
  }
}

BridgedNic::Lane& BridgedNic::lane_of(std::uint32_t id) {
  const Crossing& c = crossings_[fragments_[id].crossing];
  return lanes_[std::uint64_t{c.src} << 32 | c.gateway];
}

// To the gateway, at once or when the window lets it.
void BridgedNic::send_in(std::uint32_t id) {
  const Crossing& c = crossings_[fragments_[id].crossing];
  if (config_.window > 0 && c.kind == Kind::kTransfer) {
    Lane& lane = lane_of(id);
    if (lane.on_their_way == config_.window) return lane.waiting.push_back(id);
    ++lane.on_their_way;
  }
  send_part(id, topology_.within(c.src), topology_.gateway(c.gateway, side_of(c.src)));
}

// The gateway has done with a fragment, or will never have it.
void BridgedNic::passed(std::uint32_t id) {
  const Fragment& part = fragments_[id];
  const Crossing& c = crossings_[part.crossing];
  gateways_.passed(c.gateway, part.bytes);
  if (config_.window == 0 || c.kind != Kind::kTransfer) return;
  Lane& lane = lane_of(id);
  --lane.on_their_way;
  if (lane.waiting.empty()) return;
  const std::uint32_t next = lane.waiting.front();
  lane.waiting.pop_front();
  send_in(next);
}

// From one node of a network to another one.
void BridgedNic::send_part(std::uint32_t id, NodeId src, NodeId dst) {
  const Fragment part = fragments_[id];
  const Crossing& c = crossings_[part.crossing];
  const bool in = part.leg == Fragment::Leg::kIn, out = part.leg == Fragment::Leg::kOut;
  Nic& nic = *nics_[side_of(out ? c.dst : c.src)];
  if (c.kind != Kind::kTransfer || part.leg == Fragment::Leg::kAnswer) {
    nic.post(PacketizerMessage{src, dst, part.bytes, kPart | id});
  } else {
    const auto piece = [&](const ProcessBuffer& whole, bool here) {
      ProcessBuffer buffer = here ? whole : ProcessBuffer{};
      if (buffer.address != 0) buffer.address += part.offset;
      return buffer;
    };
    nic.post(RdmaTransfer{.src = src,
                          .dst = dst,
                          .bytes = part.bytes,
                          .acknowledged = out && c.acknowledged,
                          .reads_memory = out || c.reads_memory,
                          .user = kPart | id,
                          .notifies = in || c.notifies,
                          .own = piece(c.own, in),
                          .target = piece(c.target, out)});
  }
  nic.doorbell(src);
}

// Leg by leg.
void BridgedNic::arrived(std::uint32_t id, Status status, Time now) {
  const Fragment part = fragments_[id];
  if (part.leg == Fragment::Leg::kAnswer) {
    const Crossing& c = crossings_[part.crossing];
    const std::uint64_t user = c.user;
    const Status its = c.status == Status::kOk ? status : c.status;
    fragments_.free(id);
    end(part.crossing);
    return listener_.transfer_acknowledged(user, its, now);
  }
  if (part.leg == Fragment::Leg::kIn && status == Status::kOk) return at_gateway(id, now);
  settle(id, status, now);
}

void BridgedNic::at_gateway(std::uint32_t id, Time now) {
  const Fragment& part = fragments_[id];
  const Crossing& c = crossings_[part.crossing];
  const std::uint32_t from = side_of(part.leg == Fragment::Leg::kIn ? c.src : c.dst);
  events_.schedule(gateways_.take(c.gateway, from, part.bytes, now, zero_cost_), on_passed_, id);
}

void BridgedNic::pass_on(std::uint32_t id) {
  Fragment& part = fragments_[id];
  const Crossing& c = crossings_[part.crossing];
  gateways_.done(c.gateway, part.bytes);
  NodeId to = c.src;
  if (part.leg == Fragment::Leg::kIn) {
    passed(id);
    part.leg = Fragment::Leg::kOut;
    to = c.dst;
  }
  send_part(id, topology_.gateway(c.gateway, side_of(to)), topology_.within(to));
}

// At its destination, or lost before.
void BridgedNic::settle(std::uint32_t id, Status status, Time now) {
  const Fragment part = fragments_[id];
  Crossing& c = crossings_[part.crossing];
  const bool lost_before = part.leg == Fragment::Leg::kIn;
  if (lost_before) passed(id);
  if (status != Status::kOk) c.status = status;
  // Else its acknowledgement comes.
  const bool over = !c.acknowledged || lost_before;
  if (over) fragments_.free(id);
  if (c.acknowledged && lost_before) --c.unacknowledged;
  if (--c.on_their_way > 0) return;
  const auto deliver = [this, now](std::uint32_t which, Status) { complete(which, crossings_[which].status, now); };
  if (c.kind == Kind::kMessage) return messages_.arrived(c.src, c.dst, part.crossing, status, deliver);
  if (c.kind == Kind::kTransfer && ordered_) return transfers_.arrived(c.src, c.dst, part.crossing, status, deliver);
  deliver(part.crossing, status);
}

void BridgedNic::complete(std::uint32_t crossing, Status status, Time now) {
  // Copied: the listener may post and so move the table.
  crossings_[crossing].delivered = true;
  const Crossing c = crossings_[crossing];
  if (!c.acknowledged) end(crossing);
  if (c.kind == Kind::kMessage) return listener_.message_completed(c.user, status, now);
  listener_.transfer_completed(c.user, status, now);
  if (c.acknowledged && c.unacknowledged == 0) answer(crossing, now);
}

void BridgedNic::acknowledged(std::uint32_t id, Time now) {
  const std::uint32_t crossing = fragments_[id].crossing;
  fragments_.free(id);
  Crossing& c = crossings_[crossing];
  if (--c.unacknowledged == 0 && c.delivered) answer(crossing, now);
}

// Back to the source, through the gateway; of what has failed, at once.
void BridgedNic::answer(std::uint32_t crossing, Time now) {
  const Crossing c = crossings_[crossing];
  if (c.status == Status::kOk)
    return at_gateway(fragments_.add({crossing, kRequestBytes, Fragment::Leg::kAnswer, 0}), now);
  end(crossing);
  listener_.transfer_acknowledged(c.user, c.status, now);
}

void BridgedNic::end(std::uint32_t crossing) {
  crossings_.free(crossing);
  --crossing_;
}

void BridgedNic::Side::message_completed(std::uint64_t user, Status status, Time now) {
  if ((user & kPart) == 0) return nic->listener_.message_completed(user, status, now);
  nic->arrived(static_cast<std::uint32_t>(user), status, now);
}

void BridgedNic::Side::transfer_completed(std::uint64_t user, Status status, Time now) {
  if ((user & kPart) == 0) return nic->listener_.transfer_completed(user, status, now);
  nic->arrived(static_cast<std::uint32_t>(user), status, now);
}

void BridgedNic::Side::transfer_acknowledged(std::uint64_t user, Status status, Time now) {
  if ((user & kPart) == 0) return nic->listener_.transfer_acknowledged(user, status, now);
  nic->acknowledged(static_cast<std::uint32_t>(user), now);
}

void BridgedNic::Side::packet_delivered(const Packet& packet, Time injected, Time now) {
  Packet whole = packet;
  whole.src = nic->topology_.node(network, packet.src);
  whole.dst = nic->topology_.node(network, packet.dst);
  nic->listener_.packet_delivered(whole, injected, now);
}

std::unique_ptr<Nic> make_interfaces(const NicKind& kind, const NicSetup& setup) {
  if (setup.topology.bridged() == nullptr) return kind.make(setup);
  return std::make_unique<BridgedNic>(kind, setup);
}

}  // namespace exanet
