// SPDX-License-Identifier: Apache-2.0
// Matches messages and receives by source and tag, in MPI's order.
//
// Model: two lists an endpoint and kind of message, tagged or not: receives that wait for a message, messages that wait
// for a receive. A message meets the first receive that fits, a receive the first message. A receive of several
// messages stays in its list until its buffer is full; it is given back when the last message is in it. Limits: each
// search is linear in what waits.
#include "core/protocol/matching.hpp"

#include <algorithm>

#include "core/faults/status.hpp"
#include "core/protocol/context.hpp"

namespace exanet {

struct Receive {
  ReceiveDescriptor d;  // multi: buffer and length are what is left
  RankId rank = 0;
  std::int32_t status = 0;
  std::uint32_t holds = 0;  // matched messages still under way
  bool done = false;  // takes no more
  Receive *prev = nullptr, *next = nullptr;
};

namespace {

bool tagged(const DescriptorHeader& d) { return d.has(kTagged); }

// `D`: what may be matched by tag and source, a receive or a peek.
template <typename D>
bool matches(const Message& message, const D& d) {
  if (d.peer.rank != kAnyRank && d.peer != message.from()) return false;
  return !tagged(d) || ((message.send->tag ^ d.tag) & ~d.ignore) == 0;
}

// Whether the buffer is given back after a message of `length` bytes.
bool last_of(const ReceiveDescriptor& d, std::uint64_t length) {
  return !d.has(kMulti) || d.length - std::min(d.length, length) < d.min_left;
}

// Copies what a completion reports of the message found.
template <typename C>
void describe(C& done, const Message& m) {
  done.peer = m.from();
  done.tag = m.send->tag;
  done.length = m.send->length;
  done.data = m.send->data;
  done.flags |= m.send->flags & kHasData;
}

}  // namespace

Matching::Matching(const Context& context, std::size_t ranks)
    : context_(context), endpoints_(ranks), receiving_(ranks) {}
Matching::~Matching() = default;

Matching::Endpoint* Matching::find(RankId rank, std::uint16_t ep) {
  if (rank >= endpoints_.size() || ep >= endpoints_[rank].size() || !endpoints_[rank][ep].open) return nullptr;
  return &endpoints_[rank][ep];
}

void Matching::open(RankId rank, std::uint16_t ep, EndpointKind kind) {
  auto& endpoints = endpoints_[rank];
  if (ep >= endpoints.size()) endpoints.resize(ep + 1u);
  endpoints[ep] = Endpoint{};
  endpoints[ep].open = true;
  endpoints[ep].kind = kind;
}

bool Matching::takes(const Address& to, EndpointKind kind) const {
  const Endpoint* e = find(to.rank, to.ep);
  return e && e->kind == kind;
}

void Matching::close(RankId rank, std::uint16_t ep, std::int32_t status) {
  Endpoint* e = find(rank, ep);
  if (!e) return;
  const auto refuse_all = [this, status](Chain<Message>& list) {
    while (Message* m = list.head) {
      take_waiting(list, *m);
      m->protocol->refused(*m, status);
    }
  };
  for (int tagged = 0; tagged < 2; ++tagged) {
    while (Receive* r = e->posted[tagged].head) {
      e->posted[tagged].remove(*r);
      r->done = true;
      if (r->holds == 0) recycle(*r);
    }
    refuse_all(e->unexpected[tagged]);
  }
  refuse_all(e->claimed);
  e->open = false;
}

// Refuses what waits at a rank that has died, and comes from those who know.
void Matching::refuse_known(RankId rank, Endpoint& e) {
  for (Chain<Message>* list : {&e.unexpected[0], &e.unexpected[1], &e.claimed}) {
    for (Message* m = list->head; m;) {
      Message* const following = m->next;
      if (knows_dead(m->source, rank)) {
        take_waiting(*list, *m);
        m->protocol->refused(*m, completion_status(Status::kNodeDown));
      }
      m = following;
    }
  }
}

void Matching::die(RankId rank, bool all_know) {
  for (std::uint16_t ep = 0; ep < endpoints_[rank].size(); ++ep) {
    if (all_know)
      close(rank, ep, completion_status(Status::kNodeDown));
    else
      refuse_known(rank, endpoints_[rank][ep]);
  }
  for (auto& endpoints : endpoints_) {
    for (Endpoint& e : endpoints) {
      for (Chain<Receive>& list : e.posted) {
        for (Receive* r = list.head; r;) {
          Receive* const following = r->next;
          if (knows_dead(r->rank, r->d.peer.rank)) {
            list.remove(*r);
            fail(*r, context_.events.now());
          }
          r = following;
        }
      }
    }
  }
}

bool Matching::knows_dead(RankId by, RankId rank) const { return context_.known_deaths.knows(by, rank); }

// A receive in no list, from a rank that has died.
void Matching::fail(Receive& receive, Time at) {
  receive.done = true;
  receive.status = completion_status(Status::kNodeDown);
  if (receive.holds > 0) return;  // messages are still on their way into its buffer
  auto done = context_.completion<ReceiveCompletion>(receive.rank, receive.d, at, receive.status);
  done.cookie = receive.d.cookie;
  done.peer = receive.d.peer;
  done.length = receive.d.length;
  context_.host.complete(receive.rank, done, {});
  recycle(receive);
}

Receive& Matching::allocate(RankId rank, const ReceiveDescriptor& d) {
  if (free_.empty()) {
    receives_.push_back(std::make_unique<Receive>());
    free_.push_back(receives_.back().get());
  }
  Receive& receive = *free_.back();
  free_.pop_back();
  receive = Receive{};
  receive.d = d;
  receive.rank = rank;
  receive.d.min_left = std::max<std::uint64_t>(d.min_left, 1);  // a full buffer is always given back
  return receive;
}

void Matching::recycle(Receive& receive) { free_.push_back(&receive); }

// Takes a message that nobody had asked for out of its list.
void Matching::take_waiting(Chain<Message>& list, Message& message) {
  list.remove(message);
  --waiting_;
}

void Matching::post(RankId rank, const ReceiveDescriptor& d) {
  Endpoint* e = find(rank, d.ep);
  if (!e) return;
  if (d.has(kClaim)) {
    take_claimed(*e, rank, d);
    return;
  }
  Receive& receive = allocate(rank, d);
  Chain<Message>& unexpected = e->unexpected[tagged(d)];
  for (Message* m = unexpected.head; m;) {
    Message* const following = m->next;
    if (matches(*m, d)) {
      take_waiting(unexpected, *m);
      const bool last = last_of(receive.d, m->send->length);
      match(*m, receive, max(m->arrived, d.time));
      if (last) return;
    }
    m = following;
  }
  if (knows_dead(rank, d.peer.rank)) return fail(receive, max(d.time, context_.events.now()));
  e->posted[tagged(d)].append(receive);
}

// Takes the message that a peek has reserved under the receive's cookie.
void Matching::take_claimed(Endpoint& e, RankId rank, const ReceiveDescriptor& d) {
  for (Message* m = e.claimed.head; m; m = m->next) {
    if (m->claim != d.cookie) continue;
    take_waiting(e.claimed, *m);
    if (!d.has(kDiscard)) {
      match(*m, allocate(rank, d), d.time);
      return;
    }
    auto done = context_.completion<ReceiveCompletion>(rank, d, d.time);
    done.cookie = d.cookie;
    done.peer = m->from();
    done.tag = m->send->tag;
    context_.host.complete(rank, done, {});
    m->protocol->discarded(*m, d.time);
    return;
  }
  auto done = context_.completion<ReceiveCompletion>(rank, d, d.time, -ENOMSG);
  done.cookie = d.cookie;
  done.peer = d.peer;
  done.length = d.length;
  context_.host.complete(rank, done, {});
}

void Matching::arrived(Message& message, Time now) {
  const SendDescriptor& send = *message.send;
  if (knows_dead(message.source, send.peer.rank))
    return message.protocol->refused(message, completion_status(Status::kNodeDown));
  Endpoint& e = *find(send.peer.rank, send.peer.ep);
  message.arrived = now;
  Chain<Receive>& posted = e.posted[tagged(send)];
  for (Receive* r = posted.head; r; r = r->next) {
    if (!matches(message, r->d)) continue;
    if (last_of(r->d, send.length)) posted.remove(*r);
    match(message, *r, max(now, r->d.time));
    return;
  }
  e.unexpected[tagged(send)].append(message);
  ++waiting_;
}

std::vector<Matching::Unmatched> Matching::unmatched(std::uint64_t longer_than) const {
  std::vector<Unmatched> found;
  for (const auto& endpoints : endpoints_) {
    for (const Endpoint& e : endpoints) {
      for (const Chain<Message>& list : e.unexpected) {
        for (const Message* m = list.head; m; m = m->next)
          if (m->send->length > longer_than) found.push_back({m->source, m->send->length});
      }
    }
  }
  return found;
}

void Matching::match(Message& m, Receive& r, Time at) {
  m.receive = &r;
  if (at > m.arrived) m.taken = at;
  m.buffer = r.d.buffer;
  m.space = r.d.length;
  ++r.holds;
  ++receiving_[r.rank];
  if (r.d.has(kMulti)) {
    const std::uint64_t taken = std::min(m.send->length, r.d.length);
    r.d.buffer += taken;
    r.d.length -= taken;
    r.done = r.d.length < r.d.min_left;
  } else {
    r.done = true;
  }
  m.protocol->matched(m, at);
}

void Matching::deliver(Message& m, Time at, std::int32_t status, Time cpu, Protocol protocol, Payload payload) {
  Receive& r = *m.receive;
  --receiving_[r.rank];
  const bool received = status == 0;
  if (received && m.send->length > m.space) status = -EMSGSIZE;
  auto done = context_.completion<ReceiveCompletion>(r.rank, r.d, at, status);
  done.cpu_ps = static_cast<std::uint32_t>(cpu.ps());
  done.cookie = r.d.cookie;
  describe(done, m);
  done.buffer = m.buffer;
  if (!is_open(r.rank, r.d.ep)) {
    // Closed meanwhile: its completions have no reader, its buffers may be gone.
  } else if (r.d.has(kSilent) && status == 0) {
    if (protocol == Protocol::eager) context_.host.write(r.rank, m.buffer, payload.data(), payload.size());
  } else {
    context_.host.complete(r.rank, done, payload);
  }
  if (received)
    context_.host.record(
        MessageRecord{m.source, r.rank, m.send->length, m.send->tag, protocol, m.send->time, at, m.taken});
  if (--r.holds == 0 && r.done) {
    if (r.d.has(kMulti))
      release_multi(r, at);
    else
      recycle(r);
  }
}

// Gives a multi-receive buffer back. A cancelled one's release is its cancellation's completion.
void Matching::release_multi(Receive& r, Time at) {
  if (is_open(r.rank, r.d.ep)) {
    if (r.status == 0) {
      auto done = context_.completion<MultiDoneCompletion>(r.rank, r.d, at);
      done.cpu_ps = 0;
      done.cookie = r.d.cookie;
      context_.host.complete(r.rank, done, {});
    } else {
      auto done = context_.completion<ReceiveCompletion>(r.rank, r.d, at, r.status);
      done.cpu_ps = 0;
      done.cookie = r.d.cookie;
      done.peer = r.d.peer;
      done.length = r.d.length;
      context_.host.complete(r.rank, done, {});
    }
  }
  recycle(r);
}

void Matching::peek(RankId rank, const PeekDescriptor& d) {
  Endpoint* e = find(rank, d.ep);
  Message* found = nullptr;
  if (e) {
    for (Message* m = e->unexpected[tagged(d)].head; m && !found; m = m->next) {
      if ((context_.zero_cost || m->arrived <= d.time) && matches(*m, d)) found = m;
    }
  }
  const std::int32_t nothing = knows_dead(rank, d.peer.rank) ? completion_status(Status::kNodeDown) : -ENOMSG;
  auto done = context_.completion<PeekCompletion>(rank, d, d.time, found ? 0 : nothing);
  done.cookie = d.cookie;
  done.peer = d.peer;
  if (!found) {
    done.time = context_.zero_cost ? d.time : d.time + context_.costs(rank).ni.test_step;
    context_.host.complete(rank, done, {});
    return;
  }
  describe(done, *found);
  if (d.has(kClaim)) {
    e->unexpected[tagged(d)].remove(*found);
    found->claim = d.cookie;
    e->claimed.append(*found);
  } else if (d.has(kDiscard)) {
    take_waiting(e->unexpected[tagged(d)], *found);
  }
  context_.host.complete(rank, done, {});
  if (d.has(kDiscard) && !d.has(kClaim)) found->protocol->discarded(*found, d.time);
}

void Matching::cancel(RankId rank, const CancelDescriptor& d) {
  Endpoint* e = find(rank, d.ep);
  if (!e) return;
  for (Chain<Receive>& list : e->posted) {
    for (Receive* r = list.head; r; r = r->next) {
      if (r->d.cookie != d.cookie) continue;
      list.remove(*r);
      r->status = -ECANCELED;
      r->done = true;
      if (r->holds > 0) return;  // messages are still on their way into the buffer: it is given back after them
      auto done = context_.completion<ReceiveCompletion>(rank, r->d, d.time, -ECANCELED);
      done.cookie = d.cookie;
      done.peer = r->d.peer;
      done.length = r->d.length;
      context_.host.complete(rank, done, {});
      recycle(*r);
      return;
    }
  }
}

}  // namespace exanet
