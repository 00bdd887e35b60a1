// SPDX-License-Identifier: Apache-2.0
// Stands between software and the models of the interfaces: stores reach them in the cycles of the bus, and what they
// report is handed on. Limits: model_interfaces.hpp.
#include "core/nic/exanet/model_interfaces.hpp"

#include "core/units/check.hpp"

namespace exanet {

MessagesConfig ModelInterfaces::messages_config(const NicContext& context) {
  MessagesConfig config;
  config.cycle = context.router.cycle;
  config.timeout = GatewareShape::kMessageTimeout;
  config.tries = context.config.tries;
  config.memory_answer = memory_cycles(context, context.config.mailbox);
  return config;
}

TransfersConfig ModelInterfaces::transfers_config(const NicContext& context) {
  TransfersConfig config;
  config.cycle = context.router.cycle;
  config.channels = GatewareShape::kChannels;
  config.kept_channels = GatewareShape::kKept;
  config.timeout = GatewareShape::block_timeout(*context.network);
  config.tries = context.config.tries;
  if (config.tries != 0) config.read_timeout = GatewareShape::kReadTimeout;
  config.memory_read = memory_cycles(context, context.config.memory_read);
  config.memory_answer = memory_cycles(context, context.config.memory_write);
  config.translate = context.config.pages_bytes != 0;
  return config;
}

ReductionsConfig ModelInterfaces::reductions_config(const NicContext& context) {
  ReductionsConfig config;
  config.cycle = context.router.cycle;
  config.port = kReductionPort;
  // Where nothing is lost a part that waits for others need not be sent again and again.
  config.timeout = context.network->may_lose() ? GatewareShape::kMessageTimeout : 0;
  config.memory_answer = memory_cycles(context, context.config.mailbox);
  return config;
}

ModelInterfaces::ModelInterfaces(NicContext& context, std::size_t nodes, GatewareListener& listener)
    : events_(context.events),
      cycle_(context.router.cycle),
      listener_(listener),
      nodes_(nodes),
      messages_{cycle_,
                {context.events, cycle_, nodes},
                {context.events, messages_config(context), nodes, this,
                 [](void* self, NodeId node, std::uint32_t slot, std::uint64_t, MessageAnswer answer, Cycle at) {
                   static_cast<ModelInterfaces*>(self)->answered(node, slot, answer, at);
                 }},
                {context.events, messages_config(context), nodes, this,
                 [](void* self, const StoredMessage& m) { static_cast<ModelInterfaces*>(self)->stored(m); }}},
      tables_(context.config.pages_bytes) {
  const auto add = [&](EventQueue::Handler handler) { return events_.add_handler(handler, this); };
  on_store_ = add([](void* self, Time, std::uint32_t node, std::uint64_t) {
    static_cast<ModelInterfaces*>(self)->at_interface(node);
  });
  messages_.attach(*context.network);
  messages_.sender.on_freed([](void* self, NodeId node, Cycle at) {
    ModelInterfaces& its = *static_cast<ModelInterfaces*>(self);
    its.listener_.message_answered(node, std::max(at, cycle_of(its.events_.now(), its.cycle_)));
  });
  for (NodeId node = 0; node < nodes; ++node)
    messages_.receiver.open(node, GatewareShape::kMailbox, GatewareShape::kDomain, GatewareShape::kEntries);

  if (context.config.transfers == NiConfig::Costs::kGateware) {
    sender_.emplace(
        events_, transfers_config(context), nodes, this,
        [](void* self, NodeId node, std::uint64_t user, TransferEnding ending, Cycle at) {
          static_cast<ModelInterfaces*>(self)->listener_.transfer_ended(node, user, ending, at);
        },
        [](void* self, std::uint64_t user) { static_cast<ModelInterfaces*>(self)->listener_.transfer_served(user); });
    receiver_.emplace(events_, transfers_config(context), nodes, this, [](void* self, const WrittenPacket& packet) {
      static_cast<ModelInterfaces*>(self)->written(packet);
    });
    sender_->attach(*context.network, messages_.answers, *receiver_);
    receiver_->attach(*context.network, messages_.answers, *sender_);
    if (context.config.pages_bytes != 0) map_pages(nodes);
  }
  if (context.config.reductions == NiConfig::Costs::kGateware) {
    on_word_ = add([](void* self, Time, std::uint32_t node, std::uint64_t) {
      static_cast<ModelInterfaces*>(self)->call_word(node);
    });
    units_.emplace(events_, reductions_config(context), nodes, this, [](void* self, const ReductionEnd& end) {
      static_cast<ModelInterfaces*>(self)->listener_.reduction_ended(end);
    });
    units_->attach(*context.network);
  }
}

void ModelInterfaces::map_pages(std::size_t nodes) {
  Pages& pages = sender_->pages();
  pages.read_tables({this, [](void* self, NodeId, std::uint64_t address) {
                       return static_cast<ModelInterfaces*>(self)->tables_.entry(address);
                     }});
  for (NodeId node = 0; node < nodes; ++node) pages.set_root(node, GatewareShape::kDomain, tables_.root());
}

PageStatistics ModelInterfaces::pages() const {
  if (!sender_) return {};
  return {sender_->pages().lookups(), sender_->pages().walks()};
}

void ModelInterfaces::ready(NodeId node, std::uint8_t port) {
  if (units_ && port == kReductionPort) return units_->ready(node);
  if (sender_ && port == kTransferPort) return sender_->ready(node);
  messages_.ready(node, port);
}

void ModelInterfaces::delivered(const Packet& packet, Time now) {
  const Cycle footer = cycle_of(now, cycle_) - 1;
  if (units_ && packet.intra_port == kReductionPort) return units_->arrived(packet, footer);
  if (sender_ && packet.intra_port == kTransferPort) return receiver_->arrived(packet, footer);
  messages_.delivered(packet, now);
}

void ModelInterfaces::store(NodeId node, std::uint32_t slot, const MessageStore& message, Cycle) {
  nodes_[node].stores.emplace_back(OfMessage{slot / 4, message});
}
void ModelInterfaces::store(NodeId node, const TransferStore& transfer, Cycle) {
  nodes_[node].stores.emplace_back(transfer);
  ++nodes_[node].transfers;
}
void ModelInterfaces::release(NodeId node, std::uint32_t place, Cycle) {
  nodes_[node].stores.emplace_back(OfMailbox{place});
}
void ModelInterfaces::taken(NodeId node, Cycle at) { events_.schedule(time_of(at, cycle_), on_store_, node); }

void ModelInterfaces::at_interface(NodeId id) {
  Node& node = nodes_[id];
  const auto store = node.stores.front();
  node.stores.pop_front();
  if (const auto* const message = std::get_if<OfMessage>(&store)) {
    messages_.sender.store(id, message->context, message->message);
  } else if (const auto* const transfer = std::get_if<TransferStore>(&store)) {
    --node.transfers;
    sender_->store(id, *transfer);
  } else {
    messages_.receiver.release(id, GatewareShape::kMailbox, std::get<OfMailbox>(store).place);
  }
}

// What the model has is there at once: nobody calls before the stores are through.
void ModelInterfaces::open(NodeId node, std::uint8_t tree, const ReductionPlace& place, Cycle) {
  units_->open(node, tree, place);
}

void ModelInterfaces::call(const ReductionCall& call, Cycle at) {
  Node& node = nodes_[call.node];
  node.calls.push_back(call);
  for (Cycle word = 0; word < Cycle{beats(call)}; ++word)
    events_.schedule(time_of(at + word, cycle_), on_word_, call.node);
}

// The store that is at the unit in this cycle.
void ModelInterfaces::call_word(NodeId id) {
  Node& node = nodes_[id];
  const ReductionCall& call = node.calls.front();
  if (node.word++ < words_of(call.shape.bytes)) return units_->store(id);
  units_->call(id, call.tree, call.branch, call.shape);
  node.calls.pop_front();
  node.word = 0;
}

// One that its sender has given up meanwhile has failed.
void ModelInterfaces::stored(const StoredMessage& m) {
  if (messages_.sender.find(m.src, m.word.slot, m.word.number) != nullptr)
    listener_.message_stored(m.src, m.word.slot, m.node, m.at);
}

void ModelInterfaces::answered(NodeId node, std::uint32_t slot, MessageAnswer answer, Cycle at) {
  if (answer == MessageAnswer::kFull) return listener_.message_answered(node, at);  // it is sent again
  if (const Status status = status_of(answer); status != Status::kOk) listener_.message_failed(node, slot, status, at);
  listener_.message_answered(node, at);
}

// What is written for another node's read is reported by the read's end.
void ModelInterfaces::written(const WrittenPacket& packet) {
  const TransferStore* const store = sender_->own(packet.src, packet.word.slot);
  if (store != nullptr) listener_.transfer_written(store->user, packet.word.fence(), packet.bytes, packet.at);
}

}  // namespace exanet
