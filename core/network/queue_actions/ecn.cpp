// SPDX-License-Identifier: Apache-2.0
// Explicit congestion notification: a packet that joins a queue of the threshold or more is marked, and stays so. The threshold is one step, as
// DCTCP's K (Alizadeh et al., SIGCOMM 2010); a ramp with a probability is another action.
#include "core/config/error.hpp"
#include "core/network/queue_actions/queue_action.hpp"

namespace exanet {

namespace {

class Ecn final : public QueueAction {
 public:
  explicit Ecn(std::uint32_t threshold) : threshold_(threshold) {}
  Verdict join(const OutputQueue& queue, Packet& packet) override {
    if (queue.words >= threshold_) packet.notes |= Packet::kCongested;
    return Verdict::kPass;
  }

 private:
  std::uint32_t threshold_;
};

RouterConfig sample(std::int64_t threshold) {
  RouterConfig router;
  router.ecn_threshold_words = threshold;
  return router;
}

}  // namespace

namespace queue_actions {

QueueActionKind ecn() {
  return {"ecn",
          "marks packets that join a queue of `ecn_threshold` or more",
          false,
          {sample(1), sample(64)},
          [](const NetworkConfig& config) -> std::unique_ptr<QueueAction> {
            return std::make_unique<Ecn>(require_in_range(config.router.ecn_threshold_words, 1, 1 << 24,
                                                          "router.ecn_threshold_words", "ecn_threshold"));
          }};
}

}  // namespace queue_actions

}  // namespace exanet
