// SPDX-License-Identifier: Apache-2.0
// A message plan at packet level: each sender cuts its messages into packets, and hands over a packet of each message that may start in turn, as
// fast as the network takes them; or, if they are paced, no faster than the flow level says that its message can move. What remains between
// the levels then is not due to how the network shares its links.
//
// Paced senders begin at random moments, each within the time of one of its packets, as interfaces with clocks of their own do. In step with each
// other they would load links that are full to the last word in a pattern that repeats for ever: where a FIFO's packets come as four for one
// output, then four for another, each output is idle while the head waits for the other.
#include <cmath>
#include <ctime>
#include <deque>

#include "core/engine/random.hpp"
#include "core/units/check.hpp"
#include "core/workload/message_run.hpp"

namespace exanet {

namespace {

class PacketMessages final : public MessageRun {
 public:
  PacketMessages(const TopologySpec& spec, const FabricConfig& fabric, const MessageConfig& config)
      : config_(config),
        topology_(make_topology(spec)),
        network_(*topology_, fabric, config.packet_bytes),
        plan_(make_message_plan(config, *topology_, spec, network_.link_rate_bps())),
        model_(make_model({{&queue_, FabricSink{this, on_delivered, on_ready}}}, *topology_, fabric, {})),
        fabric_(*model_),
        senders_(topology_->endpoint_count()),
        states_(plan_.messages.size()) {
    start_event_ = queue_.add_handler(
        [](void* self, Time now, std::uint32_t message, std::uint64_t) { static_cast<PacketMessages*>(self)->start(message, now); }, this);
    times_.accepted_bytes.resize(topology_->endpoint_count());
    times_.ready.resize(plan_.messages.size());
    times_.arrived.resize(plan_.messages.size(), Time::never());
    for (const auto& [message, earlier] : plan_.after) {
      ++states_[message].waits;
      states_[earlier].dependents.push_back(message);
    }
    if (config.paced) pace();
    for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) {
      states_[m].left = plan_.messages[m].bytes;
      if (states_[m].waits == 0) queue_.schedule(plan_.messages[m].start + Time::ps(static_cast<std::int64_t>(std::ceil(states_[m].next_ps))), start_event_, m);
    }
    if (config.load > 0) times_.begin = config.warm_up, times_.end = config.warm_up + config.measure;
  }

  bool run() override {
    const std::clock_t started = std::clock();
    const bool open_loop = config_.load > 0;
    std::vector<LinkStats> before, after;
    if (open_loop) {
      advance(times_.begin);
      before = link_counts(*topology_, fabric_);
      advance(times_.end);
      after = link_counts(*topology_, fabric_);
    }
    if (!advance(open_loop ? times_.end + config_.measure : Time::never())) return false;
    if (!open_loop) {
      EXANET_CHECK(done_ == plan_.messages.size() && fabric_.in_flight() == 0, "messages are stuck in the network", queue_.now().ps(),
                   done_, plan_.messages.size());
      times_.end = last_;
    }
    EXANET_CHECK(injected_ == packets_ + fabric_.in_flight(), "packets were lost or doubled", queue_.now().ps(), injected_, packets_);
    finish(before, open_loop ? after : link_counts(*topology_, fabric_));
    result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    tell(1, 1);
    return true;
  }

 private:
  struct State {
    std::uint64_t left = 0;       // bytes that have not been handed over
    std::uint64_t delivered = 0;  // bytes
    std::uint32_t waits = 0;
    double next_ps = 0, packet_ps = 0;  // if paced: of the next packet, and from one to the next
    std::vector<std::uint32_t> dependents;
  };
  using Sender = std::deque<std::uint32_t>;  // messages that may start and have not been handed over altogether: whose turn it is first

  bool advance(Time limit) {
    while (!queue_.empty() && queue_.now() < limit && !stopped()) {
      queue_.run_until(min(limit, queue_.now() + Time::us(1)));
      tell(done_, plan_.messages.size());
    }
    return !stopped();
  }

  void pace() {
    MaxMin sharing(network_.resource_count());
    for (ResourceId r = 0; r < network_.resource_count(); ++r) sharing.set_capacity(r, network_.capacity(r));
    std::vector<ResourceId> way;
    for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) {
      network_.way(plan_.messages[m].src, plan_.messages[m].dst, way);
      sharing.add(m, way);
    }
    sharing.solve();
    for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) {
      states_[m].packet_ps = network_.volume_bits(config_.packet_bytes) * 1e18 / static_cast<double>(sharing.rate(m));
      states_[m].next_ps = Random(config_.seed, m).unit() * states_[m].packet_ps;
    }
  }

  // Also called when a paced message's next packet is due.
  void start(std::uint32_t message, Time now) {
    if (states_[message].left < plan_.messages[message].bytes) return offer(plan_.messages[message].src);
    times_.ready[message] = config_.paced ? plan_.messages[message].start : now;
    Sender& sender = senders_[plan_.messages[message].src];
    sender.push_back(message);
    if (sender.size() == 1) offer(plan_.messages[message].src);
  }

  void offer(NodeId node) {
    Sender& sender = senders_[node];
    while (!sender.empty()) {
      const std::uint32_t m = sender.front();
      if (config_.paced && states_[m].next_ps > static_cast<double>(queue_.now().ps())) return;  // its event comes
      const auto bytes = static_cast<std::uint16_t>(std::min<std::uint64_t>(states_[m].left, config_.packet_bytes));
      if (!fabric_.inject({node, plan_.messages[m].dst, bytes, 0, 0, m})) return;  // on_ready() comes back
      ++injected_;
      sender.pop_front();
      if ((states_[m].left -= bytes) == 0) continue;
      sender.push_back(m);
      if (config_.paced) {
        states_[m].next_ps += states_[m].packet_ps;
        queue_.schedule(max(queue_.now(), Time::ps(static_cast<std::int64_t>(std::ceil(states_[m].next_ps)))), start_event_, m);
      }
    }
  }

  static void on_ready(void* self, NodeId node, std::uint8_t, std::uint8_t, Time) { static_cast<PacketMessages*>(self)->offer(node); }

  static void on_delivered(void* self, const Packet& packet, Time, Time tail) {
    PacketMessages& s = *static_cast<PacketMessages*>(self);
    const auto m = static_cast<std::uint32_t>(packet.user);
    ++s.packets_;
    if (s.config_.load == 0 || (tail >= s.times_.begin && tail < s.times_.end)) s.times_.accepted_bytes[packet.src] += packet.payload_bytes;
    State& state = s.states_[m];
    if ((state.delivered += packet.payload_bytes) < s.plan_.messages[m].bytes) return;
    EXANET_CHECK(state.delivered == s.plan_.messages[m].bytes, "more arrived than was sent", tail.ps(), m, state.delivered);
    s.times_.arrived[m] = s.last_ = tail;
    ++s.done_;
    for (const std::uint32_t next : state.dependents)
      if (--s.states_[next].waits == 0) s.queue_.schedule(max(tail, s.plan_.messages[next].start), s.start_event_, next);
  }

  void finish(const std::vector<LinkStats>& before, const std::vector<LinkStats>& after) {
    summarize(config_, plan_, times_, network_, result_);
    result_.completion_ns = static_cast<double>((config_.load > 0 ? queue_.now() : last_).ps()) * 1e-3;
    if (packets_ > 0) result_.mean_hops = static_cast<double>(fabric_.packet_hops()) / static_cast<double>(packets_);
    result_.events = queue_.processed();
    result_.work = fabric_.packet_hops();
    result_.memory_bytes = fabric_.memory_bytes();
    result_.links = link_use(*topology_, before, after, times_.end - times_.begin);
  }

  MessageConfig config_;
  std::unique_ptr<Topology> topology_;
  FlowNetwork network_;
  MessagePlan plan_;
  EventQueue queue_;
  std::unique_ptr<NetworkModel> model_;
  NetworkModel& fabric_;
  std::vector<Sender> senders_;
  std::vector<State> states_;
  std::uint32_t start_event_ = 0;
  MessageTimes times_;
  Time last_;
  std::size_t done_ = 0;
  std::uint64_t injected_ = 0, packets_ = 0;  // handed over, delivered
};

}  // namespace

std::unique_ptr<MessageRun> make_packet_messages(const TopologySpec& spec, const FabricConfig& fabric, const MessageConfig& config) {
  return std::make_unique<PacketMessages>(spec, fabric, config);
}

}  // namespace exanet
