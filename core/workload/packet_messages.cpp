// SPDX-License-Identifier: Apache-2.0
// A message plan at packet level, through interfaces that cost nothing: a packet of each message that may start in
// turn, as fast as the network takes them; or, if they are paced, no faster than the flow level says that its message
// can move. What remains between the levels then is not due to how the network shares its links.
//
// Or through interfaces with costs, each message as an acknowledged RDMA transfer, under the machine's congestion
// control if there is one.
//
// Paced senders begin at random moments, each within the time of one of its packets, as interfaces with clocks of their
// own do. In step with each other they would load links that are full to the last word in a pattern that repeats for
// ever: where a FIFO's packets come as four for one output, then four for another, each output is idle while the head
// waits for the other.
#include <cmath>
#include <ctime>
#include <optional>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/lofamo/notice.hpp"
#include "core/network/fault_driver.hpp"
#include "core/network/model.hpp"
#include "core/nic/ideal/ideal_nic.hpp"
#include "core/protocol/failure.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/check.hpp"
#include "core/workload/flow_table.hpp"
#include "core/workload/message_run.hpp"
#include "core/workload/message_samples.hpp"

namespace exanet {

namespace {

class PacketMessages final : public MessageRun, private NicListener {
 public:
  PacketMessages(const TopologySpec& spec, const NetworkConfig& fabric, const MessageConfig& config)
      : config_(config),
        fabric_(seeded(failing(fabric, config.faults), config.seed)),
        topology_(make_topology(following(spec, config.faults))),
        network_(*topology_, fabric_, config.packet_bytes),
        plan_(make_message_plan(config, *topology_, spec, network_.endpoint_rate_bps())),
        nic_(make_interfaces()),
        states_(plan_.messages.size()) {
    start_event_ = queue_.add_handler([](void* self, Time now, std::uint32_t message,
                                         std::uint64_t) { static_cast<PacketMessages*>(self)->start(message, now); },
                                      this);
    if (!config.faults.empty()) {
      const FaultPlan plan = plan_of(config.faults, *topology_);
      faults_.emplace(nic_->links(), *topology_, plan, lofamo::notice(config.faults, plan, *topology_)).run_on(queue_);
    }
    times_.accepted_bytes.resize(topology_->endpoint_count());
    times_.ready.resize(plan_.messages.size());
    times_.arrived.resize(plan_.messages.size(), Time::never());
    for (const auto& [message, earlier, sent] : plan_.after) {
      ++states_[message].waits;
      (sent && ideal_ == nullptr ? states_[earlier].awaiting_source : states_[earlier].dependents).push_back(message);
    }
    if (config.paced) set_rates();
    for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) {
      if (states_[m].waits > 0) continue;
      const Time first = Time::ps(static_cast<std::int64_t>(std::ceil(states_[m].next_ps)));
      queue_.schedule(plan_.messages[m].start + first, start_event_, m);
    }
    if (config.sample > Time()) samples_.emplace(queue_, *topology_, *model_, config.sample);
    if (config.load > 0) times_.begin = config.warm_up, times_.end = config.warm_up + config.measure;
  }

  bool run() override {
    const std::clock_t started = std::clock();
    const bool open_loop = config_.load > 0;
    std::vector<LinkCount> before, after;
    if (open_loop) {
      advance(times_.begin);
      before = link_counts(*topology_, *model_, times_.begin);
      advance(times_.end);
      after = link_counts(*topology_, *model_, times_.end);
    }
    if (!advance(open_loop ? times_.end + config_.measure : Time::never())) return false;
    require(failure_.empty(), "", failure_);
    if (!open_loop) {
      EXANET_CHECK(done_ == plan_.messages.size() && model_->in_flight() == 0, "messages are stuck in the network",
                   queue_.now().ps(), done_, plan_.messages.size());
      times_.end = last_;
    }
    // Interfaces with costs count control packets when they queue them.
    EXANET_CHECK(ideal_ == nullptr || nic_->packets() == packets_ + model_->in_flight(), "packets were lost or doubled",
                 queue_.now().ps(), nic_->packets(), packets_);
    finish(before, open_loop ? after : link_counts(*topology_, *model_, times_.end));
    result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    report_progress(1, 1);
    return true;
  }

 private:
  struct State {
    std::uint32_t waits = 0;
    double next_ps = 0, packet_ps = 0;  // if paced: of the next packet, and from one to the next
    std::vector<std::uint32_t> dependents, awaiting_source;  // when it has arrived, and when its source knows that
  };
  static NetworkConfig seeded(NetworkConfig fabric, std::uint64_t seed) {
    fabric.seed = seed;
    return fabric;
  }
  std::unique_ptr<Nic> make_interfaces() {
    const NicSetup setup{
        queue_,
        *topology_,
        fabric_,
        config_.interface,
        *this,
        [this](EventQueue& events, const Topology& topology, const NetworkConfig& built, PacketSink sink) {
          auto made = make_network_model({{&events, sink}}, topology, built, {});
          model_ = made.get();
          return made;
        }};
    if (config_.nic != "ideal") {
      require(!config_.paced, "paced",
              "senders can be paced by the flow level's rates only with ideal interfaces: leave out one of the two");
      return nic_kind(config_.nic).make(setup);
    }
    auto own = std::make_unique<IdealNic>(setup, config_.packet_bytes);
    ideal_ = own.get();
    return own;
  }

  bool advance(Time limit) {
    while (!queue_.empty() && queue_.now() < limit && !stopped()) {
      queue_.run_until(min(limit, queue_.now() + Time::us(1)));
      report_progress(done_, plan_.messages.size());
    }
    return !stopped();
  }

  void set_rates() {
    network_.require_fixed_routes();
    MaxMin sharing = sharing_of(network_);
    std::vector<ResourceId> path;
    for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) {
      network_.route(plan_.messages[m].src, plan_.messages[m].dst, path);
      sharing.add(m, path);
    }
    sharing.solve();
    for (std::uint32_t m = 0; m < plan_.messages.size(); ++m) {
      states_[m].packet_ps = network_.volume_bits(config_.packet_bytes) * 1e18 / static_cast<double>(sharing.rate(m));
      states_[m].next_ps = Random(config_.seed, m).unit() * states_[m].packet_ps;
    }
  }

  void start(std::uint32_t message, Time now) {
    const MessagePlan::Message& m = plan_.messages[message];
    times_.ready[message] = config_.paced ? m.start : now;
    if (ideal_ == nullptr) {
      nic_->post(RdmaTransfer{m.src, m.dst, m.bytes, true, true, message});
      return nic_->doorbell(m.src);
    }
    const bool others =
        ideal_->waiting(m.src, m.dst);  // the network has refused the one whose turn it is, or that is not due
    ideal_->post(IdealMessage{m.src, m.dst, m.bytes, message, 0, states_[message].next_ps, states_[message].packet_ps});
    if (!others) ideal_->doorbell(m.src);
  }

  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_acknowledged(std::uint64_t user, Status status, Time now) override {
    if (status == Status::kOk) release(states_[user].awaiting_source, now);
  }

  void packet_delivered(const Packet& packet, Time injected, Time now) override {
    ++packets_;
    if (ideal_ == nullptr && packet.payload_bytes > 0) flows_.delivered(packet, now - injected);
    if (samples_ && packet.payload_bytes > 0) samples_->delivered(packet, now);
    if (config_.load == 0 || (now >= times_.begin && now < times_.end))
      times_.accepted_bytes[packet.src] += packet.payload_bytes;
  }

  void transfer_completed(std::uint64_t user, Status status, Time now) override {
    if (status != Status::kOk) {
      if (failure_.empty())
        failure_ = "the simulation cannot go on: at " + in_microseconds(now) + " message " + std::to_string(user) +
                   " failed: " + network_failure(completion_status(status));
      return;
    }
    times_.arrived[user] = last_ = now;
    ++done_;
    release(states_[user].dependents, now);
  }

  void release(const std::vector<std::uint32_t>& waiting, Time now) {
    for (const std::uint32_t next : waiting)
      if (--states_[next].waits == 0) queue_.schedule(max(now, plan_.messages[next].start), start_event_, next);
  }

  void finish(const std::vector<LinkCount>& before, const std::vector<LinkCount>& after) {
    summarize(config_, plan_, times_, network_, result_);
    result_.completion_ns = static_cast<double>((config_.load > 0 ? queue_.now() : last_).ps()) * 1e-3;
    if (packets_ > 0) result_.mean_hops = static_cast<double>(model_->packet_hops()) / static_cast<double>(packets_);
    result_.events = queue_.processed() - (samples_ ? samples_->looks() : 0);
    if (samples_) result_.samples = samples_->take(config_, plan_, times_, network_);
    result_.work = model_->packet_hops();
    result_.memory_bytes = model_->memory_bytes();
    if (ideal_ == nullptr) result_.flows = flows_.table(config_, plan_, times_, network_);
    if (faults_) result_.faults = faults_->record(model_->lost(), 0, {});
    result_.links = link_use(*topology_, before, after, times_.end - times_.begin);
  }

  MessageConfig config_;
  const NetworkConfig fabric_;
  std::unique_ptr<Topology> topology_;
  FlowNetwork network_;
  MessagePlan plan_;
  EventQueue queue_;
  const NetworkModel* model_ = nullptr;
  IdealNic* ideal_ = nullptr;  // null: interfaces with costs
  std::unique_ptr<Nic> nic_;
  FlowTable flows_;  // of interfaces with costs
  std::vector<State> states_;
  std::uint32_t start_event_ = 0;
  MessageTimes times_;
  Time last_;
  std::size_t done_ = 0;
  std::uint64_t packets_ = 0;  // delivered
  std::string failure_;  // the first
  std::optional<FaultDriver> faults_;
  std::optional<MessageSampler> samples_;
};

}  // namespace

std::unique_ptr<MessageRun> make_packet_messages(const TopologySpec& spec, const NetworkConfig& fabric,
                                                 const MessageConfig& config) {
  return std::make_unique<PacketMessages>(spec, fabric, config);
}

}  // namespace exanet
