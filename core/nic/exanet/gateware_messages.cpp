// SPDX-License-Identifier: Apache-2.0
// Hands messages to the slots of interfaces in the gateware's cycles, context by context, and reads mailboxes, whose
// places are given back some at a time. Model and limits: gateware_messages.hpp.
#include "core/nic/exanet/gateware_messages.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kPlaces = 2 * GatewareShape::kEntries;  // of entries, counted round
constexpr std::uint32_t kReleased = GatewareShape::kEntries / 8;  // entries at a time

}  // namespace

GatewareMessages::GatewareMessages(NicContext& context, std::size_t nodes, NodeBus& bus, GatewareInterfaces& interfaces)
    : context_(context), bus_(bus), interfaces_(interfaces), nodes_(nodes) {
  on_visible_ =
      context.events.add_handler([](void* self, Time, std::uint32_t node,
                                    std::uint64_t user) { static_cast<GatewareMessages*>(self)->visible(node, user); },
                                 this);
  on_failed_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t status, std::uint64_t user) {
        NicContext& its = static_cast<GatewareMessages*>(self)->context_;
        --its.active;
        its.listener.message_completed(user, static_cast<Status>(status), now);
      },
      this);
  bus.join(*this);
}

void GatewareMessages::post(const PacketizerMessage& m) {
  order_.sent(m.src, m.dst, m.user);
  nodes_[m.src].waiting.push_back(m);
  bus_.posted(m.src);
}

std::uint32_t GatewareMessages::beats(NodeId id) {
  const Node& node = nodes_[id];
  if (node.releases) return 1;
  if (node.waiting.empty() || !interfaces_.slot_is_free(id, node.slot())) return 0;
  return GatewareInterfaces::kMessageBeats;
}

void GatewareMessages::go(NodeId id, Cycle from) {
  Node& node = nodes_[id];
  if (node.releases) {
    node.releases = false;
    node.released = node.read;
    return interfaces_.release(id, node.read, from);
  }
  const PacketizerMessage message = node.waiting.front();
  node.waiting.pop_front();
  const std::uint32_t slot = node.slot();
  node.sent[slot] = {message.user, message.dst, false};
  node.fill[node.turn] = (node.fill[node.turn] + 1) % 4;
  node.turn = (node.turn + 1) % kContexts;
  interfaces_.store(id, slot,
                    {message.dst, static_cast<std::uint8_t>(message.bytes), GatewareShape::kMailbox,
                     GatewareShape::kDomain, message.user},
                    from);
}

void GatewareMessages::stored(NodeId src, std::uint32_t slot, NodeId, Cycle at) {
  complete(src, slot, Status::kOk, visible_at(context_, at, context_.config.mailbox));
}

// Not if it is in its mailbox, and only the answers have been lost.
void GatewareMessages::failed(NodeId src, std::uint32_t slot, Status status, Cycle at) {
  if (!nodes_[src].sent[slot].completed) complete(src, slot, status, time_of(at + 1, context_.router.cycle));
}

void GatewareMessages::complete(NodeId src, std::uint32_t slot, Status status, Time at) {
  Node::Sent& sent = nodes_[src].sent[slot];
  sent.completed = true;
  order_.arrived(src, sent.dst, sent.user, status, [&](std::uint64_t user, Status its) {
    if (its == Status::kOk)
      context_.events.schedule(at, on_visible_, sent.dst, user);
    else
      context_.events.schedule(at, on_failed_, static_cast<std::uint32_t>(its), user);
  });
}

void GatewareMessages::visible(NodeId id, std::uint64_t user) {
  Node& node = nodes_[id];
  node.read = (node.read + 1) % kPlaces;
  if ((node.read + kPlaces - node.released) % kPlaces >= kReleased && !node.releases) {
    node.releases = true;
    bus_.posted(id);
  }
  --context_.active;
  context_.listener.message_completed(user, Status::kOk, context_.events.now());
}

}  // namespace exanet
