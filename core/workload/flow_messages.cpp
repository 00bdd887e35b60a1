// SPDX-License-Identifier: Apache-2.0
// A message plan at flow level.
#include <cmath>
#include <ctime>
#include <optional>

#include "core/config/error.hpp"
#include "core/flow/flow_simulator.hpp"
#include "core/flow/fluid_simulator.hpp"
#include "core/lofamo/notice.hpp"
#include "core/network/fault_driver.hpp"
#include "core/protocol/failure.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/check.hpp"
#include "core/workload/message_run.hpp"

namespace exanet {

namespace {

class FlowMessages final : public MessageRun, private FaultTarget {
 public:
  FlowMessages(const TopologySpec& spec, const NetworkConfig& fabric, const MessageConfig& config)
      : config_(config),
        topology_(make_topology(following(spec, config.faults))),
        network_(*topology_, failing(fabric, config.faults), config.packet_bytes),
        plan_(make_message_plan(config, *topology_, spec, network_.endpoint_rate_bps())),
        owned_(config.fluid ? std::unique_ptr<Flows>(std::make_unique<FluidSimulator>(network_))
                            : std::make_unique<FlowSimulator>(network_, config.grain)),
        flows_(*owned_) {
    if (!config.faults.empty()) {
      const FaultPlan plan = plan_of(config.faults, *topology_);
      faults_.emplace(static_cast<FaultTarget&>(*this), *topology_, plan,
                      lofamo::notice(config.faults, plan, *topology_));
    }
  }

  bool run() override {
    const std::clock_t started = std::clock();
    for (const auto& m : plan_.messages) flows_.add(m.src, m.dst, m.bytes, m.start);
    for (const MessagePlan::After& after : plan_.after) flows_.after(after.message, after.earlier);
    if (!(config_.load > 0 ? run_open_loop() : run_burst())) return false;
    result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    report_progress(1, 1);
    return true;
  }

 private:
  void set_link(PortRef link, bool up, Time) override {
    network_.set_link(link, up);
    flows_.links_changed();
  }
  void set_rate(PortRef link, std::uint32_t rate, Time) override {
    if (config_.fluid)
      throw ConfigError("faults", "links of a fluid keep their rate: take 'slow' out, or say --sharing max-min");
    network_.set_rate(link, rate);
    flows_.links_changed();
  }
  void set_interface(NodeId endpoint, bool up, Time) override {
    network_.set_endpoint(endpoint, up);
    flows_.links_changed();
  }

  // The next event by `limit`, a change of links included.
  bool step(Time limit) {
    if (!faults_ || faults_->next() > limit || faults_->next() == Time::never() || flows_.done())
      return flows_.step(limit);
    const Time change = faults_->next();
    if (change <= flows_.now() || !flows_.step(change)) faults_->apply(change);
    return true;
  }

  bool advance(Time limit) {
    while (step(limit)) {
      report_progress(flows_.finished_count(), plan_.messages.size());
      if (stopped()) return false;
    }
    check_none_lost();
    return true;
  }

  void check_none_lost() const {
    if (flows_.lost_count() == 0) return;
    FlowId first = 0;
    for (FlowId m = 0; m < plan_.messages.size(); ++m)
      if (flows_.finished(m) != Time::never() && flows_.status(m) != Status::kOk &&
          (flows_.status(first) == Status::kOk || flows_.finished(m) < flows_.finished(first)))
        first = m;
    throw ConfigError("", "the simulation cannot go on: at " + in_microseconds(flows_.finished(first)) + " message " +
                              std::to_string(first) +
                              " failed: " + network_failure(completion_status(flows_.status(first))));
  }

  bool run_burst() {
    if (!advance(Time::never())) return false;
    MessageTimes times{{}, {}, std::vector<double>(topology_->endpoint_count()), Time(), Time()};
    for (std::size_t m = 0; m < plan_.messages.size(); ++m) {
      times.end = max(times.end, flows_.finished(static_cast<FlowId>(m)));
      times.accepted_bytes[plan_.messages[m].src] += static_cast<double>(plan_.messages[m].bytes);
    }
    EXANET_CHECK(flows_.done(), "flows wait for each other", flows_.now().ps(), flows_.finished_count(),
                 plan_.messages.size());
    finish(std::move(times), std::vector<double>(network_.resource_count()), flows_.use_bits());
    return true;
  }

  // Until all messages that began in the window have arrived, or as much time again has passed.
  bool run_open_loop() {
    MessageTimes times{{}, {}, {}, config_.warm_up, config_.warm_up + config_.measure};
    if (!advance(times.begin)) return false;
    const std::vector<double> moved_before = moved_bytes(), use_before = flows_.use_bits();
    if (!advance(times.end)) return false;
    const std::vector<double> use_after = flows_.use_bits();
    times.accepted_bytes = moved_bytes();
    for (std::size_t i = 0; i < times.accepted_bytes.size(); ++i) times.accepted_bytes[i] -= moved_before[i];
    const Time stop = times.end + config_.measure;
    std::vector<FlowId> awaited;
    for (FlowId m = 0; m < plan_.messages.size(); ++m)
      if (plan_.messages[m].start >= times.begin && plan_.messages[m].start < times.end) awaited.push_back(m);
    for (std::size_t i = 0; i < awaited.size() && flows_.now() < stop;) {
      if (flows_.finished(awaited[i]) != Time::never()) {
        ++i;
        continue;
      }
      if (stopped()) return false;
      step(stop);
    }
    check_none_lost();
    finish(std::move(times), use_before, use_after);
    return true;
  }

  std::vector<double> moved_bytes() const {
    std::vector<double> bytes(topology_->endpoint_count());
    for (FlowId m = 0; m < plan_.messages.size(); ++m) bytes[plan_.messages[m].src] += flows_.moved_bits(m) / 8;
    return bytes;
  }

  void finish(MessageTimes times, const std::vector<double>& use_before, const std::vector<double>& use_after) {
    flows_.check_conserved();
    std::vector<double> link_bps;  // at the end
    link_bps.reserve(network_.resource_count());
    for (ResourceId r = 0; r < network_.resource_count(); ++r)
      link_bps.push_back(static_cast<double>(network_.capacity(r)) * 1e-6);
    network_.restore_rates();  // what a message takes alone is that of a network without faults
    for (FlowId m = 0; m < plan_.messages.size(); ++m) {
      times.ready.push_back(flows_.begun(m));
      times.arrived.push_back(flows_.finished(m));
    }
    summarize(config_, plan_, times, network_, result_);
    result_.completion_ns = static_cast<double>((config_.load > 0 ? flows_.now() : times.end).ps()) * 1e-3;
    result_.mean_hops = flows_.mean_hops();
    result_.events = flows_.events();
    result_.work = flows_.work();
    result_.memory_bytes = flows_.memory_bytes();
    if (faults_) result_.faults = faults_->record(0, 0, {});
    const double window_s = static_cast<double>((times.end - times.begin).ps()) * 1e-12;
    double volume = 0;  // of the mean message, which is what links are taken to have carried
    for (const auto& m : plan_.messages)
      volume += network_.volume_bits(m.bytes) / static_cast<double>(plan_.messages.size());
    each_link(*topology_, [&](NodeId node, std::uint16_t port, NodeId far) {
      const ResourceId r = network_.link(node, port);
      const double bits = use_after[r] - use_before[r], messages = bits / volume;
      const double share = bits / (link_bps[r] * window_s);
      result_.links.push_back({node, far, port, topology_->link_class(node, port),
                               static_cast<std::uint64_t>(std::llround(messages * result_.mean_packets)),
                               static_cast<std::uint64_t>(std::llround(messages * result_.mean_bytes)), share});
    });
  }

  MessageConfig config_;
  std::unique_ptr<Topology> topology_;
  FlowNetwork network_;
  MessagePlan plan_;
  std::unique_ptr<Flows> owned_;
  Flows& flows_;
  std::optional<FaultDriver> faults_;
};

}  // namespace

std::unique_ptr<MessageRun> make_flow_messages(const TopologySpec& spec, const NetworkConfig& fabric,
                                               const MessageConfig& config) {
  return std::make_unique<FlowMessages>(spec, fabric, config);
}

}  // namespace exanet
