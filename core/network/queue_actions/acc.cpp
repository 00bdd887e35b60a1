// SPDX-License-Identifier: Apache-2.0
// Accurate Congestion Control (ACC) in routers: a contention point (contention_point.hpp) in front of each output, to
// links and to network interfaces. It sees flow-rate packets alone; data pass. The sources' part is
// core/nic/pacing/acc.cpp.
#include <string>
#include <unordered_map>

#include "core/config/error.hpp"
#include "core/network/queue_actions/contention_point.hpp"
#include "core/network/queue_actions/output_rates.hpp"
#include "core/network/queue_actions/queue_action.hpp"

namespace exanet {

namespace {

class Acc final : public QueueAction {
 public:
  Acc(const QueueActionSetup& setup, std::uint32_t margin_percent)
      : rates_(setup.config, setup.topology), margin_(margin_percent), clock_(acc_clock(setup.config.router)) {}

  Verdict join(const OutputQueue& queue, Packet& packet) override {
    if (packet.payload_bytes > 0 || !FlowRatePacket::is(packet.stamp)) return Verdict::kPass;
    const std::uint64_t output = std::uint64_t{queue.node} << 16 | queue.port;
    auto found = points_.find(output);
    if (found == points_.end()) {
      const std::uint64_t rate = rates_.payload_bits_per_second(queue.node, queue.port);
      found = points_.emplace(output, ContentionPoint(rate, margin_, clock_)).first;
    }
    FlowRatePacket carried = FlowRatePacket::of(packet.stamp);
    found->second.pass(carried, queue.now);
    packet.stamp = carried.stamp();
    return Verdict::kPass;
  }

 private:
  OutputRates rates_;
  std::uint32_t margin_;
  ContentionPoint::Clock clock_;
  std::unordered_map<std::uint64_t, ContentionPoint> points_;
};

}  // namespace

namespace queue_actions {

QueueActionKind acc() {
  return {"acc",
          "lowers the explicit rate of flow-rate packets to the output's max-min fair share, for ACC",
          false,
          {RouterConfig()},
          [](const QueueActionSetup& setup) -> std::unique_ptr<QueueAction> {
            const RouterConfig& router = setup.config.router;
            require(router.acc_period > acc_clock(router).evaluation, "router.acc_period_ps",
                    "acc_period must be longer than the " + std::to_string(FairShare::kEvaluationCycles) +
                        " cycles of the router's clock in which a contention point works out its share");
            return std::make_unique<Acc>(
                setup, require_in_range(router.acc_margin_percent, 0, 50, "router.acc_margin_percent", "acc_margin"));
          }};
}

}  // namespace queue_actions

}  // namespace exanet
