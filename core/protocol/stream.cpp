// SPDX-License-Identifier: Apache-2.0
// Streams of TCP between ranks (runtime/sockets): who listens, connections, and segments.
//
// Problem: the bytes of a stream go between two processes through their host. What their host's network would do to
// them, and how long it would take, is to be that of the simulated machine.
//
// Model: a segment is a transfer of its headers and bytes from its sender's node to the other one's, as a packet that a
// host's kernel gives to the interface. Segments of a stream arrive in its order: one that has overtaken another waits
// for that. A connection takes a round trip of two segments without bytes, each of which costs both hosts what any
// segment does; whether anybody listens is found out when the first one has come.
// A rank that has never listened is a host that is not up yet: a connection waits until it does, since all programs of
// a run start together.
//
//   connect: asked ──▶ at the host ──▶ answered ──▶ (over)
//
// A segment that is lost goes once more after a time that doubles with each repetition, as the timer of TCP's sender
// has it (RFC 6298, with the least time of Linux); when it is given up, its sender learns that the stream is broken.
//
// Limits: nothing is sent again before its timer (no duplicate acknowledgements), and repetitions cost hosts nothing.
// No congestion control.
#include <cerrno>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

constexpr Time kFirstTimer = Time::us(200'000), kLastTimer = Time::us(120'000'000);
constexpr std::uint32_t kTries = 15;  // Linux's tcp_retries2

// When a segment goes once more that has been lost so often; no more: never().
Time next_try(std::uint32_t lost, Time now) {
  if (lost > kTries) return Time::never();
  return now + min(kFirstTimer * (std::int64_t{1} << (lost - 1)), kLastTimer);
}

void transfer(Context& context, RankId from, RankId to, std::uint64_t bytes, std::uint64_t user) {
  context.transfer(from, to,
                   {.bytes = context.config.ip_encapsulation_bytes + kSegmentHeaders + bytes,
                    .reads_memory = true,
                    .notifies = true},
                   user);
}

class Listen final : public OperationMachine<Operation<ListenDescriptor>> {
 public:
  using OperationMachine::OperationMachine;

 private:
  void execute(std::uint32_t id, Time now) override {
    const auto& op = (*this)[id];
    const std::pair<std::uint16_t, RankId> where{op.d.port, op.rank};
    if (op.d.datagrams != 0) {
      take_datagrams(where, op.d.host_port != 0, now);
      return finish(id);
    }
    if (op.d.host_port != 0)
      context_.listeners[where] = op.d.host_port;
    else
      context_.listeners.erase(where);
    context_.servers.insert(op.rank);
    context_.on_listen(now);
    finish(id);
  }

  void take_datagrams(std::pair<std::uint16_t, RankId> where, bool takes, Time now) {
    if (!takes) {
      context_.datagram_ports.erase(where);
      return;
    }
    context_.datagram_ports.insert(where);
    context_.takers.insert(where.second);
    context_.on_takes_datagrams(where.second, now);
  }
};

struct ConnectOperation : Operation<ConnectDescriptor> {
  enum class State : std::uint8_t { kNew, kAsked, kAtHost, kAnswered } state = State::kNew;
  std::uint32_t lost = 0;
  std::uint16_t host_port = 0;
};

class Connect final : public OperationMachine<ConnectOperation> {
 public:
  explicit Connect(Context& context) : OperationMachine(context) {
    context.on_listen = [this](Time now) {
      for (const std::uint32_t id : std::exchange(early_, {})) context_.events.schedule(now, on_execute(), id);
    };
  }

  void data_completed(std::uint32_t id, Status status, Time now) override {
    ConnectOperation& op = (*this)[id];
    if (status != Status::kOk) {
      const Time again = next_try(++op.lost, now);
      if (again == Time::never()) op.status = -ETIMEDOUT;
      if (op.status != 0) return end(id, now);
      op.state = ConnectOperation::State::kNew;
      return context_.events.schedule(again, on_execute(), id);
    }
    if (op.state == ConnectOperation::State::kAnswered) return end(id, now);
    op.state = ConnectOperation::State::kAtHost;
    const NiConfig& ni = context_.config;
    context_.events.schedule(context_.after(now, ni.ip_receive + ni.ip_send), on_execute(), id);
  }

 private:
  void execute(std::uint32_t id, Time now) override {
    ConnectOperation& op = (*this)[id];
    if (op.state == ConnectOperation::State::kNew) return ask(id, now);
    if (!context_.servers.contains(target(op))) return early_.push_back(id);
    const auto found = context_.listeners.find({op.d.peer_port, target(op)});
    if (found == context_.listeners.end())
      op.status = -ECONNREFUSED;
    else
      op.host_port = found->second;
    op.state = ConnectOperation::State::kAnswered;
    transfer(context_, target(op), op.rank, 0, user(id));
  }

  void ask(std::uint32_t id, Time now) {
    ConnectOperation& op = (*this)[id];
    if (op.d.peer.rank == kAnyRank && context_.servers.empty()) return early_.push_back(id);
    if (op.d.peer.rank == kAnyRank) op.d.peer.rank = found(op.d.peer_port, op.rank);
    if (unreachable(op)) {
      op.status = -ECONNREFUSED;
      return end(id, now);
    }
    op.state = ConnectOperation::State::kAsked;
    transfer(context_, op.rank, target(op), 0, user(id));
  }

  bool listens(std::uint16_t port, RankId rank) const { return context_.listeners.contains({port, rank}); }

  RankId found(std::uint16_t port, RankId own) const {
    if (listens(port, own)) return own;
    const auto first = context_.listeners.lower_bound({port, 0});
    return first != context_.listeners.end() && first->first.first == port ? first->first.second : kAnyRank;
  }

  void end(std::uint32_t id, Time now) {
    const ConnectOperation& op = (*this)[id];
    auto done = context_.completion<ConnectCompletion>(op.rank, op.d, now, op.status);
    done.peer = op.d.peer;
    done.port = op.d.port;
    done.peer_port = op.d.peer_port;
    done.host_port = op.host_port;
    done.cpu_ps = static_cast<std::uint32_t>(context_.config.ip_receive.ps());
    context_.host.complete(op.rank, done, {});
    finish(id);
  }

  std::vector<std::uint32_t> early_;  // wait for the first to listen
};

struct SegmentOperation : Operation<SegmentDescriptor> {
  std::uint32_t lost = 0;
};

class Segments final : public OperationMachine<SegmentOperation> {
 public:
  using OperationMachine::OperationMachine;

  void data_completed(std::uint32_t id, Status status, Time now) override {
    SegmentOperation& op = (*this)[id];
    if (status != Status::kOk) return repeat(id, now);
    if (op.d.segment_kind == SegmentKind::kWindow) return come(id, now);
    Direction& direction = directions_[key(op)];
    direction.early.emplace(op.d.sequence, id);
    bool over = false;
    while (!direction.early.empty() && direction.early.begin()->first == direction.next) {
      const std::uint32_t next = direction.early.begin()->second;
      direction.early.erase(direction.early.begin());
      ++direction.next;
      over = (*this)[next].d.segment_kind == SegmentKind::kFinish;
      come(next, now);
    }
    if (over) directions_.erase(key((*this)[id]));
  }

 private:
  using Key = std::tuple<RankId, RankId, std::uint16_t, std::uint16_t>;
  struct Direction {  // of a stream
    std::uint32_t next = 0;
    std::map<std::uint32_t, std::uint32_t> early;  // by sequence: have come before one that was sent before
  };

  template <typename Op>
  static Key key(const Op& op) {
    return {op.rank, op.d.peer.rank, op.d.port, op.d.peer_port};
  }

  void execute(std::uint32_t id, Time) override {
    const auto& op = (*this)[id];
    if (unreachable(op)) return finish(id);
    const bool carries = op.d.segment_kind == SegmentKind::kData || op.d.segment_kind == SegmentKind::kFull;
    transfer(context_, op.rank, target(op), carries ? op.d.length : 0, user(id));
  }

  void repeat(std::uint32_t id, Time now) {
    SegmentOperation& op = (*this)[id];
    const Time again = next_try(++op.lost, now);
    if (again != Time::never()) return context_.events.schedule(again, on_execute(), id);
    op.status = -ETIMEDOUT;
    deliver(id, op.rank, Address{target(op), 0}, op.d.port, op.d.peer_port, now);
    finish(id);
  }

  void come(std::uint32_t id, Time now) {
    const auto& op = (*this)[id];
    deliver(id, target(op), Address{op.rank, 0}, op.d.peer_port, op.d.port, now);
    finish(id);
  }

  void deliver(std::uint32_t id, RankId to, Address peer, std::uint16_t port, std::uint16_t peer_port, Time now) {
    const auto& op = (*this)[id];
    auto done = context_.completion<SegmentCompletion>(to, op.d, now, op.status);
    done.peer = peer;
    done.length = op.d.length;
    done.port = port;
    done.peer_port = peer_port;
    done.segment_kind = op.d.segment_kind;
    done.cpu_ps = static_cast<std::uint32_t>(context_.config.ip_receive.ps());
    context_.host.complete(to, done, {});
  }

  std::map<Key, Direction> directions_;
};

}  // namespace

std::unique_ptr<StateMachine> make_listen(Context& context) { return std::make_unique<Listen>(context); }
std::unique_ptr<StateMachine> make_connect(Context& context) { return std::make_unique<Connect>(context); }
std::unique_ptr<StateMachine> make_segment(Context& context) { return std::make_unique<Segments>(context); }

}  // namespace exanet
