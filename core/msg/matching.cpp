// SPDX-License-Identifier: Apache-2.0
// Tag matching: which receive takes which message. Receives match in the order in which they were posted, messages from one source in the
// order in which they were sent; a linear search over lists that are short in practice, kept intrusive so that nothing is allocated.
#include <algorithm>
#include <cerrno>

#include "core/msg/engine.hpp"

namespace exanet {

void MessageEngine::append(List& list, std::uint32_t id) {
  Op& op = *ops_[id];
  op.prev = list.tail;
  op.next = kNone;
  if (list.tail == kNone) list.head = id;
  else ops_[list.tail]->next = id;
  list.tail = id;
}

void MessageEngine::remove(List& list, std::uint32_t id) {
  Op& op = *ops_[id];
  if (op.prev == kNone) list.head = op.next;
  else ops_[op.prev]->next = op.next;
  if (op.next == kNone) list.tail = op.prev;
  else ops_[op.next]->prev = op.prev;
  op.prev = op.next = kNone;
}

// A message that nobody had asked for is asked for, or its endpoint goes.
void MessageEngine::take_waiting(List& list, std::uint32_t id) {
  remove(list, id);
  --waiting_;
}

bool MessageEngine::matches(const Op& message, const Command& receive) const {
  if (receive.peer.rank != kAnyRank && receive.peer != Address{message.rank, message.c.ep}) return false;
  return !receive.tagged || ((message.c.tag ^ receive.tag) & ~receive.ignore) == 0;
}

void MessageEngine::post_receive(RankId rank, const Command& c) {
  Endpoint* e = endpoint(rank, c.ep);
  if (!e) return;
  const std::uint32_t id = allocate(rank, c);
  ops_[id]->stage = Stage::posted;
  ops_[id]->c.min_left = std::max<std::uint64_t>(c.min_left, 1);  // a full buffer is always given back
  if (c.claim) {
    for (std::uint32_t m = e->claimed.head; m != kNone; m = ops_[m]->next) {
      if (ops_[m]->into != c.cookie) continue;
      take_waiting(e->claimed, m);
      if (c.discard) {
        Completion done = completion(*ops_[id], CompletionKind::receive, c.time);
        done.peer = Address{ops_[m]->rank, ops_[m]->c.ep};
        done.tag = ops_[m]->c.tag;
        done.len = 0;
        host_.complete(rank, done);
        recycle(id);
        discard(m, c.time);
      } else {
        match(m, id, c.time);
      }
      return;
    }
    ops_[id]->status = -ENOMSG;
    host_.complete(rank, completion(*ops_[id], CompletionKind::receive, c.time));
    recycle(id);
    return;
  }
  List& unexpected = e->unexpected[c.tagged];
  for (std::uint32_t m = unexpected.head; m != kNone;) {
    const std::uint32_t following = ops_[m]->next;
    if (matches(*ops_[m], c)) {
      take_waiting(unexpected, m);
      const Command& r = ops_[id]->c;
      const bool last = !r.multi || r.len - std::min(r.len, ops_[m]->c.len) < r.min_left;
      match(m, id, max(ops_[m]->arrived, c.time));
      if (last) return;
    }
    m = following;
  }
  append(e->posted[c.tagged], id);
}

void MessageEngine::message_arrived(std::uint32_t id, Endpoint& e, Time now) {
  Op& op = *ops_[id];
  op.arrived = now;
  List& posted = e.posted[op.c.tagged];
  for (std::uint32_t r = posted.head; r != kNone; r = ops_[r]->next) {
    if (!matches(op, ops_[r]->c)) continue;
    const Command& c = ops_[r]->c;
    if (!c.multi || c.len - std::min(c.len, op.c.len) < c.min_left) remove(posted, r);
    match(id, r, max(now, c.time));
    return;
  }
  op.stage = op.stage == Stage::eager ? Stage::unexpected : op.stage;
  append(e.unexpected[op.c.tagged], id);
  ++waiting_;
}

void MessageEngine::match(std::uint32_t message, std::uint32_t receive, Time at) {
  Op& m = *ops_[message];
  Op& r = *ops_[receive];
  m.match = receive;
  m.into = r.c.addr;
  m.room = r.c.len;
  ++r.holds;
  if (r.c.multi) {
    const std::uint64_t taken = std::min(m.c.len, r.c.len);
    r.c.addr += taken;
    r.c.len -= taken;
    r.done = r.c.len < r.c.min_left;
  } else {
    r.done = true;
  }
  if (m.c.len <= config_.eager_max_bytes) {
    finish_receive(message, at);
    finish(message);
  } else {
    m.stage = Stage::matched;
    enqueue_work(m.c.peer.rank, message, at);
  }
}

void MessageEngine::finish_receive(std::uint32_t message, Time at) {
  Op& m = *ops_[message];
  Op& r = *ops_[m.match];
  const std::uint64_t bytes = std::min(m.c.len, m.room);
  const bool eager = m.c.len <= config_.eager_max_bytes;
  Completion done = completion(r, CompletionKind::receive, at);
  done.status = m.status != 0 ? m.status : m.c.len > m.room ? -EMSGSIZE : 0;
  done.cpu = (eager ? consume_cpu(config_.envelope_bytes + bytes) : config_.mailbox_read) + config_.mpi_receive;
  done.peer = Address{m.rank, m.c.ep};
  done.tag = m.c.tag;
  done.len = m.c.len;
  done.data = m.c.data;
  done.has_data = m.c.has_data;
  done.addr = m.into;
  if (eager) {
    done.payload = m.payload.data();
    done.payload_bytes = static_cast<std::uint32_t>(bytes);
  }
  if (!endpoint(r.rank, r.c.ep)) {
    // Closed meanwhile: its completions have no reader, its buffers may be gone.
  } else if (r.c.silent && done.status == 0) {
    if (eager) host_.write(r.rank, m.into, m.payload.data(), bytes);
  } else {
    host_.complete(r.rank, done);
  }
  host_.record(MessageRecord{m.rank, r.rank, m.c.len, m.c.tag, eager ? Protocol::eager : Protocol::rendezvous, m.c.time, at});
  if (--r.holds == 0 && r.done) {
    if (r.c.multi) release_multi(m.match, at);
    else recycle(m.match);
  }
}

// A cancelled buffer's release is its cancellation's completion.
void MessageEngine::release_multi(std::uint32_t receive, Time at) {
  const Op& r = *ops_[receive];
  Completion done = completion(r, r.status != 0 ? CompletionKind::receive : CompletionKind::multi_done, at);
  done.cpu = Time();
  if (endpoint(r.rank, r.c.ep)) host_.complete(r.rank, done);
  recycle(receive);
}

void MessageEngine::peek(std::uint32_t id, Time) {
  const Op& op = *ops_[id];
  const Command& c = op.c;
  Endpoint* e = endpoint(op.rank, c.ep);
  Completion done = completion(op, CompletionKind::peek, c.time);
  done.status = -ENOMSG;
  std::uint32_t found = kNone;
  if (e) {
    for (std::uint32_t m = e->unexpected[c.tagged].head; m != kNone && found == kNone; m = ops_[m]->next) {
      if ((instant_ || ops_[m]->arrived <= c.time) && matches(*ops_[m], c)) found = m;
    }
  }
  if (found == kNone) {
    done.time = instant_ ? c.time : c.time + config_.test_step;
  } else {
    Op& m = *ops_[found];
    done.status = 0;
    done.peer = Address{m.rank, m.c.ep};
    done.tag = m.c.tag;
    done.len = m.c.len;
    done.data = m.c.data;
    done.has_data = m.c.has_data;
    if (c.claim) {
      remove(e->unexpected[c.tagged], found);
      m.into = c.cookie;
      append(e->claimed, found);
    } else if (c.discard) {
      take_waiting(e->unexpected[c.tagged], found);
    }
  }
  host_.complete(op.rank, done);
  if (found != kNone && c.discard && !c.claim) discard(found, c.time);
}

void MessageEngine::discard(std::uint32_t message, Time at) {
  Op& m = *ops_[message];
  if (m.c.len <= config_.eager_max_bytes) {
    finish(message);
    return;
  }
  m.stage = Stage::read_done;  // as if fetched: the sender gets its acknowledgement
  enqueue_work(m.c.peer.rank, message, at);
}

void MessageEngine::cancel(std::uint32_t id, Time) {
  const Op& op = *ops_[id];
  Endpoint* e = endpoint(op.rank, op.c.ep);
  if (!e) return;
  for (List& list : e->posted) {
    for (std::uint32_t r = list.head; r != kNone; r = ops_[r]->next) {
      if (ops_[r]->c.cookie != op.c.cookie) continue;
      remove(list, r);
      ops_[r]->status = -ECANCELED;
      ops_[r]->done = true;
      if (ops_[r]->holds > 0) return;  // messages are still on their way into the buffer: it is given back after them
      host_.complete(op.rank, completion(*ops_[r], CompletionKind::receive, op.c.time));
      recycle(r);
      return;
    }
  }
}

}  // namespace exanet
