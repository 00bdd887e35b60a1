// SPDX-License-Identifier: Apache-2.0
// Carries out the interface over flows: transfers between two nodes go one after the other, each as a flow from its
// first byte's being ready to its last one's arrival; the flows' next event is scheduled once, and put off when it
// turns out to be later. Model and limits: flow_nic.hpp.
#include "core/nic/flow/flow_nic.hpp"

#include <algorithm>

#include "core/config/error.hpp"
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/topology/rails.hpp"

namespace exanet {
namespace {

std::uint32_t taken(std::vector<std::uint32_t>& free, std::size_t size) {
  if (free.empty()) return static_cast<std::uint32_t>(size);
  const std::uint32_t id = free.back();
  free.pop_back();
  return id;
}

}  // namespace

FlowNic::FlowNic(const NicSetup& setup)
    : context_{setup.events, setup.listener, checked(setup.config, setup.network.router), setup.network.router},
      max_payload_(static_cast<std::uint64_t>(setup.network.router.max_payload_bytes)),
      links_(setup.topology, setup.network),
      flows_(links_.flows(), Time::ns(1)),
      memory_(context_.config, setup.topology.endpoint_count()),
      mailbox_(context_, std::size_t{setup.topology.endpoint_count()} * setup.topology.rails()) {
  require(setup.config.messages == NiConfig::Costs::kTimes, "ni.messages",
          "the flow level models messages by times, not by cycles: use 'messages: times' with a packetizer and a "
          "mailbox_word");
  require(setup.config.congestion_control == "none", "ni.congestion_control",
          "congestion_control is '" + setup.config.congestion_control +
              "': the flow level has max-min fair rates; say none");
  require(setup.config.reliability == NiConfig::Reliability::kNone, "ni.reliability",
          "reliability is 'end-to-end': the flow level sends no packet again; say none, or simulate packets (--level "
          "packet)");
  require(setup.config.rail_policy == "pair" || setup.topology.rails() == 1, "ni.rail_policy",
          "rail_policy is '" + setup.config.rail_policy + "': at flow level each pair has a rail; say pair");
  EventQueue& events = setup.events;
  on_message_ = events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t status) {
        FlowNic& nic = *static_cast<FlowNic*>(self);
        const Message m = nic.messages_[id];
        nic.order_.arrived(m.src, m.dst, id, static_cast<Status>(status), [&](std::uint32_t due, Status status_of_due) {
          const Message& its = nic.messages_[due];
          if (status_of_due == Status::kOk)
            nic.mailbox_.write(nic.mailbox_of(its), its.bytes, its.user, now);
          else
            nic.mailbox_.fail(nic.mailbox_of(its), its.user, status_of_due, now);
          nic.free_messages_.push_back(due);
        });
      },
      this);
  on_reduction_ = events.add_handler(
      [](void* self, Time now, std::uint32_t status, std::uint64_t user) {
        FlowNic& nic = *static_cast<FlowNic*>(self);
        --nic.context_.active;
        nic.context_.listener.reduction_packet_completed(user, static_cast<Status>(status), now);
      },
      this);
  on_ready_ = events.add_handler(
      [](void* self, Time, std::uint32_t id, std::uint64_t) {
        FlowNic& nic = *static_cast<FlowNic*>(self);
        if (nic.transfers_[id].request) return nic.send_whole(id);
        const auto channel = nic.channels_.find(pair_of(nic.transfers_[id]));
        if (channel != nic.channels_.end()) nic.begin_due(channel->second);
      },
      this);
  on_flows_ = events.add_handler(
      [](void* self, Time now, std::uint32_t, std::uint64_t) { static_cast<FlowNic*>(self)->move_flows(now); }, this);
  on_arrived_ = events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t status) {
        static_cast<FlowNic*>(self)->arrived(id, static_cast<Status>(status), now);
      },
      this);
  on_complete_ = events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<FlowNic*>(self)->complete(id, now); },
      this);
  on_acknowledged_ = events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t status) {
        static_cast<FlowNic*>(self)->acknowledged(id, static_cast<Status>(status), now);
      },
      this);
  links_.on_change([this](Time now) { links_changed(now); });
}

// Each rail has its own.
std::uint32_t FlowNic::mailbox_of(const Message& m) const {
  const Topology& topology = links_.flows().topology();
  return topology.rails() == 1 ? m.dst : m.dst * topology.rails() + rail_of(topology, m.src, m.dst);
}

// Of a transfer; they never straddle a block.
std::uint64_t FlowNic::packets_of(std::uint64_t bytes) const {
  const std::uint64_t block = context_.config.dma_block_bytes;
  const auto of = [this](std::uint64_t part) { return (part + max_payload_ - 1) / max_payload_; };
  return std::max<std::uint64_t>(bytes / block * of(block) + of(bytes % block), 1);
}

// It goes at the interface's clock.
FlowLinks::Sent FlowNic::send(NodeId src, NodeId dst, std::uint32_t bytes) {
  ++context_.packets;
  context_.payload_bytes += bytes;
  return links_.send(src, dst, bytes, next_edge(context_.config.clock, context_.events.now()));
}

void FlowNic::schedule(const FlowLinks::Sent& sent, std::uint32_t event, std::uint32_t id) {
  context_.events.schedule(sent.at, event, id, static_cast<std::uint64_t>(sent.status));
}

void FlowNic::post(const PacketizerMessage& m) {
  ++context_.active;
  if (context_.zero_cost) return mailbox_.write_instantly(m.user);
  const std::uint32_t id = taken(free_messages_, messages_.size());
  if (id == messages_.size()) messages_.emplace_back();
  messages_[id] = {m.src, m.dst, m.bytes, m.user};
  order_.sent(m.src, m.dst, id);
  schedule(send(m.src, m.dst, m.bytes), on_message_, id);
}

void FlowNic::post(const ReductionPacket& p) {
  ++context_.active;
  const FlowLinks::Sent sent =
      context_.zero_cost ? FlowLinks::Sent{context_.events.now(), Status::kOk} : send(p.src, p.dst, p.bytes);
  context_.events.schedule(sent.at, on_reduction_, static_cast<std::uint32_t>(sent.status), p.user);
}

void FlowNic::post(const RdmaTransfer& t) {
  ++context_.active;
  const NiConfig& cost = context_.config;
  const Time now = context_.events.now();
  Time ready = now + cost.dma_start;
  if (t.reads_memory) ready = memory_.of(t.own.memory).read({t.src, t.own.address, t.bytes}, ready + cost.translation);
  const std::uint32_t id = taken(free_transfers_, transfers_.size());
  if (id == transfers_.size()) transfers_.emplace_back();
  transfers_[id] = {t.src,       t.dst, t.bytes, t.acknowledged, t.part == RdmaTransfer::Part::kRequest, false, false,
                    Status::kOk, ready, t.user,  t.target};
  if (context_.zero_cost) return void(context_.events.schedule(now, on_complete_, id));
  if (!transfers_[id].request) channels_[pair_of(transfers_[id])].transfers.push_back(id);
  context_.events.schedule(ready, on_ready_, id);
}

// Transfers that are ready and have none before them that is still to leave.
void FlowNic::begin_due(Channel& channel) {
  while (!channel.moving && channel.begun < channel.transfers.size()) {
    const std::uint32_t id = channel.transfers[channel.begun];
    if (transfers_[id].ready_at > context_.events.now()) return;
    ++channel.begun;
    begin(channel, id);
  }
}

void FlowNic::begin(Channel& channel, std::uint32_t id) {
  Transfer& t = transfers_[id];
  const std::uint64_t packets = packets_of(t.bytes);
  if (packets == 1) return send_whole(id);
  t.begun = true;
  context_.packets += packets;
  context_.payload_bytes += t.bytes;
  links_.carry(t.src, t.dst, packets, t.bytes);
  channel.moving = true;
  const FlowId flow = flows_.add(t.src, t.dst, t.bytes, max(context_.events.now(), flows_.now()));
  if (transfer_of_.size() <= flow) transfer_of_.resize(flow + 1);
  transfer_of_[flow] = id;
  expect_flows();
}

// As one packet.
void FlowNic::send_whole(std::uint32_t id) {
  Transfer& t = transfers_[id];
  t.begun = true;
  schedule(send(t.src, t.dst, static_cast<std::uint32_t>(t.bytes)), on_arrived_, id);
}

void FlowNic::expect_flows() {
  const Time next = flows_.next();
  if (next >= expected_) return;
  expected_ = next;
  context_.events.schedule(next, on_flows_, 0);
}

void FlowNic::move_flows(Time now) {
  if (now < expected_) return;  // it was expected earlier, and has been put off
  expected_ = Time::never();
  while (flows_.step(now)) {
  }
  take_arrivals(now);
}

// Flows move up to now at the rates that they had.
void FlowNic::links_changed(Time now) {
  while (flows_.step(now)) {
  }
  flows_.links_changed();
  take_arrivals(now);
}

void FlowNic::take_arrivals(Time now) {
  for (const FlowId flow : flows_.take_arrivals()) {
    const std::uint32_t id = transfer_of_[flow];
    schedule({max(flows_.finished(flow), now), flows_.status(flow)}, on_arrived_, id);
    flows_.forget(flow);
    Channel& channel = channels_.at(pair_of(transfers_[id]));
    channel.moving = false;
    begin_due(channel);
  }
  expect_flows();
}

void FlowNic::arrived(std::uint32_t id, Status status, Time now) {
  transfers_[id].arrived = true;
  transfers_[id].status = status;
  if (transfers_[id].request) return write(id, now);
  const auto found = channels_.find(pair_of(transfers_[id]));
  Channel& channel = found->second;
  for (; !channel.transfers.empty() && transfers_[channel.transfers.front()].arrived; channel.transfers.pop_front()) {
    write(channel.transfers.front(), now);
    --channel.begun;
  }
  if (channel.transfers.empty()) channels_.erase(found);
}

void FlowNic::write(std::uint32_t id, Time now) {
  const Transfer& t = transfers_[id];
  const Time there =
      t.status == Status::kOk ? memory_.of(t.target.memory).write({t.dst, t.target.address, t.bytes}, now) : now;
  context_.events.schedule(there, on_complete_, id);
}

void FlowNic::complete(std::uint32_t id, Time now) {
  // Copied: the listener may start transfers and so move the table.
  const Transfer t = transfers_[id];
  if (!t.acknowledged) {
    free_transfers_.push_back(id);
    --context_.active;
  }
  context_.listener.transfer_completed(t.user, t.status, now);
  if (!t.acknowledged) return;
  if (t.status != Status::kOk) return acknowledged(id, t.status, now);
  if (!t.begun) return void(context_.events.schedule(now, on_acknowledged_, id));
  // One for each block; all but the last have been on their way while the data moved.
  const std::uint64_t block = context_.config.dma_block_bytes, blocks = (t.bytes + block - 1) / block;
  if (blocks > 1) {
    links_.carry(t.dst, t.src, blocks - 1, 0);
    context_.packets += blocks - 1;
  }
  schedule(send(t.dst, t.src, 0), on_acknowledged_, id);
}

void FlowNic::acknowledged(std::uint32_t id, Status status, Time now) {
  const std::uint64_t user = transfers_[id].user;
  free_transfers_.push_back(id);
  --context_.active;
  context_.listener.transfer_acknowledged(user, status, now);
}

const NicKind& flow_interface() {
  static const NicKind kind = {
      "flow", "the costs of exanet, with transfers as flows", true, true,
      [](const NicSetup& setup) -> std::unique_ptr<Nic> { return std::make_unique<FlowNic>(setup); }};
  return kind;
}

}  // namespace exanet
