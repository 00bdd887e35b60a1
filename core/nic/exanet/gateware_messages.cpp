// SPDX-License-Identifier: Apache-2.0
#include "core/nic/exanet/gateware_messages.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kContexts = 16, kEntries = 8192;
constexpr std::uint32_t kMailbox = 0, kDomain = 0;

}  // namespace

MessagesConfig GatewareMessages::config() const {
  MessagesConfig config;
  config.cycle = context_.router.cycle;
  config.memory_answer = std::max<Cycle>(1, next_edge(config.cycle, context_.config.mailbox).ps() / config.cycle.ps());
  return config;
}

GatewareMessages::GatewareMessages(NicContext& context, std::size_t nodes)
    : context_(context),
      nodes_(nodes),
      messages_{context.router.cycle,
                {context.events, context.router.cycle, nodes},
                {context.events, config(), nodes, this,
                 [](void* self, NodeId node, std::uint32_t, std::uint64_t, MessageAnswer, Cycle at) {
                   static_cast<GatewareMessages*>(self)->look(node, at + 1);
                 }},
                {context.events, config(), nodes, this,
                 [](void* self, const StoredMessage& m) { static_cast<GatewareMessages*>(self)->stored(m); }}} {
  on_store_ = context.events.add_handler(
      [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<GatewareMessages*>(self)->store(node); },
      this);
  on_visible_ =
      context.events.add_handler([](void* self, Time, std::uint32_t node,
                                    std::uint64_t user) { static_cast<GatewareMessages*>(self)->visible(node, user); },
                                 this);
  messages_.attach(*context.network);
  for (NodeId node = 0; node < nodes; ++node) messages_.receiver.open(node, kMailbox, kDomain, kEntries);
}

void GatewareMessages::post(const PacketizerMessage& m) {
  order_.sent(m.src, m.dst, m.user);
  Node& node = nodes_[m.src];
  const Cycle now = cycle_of(next_edge(messages_.cycle, context_.events.now()), messages_.cycle);
  // The bus takes a store in a cycle, and it is at the interface in the one behind.
  node.last = std::max(now, node.last) + 1;
  node.waiting.push_back({m, node.last});
  look(m.src, node.last);
}

// Looks at the first message that waits, not before it is at the interface.
void GatewareMessages::look(NodeId id, Cycle at) {
  Node& node = nodes_[id];
  if (node.waiting.empty()) return;
  at = std::max(at, node.waiting.front().at);
  if (at >= node.event) return;
  node.event = at;
  context_.events.schedule(time_of(at, messages_.cycle), on_store_, id);
}

void GatewareMessages::store(NodeId id) {
  Node& node = nodes_[id];
  const Cycle now = cycle_of(context_.events.now(), messages_.cycle);
  if (now != node.event) return;  // an earlier look came in between
  node.event = kUnknown;
  if (node.waiting.empty() || !messages_.sender.is_free(id, node.turn)) return;  // until an answer frees a slot
  const PacketizerMessage& m = node.waiting.front().message;
  messages_.sender.store(id, node.turn, {m.dst, static_cast<std::uint8_t>(m.bytes), kMailbox, kDomain, m.user});
  node.turn = (node.turn + 1) % kContexts;
  node.waiting.pop_front();
  look(id, now + 1);
}

void GatewareMessages::delivered(const Packet& packet, Time now) {
  context_.count(packet);
  messages_.delivered(packet, now);
}

void GatewareMessages::stored(const StoredMessage& m) {
  const MessageStore* const message = messages_.sender.find(m.src, m.word.slot, m.word.number);
  EXANET_CHECK(message != nullptr, "a message whose slot has another", context_.events.now().ps(), m.src, m.word.slot);
  const std::uint64_t user = message->user;
  const Time at = time_of(m.at, messages_.cycle) + context_.config.mailbox;
  order_.arrived(m.src, m.node, user,
                 [&](std::uint64_t its) { context_.events.schedule(at, on_visible_, m.node, its); });
}

void GatewareMessages::visible(NodeId id, std::uint64_t user) {
  Node& node = nodes_[id];
  node.read = (node.read + 1) % (2 * kEntries);
  messages_.receiver.release(id, kMailbox, node.read);
  --context_.active;
  context_.listener.message_arrived(user, context_.events.now());
}

}  // namespace exanet
