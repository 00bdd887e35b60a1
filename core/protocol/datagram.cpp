// SPDX-License-Identifier: Apache-2.0
// Datagrams of UDP between ranks (runtime/sockets): who takes them at a port, fragments, and ports where nobody does.
//
// Problem: as of streams (stream.cpp), but nothing is promised: a datagram comes whole or not at all, and its sender
// hears of neither.
//
// Model: the sender's host has cut a datagram into fragments, as IP does (RFC 791): each is a transfer of its headers
// and bytes. A fragment costs the receiver's processor when it has come; with the last one the datagram is there, in
// whatever order they have come. One that is lost takes the datagram with it. A fragment leaves its sender's buffer
// when it has come, or is lost: the network holds little beside what waits at the interface.
// Where nobody takes datagrams at the port, the other host says so by a message of ICMP (RFC 792), as long as Linux
// makes it: up to 576 bytes, of the datagram what fits.
// A request for an echo, which ping sends, is answered by the destination's host with the same bytes, whatever the rank
// there does.
// A rank that has never taken datagrams is a host that is not up yet, as for streams: what comes for it is kept, up to
// what Linux keeps for a neighbour without an address (unres_qlen_bytes), the newest.
//
//   fragment: sent ──▶ come ──▶ (all have) ──▶ taken │ kept │ to be answered ──▶ answered
//
// Limits: fragments wait for one another without end (30 s in Linux). Messages of ICMP are not rationed.
#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

constexpr std::uint32_t kIpHeader = 20, kUdpHeader = 8, kIcmpHeader = 8, kLongestIcmp = 576;
constexpr std::size_t kKeptBytes = 212'992;  // unres_qlen_bytes

struct DatagramOperation : Operation<DatagramDescriptor> {
  enum class State : std::uint8_t { kNew, kToAnswer, kAnswered } state = State::kNew;
};

class Datagrams final : public OperationMachine<DatagramOperation> {
 public:
  explicit Datagrams(Context& context) : OperationMachine(context) {
    context.on_takes_datagrams = [this](RankId rank, Time now) { hand_over(rank, now); };
  }

  void data_completed(std::uint32_t id, Status status, Time now) override {
    const DatagramOperation& op = (*this)[id];
    if (op.state == DatagramOperation::State::kAnswered) {
      if (status == Status::kOk)
        notify_sender(id, op.d.echo != 0 ? DatagramKind::kEchoed : DatagramKind::kRefused, now);
      return finish(id);
    }
    notify_sender(id, DatagramKind::kSent, now);
    if (op.d.echo != 0) return status == Status::kOk ? answer(id, now) : finish(id);
    const Key key{op.rank, target(op), op.d.identification};
    Datagram& datagram = datagrams_[key];
    datagram.fragments.resize(op.d.fragments);
    if (status == Status::kOk)
      datagram.fragments[op.d.fragment].assign(op.payload.begin(), op.payload.end());
    else
      datagram.lost = true;
    const bool all = ++datagram.seen == op.d.fragments;
    if (status == Status::kOk && (!all || datagram.lost)) cost_part(id, now);
    if (!all) return finish(id);
    Datagram whole = std::move(datagram);
    datagrams_.erase(key);
    whole.last = id;
    if (whole.lost) return finish(id);
    arrive(std::move(whole), now);
  }

 private:
  using Key = std::tuple<RankId, RankId, std::uint32_t>;
  struct Datagram {
    std::vector<std::vector<std::byte>> fragments;
    std::uint32_t seen = 0, last = 0;  // last: operation of the fragment that has come last
    bool lost = false;
  };
  struct Kept {
    DatagramDescriptor d;
    RankId from = 0;
    std::vector<std::vector<std::byte>> fragments;
  };

  void execute(std::uint32_t id, Time now) override {
    DatagramOperation& op = (*this)[id];
    const std::uint32_t around = context_.config.ip_encapsulation_bytes;
    if (op.state == DatagramOperation::State::kToAnswer) {
      op.state = DatagramOperation::State::kAnswered;
      const std::uint32_t refusal = 2 * kIpHeader + kIcmpHeader + kUdpHeader + op.d.length;
      const std::uint32_t echo = kIpHeader + op.d.length;
      return transfer(target(op), op.rank, around + (op.d.echo != 0 ? echo : std::min(refusal, kLongestIcmp)), id);
    }
    if (unreachable(op)) {
      notify_sender(id, DatagramKind::kSent, now);
      return finish(id);
    }
    const std::uint32_t headers = kIpHeader + (op.d.fragment == 0 && op.d.echo == 0 ? kUdpHeader : 0);
    transfer(op.rank, target(op), around + headers + op.payload.size(), id);
  }

  void transfer(RankId from, RankId to, std::uint64_t bytes, std::uint32_t id) {
    context_.transfer(from, to, {.bytes = bytes, .reads_memory = true, .notifies = true}, user(id));
  }

  bool takes(std::uint16_t port, RankId rank) const { return context_.datagram_ports.contains({port, rank}); }

  void arrive(Datagram whole, Time now) {
    DatagramOperation& op = (*this)[whole.last];
    if (takes(op.d.peer_port, target(op))) {
      deliver(op.d, op.rank, whole.fragments, now);
    } else if (!context_.takers.contains(target(op))) {
      cost_part(whole.last, now);
      keep({op.d, op.rank, std::move(whole.fragments)});
    } else {
      cost_part(whole.last, now);
      return answer(whole.last, now);
    }
    finish(whole.last);
  }

  // By the host, whose processor takes the datagram and sends.
  void answer(std::uint32_t id, Time now) {
    (*this)[id].state = DatagramOperation::State::kToAnswer;
    const NiConfig& ni = context_.config;
    context_.events.schedule(context_.after(now, ni.ip_receive + ni.ip_send), on_execute(), id);
  }

  void keep(Kept datagram) {
    std::deque<Kept>& kept = kept_[datagram.d.peer.rank];
    std::size_t& bytes = kept_bytes_[datagram.d.peer.rank];
    bytes += datagram.d.length;
    kept.push_back(std::move(datagram));
    for (; bytes > kKeptBytes; kept.pop_front()) bytes -= kept.front().d.length;
  }

  void hand_over(RankId rank, Time now) {
    const auto found = kept_.find(rank);
    if (found == kept_.end()) return;
    for (const Kept& kept : std::exchange(found->second, {}))
      if (takes(kept.d.peer_port, rank)) deliver(kept.d, kept.from, kept.fragments, now, false);
    kept_.erase(found);
  }

  DatagramCompletion completion(const DatagramDescriptor& d, RankId to, DatagramKind kind, Time now) const {
    auto done = context_.completion<DatagramCompletion>(to, d, now);
    done.datagram_kind = kind;
    done.cpu_ps = 0;
    return done;
  }

  std::uint32_t receive_ps() const { return static_cast<std::uint32_t>(context_.config.ip_receive.ps()); }

  // `costs`: the last fragment, which its receiver's processor has not taken yet.
  void deliver(const DatagramDescriptor& d, RankId from, const std::vector<std::vector<std::byte>>& fragments, Time now,
               bool costs = true) {
    for (const std::vector<std::byte>& fragment : fragments) {
      DatagramCompletion done = completion(d, d.peer.rank, DatagramKind::kArrived, now);
      done.peer = Address{from, 0};
      done.port = d.peer_port;
      done.peer_port = d.port;
      done.length = d.length;
      if (std::exchange(costs, false)) done.cpu_ps = receive_ps();
      context_.host.complete(d.peer.rank, done, fragment);
    }
  }

  void cost_part(std::uint32_t id, Time now) {
    const DatagramOperation& op = (*this)[id];
    DatagramCompletion done = completion(op.d, target(op), DatagramKind::kPart, now);
    done.cpu_ps = receive_ps();
    context_.host.complete(target(op), done, {});
  }

  void notify_sender(std::uint32_t id, DatagramKind kind, Time now) {
    const DatagramOperation& op = (*this)[id];
    DatagramCompletion done = completion(op.d, op.rank, kind, now);
    done.cookie = op.d.cookie;
    done.peer = op.d.peer;
    done.port = op.d.port;
    done.peer_port = op.d.peer_port;
    done.length = static_cast<std::uint16_t>(op.payload.size());
    if (kind != DatagramKind::kSent) done.cpu_ps = receive_ps();
    context_.host.complete(op.rank, done, kind == DatagramKind::kEchoed ? Payload(op.payload) : Payload());
  }

  std::map<Key, Datagram> datagrams_;  // some of whose fragments have come, or were lost
  std::map<RankId, std::deque<Kept>> kept_;
  std::map<RankId, std::size_t> kept_bytes_;
};

}  // namespace

std::unique_ptr<StateMachine> make_datagram(Context& context) { return std::make_unique<Datagrams>(context); }

}  // namespace exanet
