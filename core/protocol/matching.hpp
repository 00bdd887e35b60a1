// SPDX-License-Identifier: Apache-2.0
// Endpoints, and tag matching: which receive takes which message. Receives match in the order in which they were
// posted, messages from one source in the order in which they were sent; a linear search over lists that are short in
// practice, kept intrusive so that nothing is allocated. What a message is carried by, eagerly or by rendezvous, is its
// protocol's business.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/protocol/host.hpp"

namespace exanet {

class Context;
struct Message;
struct Receive;

// Carries a matched message on: matching calls one of these at most once for each message.
class MessageProtocol {
 public:
  virtual ~MessageProtocol() = default;
  virtual void matched(Message& message, Time at) = 0;  // ends with Matching::deliver()
  virtual void discarded(Message& message, Time at) = 0;  // its receiver does not want it
  virtual void refused(Message& message, std::int32_t status) = 0;  // nobody will ever take it
};

// Intrusive list: a record is in one at a time.
template <typename T>
struct Chain {
  T *head = nullptr, *tail = nullptr;

  void append(T& item) {
    item.prev = tail;
    item.next = nullptr;
    (tail ? tail->next : head) = &item;
    tail = &item;
  }
  void remove(T& item) {
    (item.prev ? item.prev->next : head) = item.next;
    (item.next ? item.next->prev : tail) = item.prev;
    item.prev = item.next = nullptr;
  }
};

// A message at its destination, part of its protocol's operation.
struct Message {
  Message() = default;
  Message(MessageProtocol& of, std::uint32_t number, RankId from, const SendDescriptor& d)
      : protocol(&of), operation(number), source(from), send(&d) {}

  MessageProtocol* protocol = nullptr;
  std::uint32_t operation = 0;  // the protocol's number of it
  RankId source = 0;
  const SendDescriptor* send = nullptr;
  Time arrived, taken;  // taken: as of MessageRecord
  std::uint64_t claim = 0;  // cookie that it is reserved under
  Receive* receive = nullptr;  // that took it
  std::uint64_t buffer = 0, space = 0;  // where it goes, and how many bytes fit
  Message *prev = nullptr, *next = nullptr;

  Address from() const { return Address{source, send->ep}; }
  std::uint64_t bytes() const { return send->length < space ? send->length : space; }
};

class Matching {
 public:
  struct Unmatched {
    RankId source;
    std::uint64_t bytes;
  };

  Matching(const Context& context, std::size_t ranks);
  ~Matching();

  void open(RankId rank, std::uint16_t ep, EndpointKind kind);
  void close(RankId rank, std::uint16_t ep) { close(rank, ep, -ECONNRESET); }
  // The rank has died, and more ranks know (Context::known_deaths): what these wait for, a message of its or a receive,
  // ends with that.
  void die(RankId rank, bool all_know);
  bool is_open(RankId rank, std::uint16_t ep) const { return find(rank, ep) != nullptr; }
  bool takes(const Address& to, EndpointKind kind) const;

  void post(RankId rank, const ReceiveDescriptor& d);
  void peek(RankId rank, const PeekDescriptor& d);
  void cancel(RankId rank, const CancelDescriptor& d);

  // At an endpoint that takes() messages.
  void arrived(Message& message, Time now);
  // A matched message is in its buffer, or `payload` is to go there; `cpu`: what consuming it costs the rank.
  void deliver(Message& message, Time at, std::int32_t status, Time cpu, Protocol protocol, Payload payload);

  // Messages that have found their receive and are not delivered yet are on their way to it.
  bool is_receiving(RankId rank) const { return receiving_[rank] > 0; }
  std::uint64_t waiting() const { return waiting_; }  // messages that nobody has asked for
  std::vector<Unmatched> unmatched(std::uint64_t longer_than) const;  // those of more bytes

 private:
  struct Endpoint {
    bool open = false;
    EndpointKind kind = EndpointKind::kMessage;
    Chain<Receive> posted[2];  // [tagged]
    Chain<Message> unexpected[2], claimed;
  };

  Endpoint* find(RankId rank, std::uint16_t ep);
  const Endpoint* find(RankId rank, std::uint16_t ep) const { return const_cast<Matching*>(this)->find(rank, ep); }
  void close(RankId rank, std::uint16_t ep, std::int32_t status);  // what waiting messages are refused with
  void refuse_known(RankId rank, Endpoint& endpoint);
  void fail(Receive& receive, Time at);
  bool knows_dead(RankId by, RankId rank) const;
  void take_claimed(Endpoint& e, RankId rank, const ReceiveDescriptor& d);
  void match(Message& message, Receive& receive, Time at);
  void take_waiting(Chain<Message>& list, Message& message);
  void release_multi(Receive& receive, Time at);
  Receive& allocate(RankId rank, const ReceiveDescriptor& d);
  void recycle(Receive& receive);

  const Context& context_;
  std::vector<std::vector<Endpoint>> endpoints_;  // [rank][ep]
  std::vector<std::uint32_t> receiving_;  // [rank]
  std::vector<std::unique_ptr<Receive>> receives_;
  std::vector<Receive*> free_;
  std::uint64_t waiting_ = 0;
};

}  // namespace exanet
