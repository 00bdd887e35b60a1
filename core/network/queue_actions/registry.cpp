// SPDX-License-Identifier: Apache-2.0
#include "core/config/names.hpp"
#include "core/network/queue_actions/queue_action.hpp"

namespace exanet {

// A new action is one line here: the function at the end of its file that describes it.
#define EXANET_QUEUE_ACTIONS(entry)                                                                           \
  entry(none) entry(ecn) entry(ecn_ramp) entry(ecn_trim) entry(ecn_drop) entry(trim) entry(drop) entry(depth) \
      entry(hpcc) entry(acc)

namespace queue_actions {
#define EXANET_DECLARE(name) QueueActionKind name();
EXANET_QUEUE_ACTIONS(EXANET_DECLARE)

QueueActionKind none() { return {"none", "leaves packets as they are", false, {}, nullptr}; }
}  // namespace queue_actions

const std::vector<QueueActionKind>& queue_action_kinds() {
#define EXANET_CALL(name) queue_actions::name(),
  static const std::vector<QueueActionKind> kinds{EXANET_QUEUE_ACTIONS(EXANET_CALL)};
  return kinds;
}

const QueueActionKind& queue_action_kind(const std::string& name) {
  std::string known;
  for (const QueueActionKind& kind : queue_action_kinds()) {
    if (name == kind.name) return kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("router.queue_action", "is no queue action", name, known);
}

std::unique_ptr<QueueAction> make_queue_action(const NetworkConfig& config, const Topology& topology,
                                               bool may_discard) {
  const QueueActionKind& kind = queue_action_kind(config.router.queue_action);
  require(may_discard || !kind.discards, "router.queue_action",
          "queue_action is '" + config.router.queue_action +
              "', which trims or drops packets: only switches of whole packets do that, with 'switching: cut-through'");
  return kind.make == nullptr ? nullptr : kind.make({config, topology});
}

}  // namespace exanet
