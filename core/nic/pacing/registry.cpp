// SPDX-License-Identifier: Apache-2.0
#include "core/config/names.hpp"
#include "core/nic/pacing/pacing.hpp"

namespace exanet {

// A new rate control is one line here: the function at the end of its file that describes it.
#define EXANET_PACINGS(entry)                                                                                         \
  entry(none) entry(dcqcn) entry(timely) entry(swift) entry(hpcc) entry(acc) entry(nscc) entry(rccc) entry(nscc_rccc) \
      entry(ndp)

namespace pacings {
#define EXANET_DECLARE(name) PacingKind name();
EXANET_PACINGS(EXANET_DECLARE)

PacingKind none() {
  return {.name = "none", .help = "as fast as the port takes packets", .samples = {}, .make = nullptr, .packets = true};
}
}  // namespace pacings

const std::vector<PacingKind>& pacing_kinds() {
#define EXANET_CALL(name) pacings::name(),
  static const std::vector<PacingKind> kinds{EXANET_PACINGS(EXANET_CALL)};
  return kinds;
}

const PacingKind& pacing_kind(const std::string& name) {
  std::string known;
  for (const PacingKind& kind : pacing_kinds()) {
    if (name == kind.name) return kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("ni.congestion_control", "is no rate control", name, known);
}

void require_its_action(const PacingKind& kind, const std::string& queue_action) {
  if (kind.actions.empty()) return;
  std::string known;
  for (const std::string& action : kind.actions) {
    if (action == queue_action) return;
    known.append(known.empty() ? "" : " or ").append(action);
  }
  throw ConfigError("router.queue_action", "queue_action is '" + queue_action + "': with 'congestion_control: " +
                                               kind.name + "', which reacts to what routers note, say " + known);
}

void require_served(const PacingKind& kind, bool PacingKind::* served, const std::string& nic) {
  if (kind.*served) return;
  std::string known;
  for (const PacingKind& other : pacing_kinds())
    if (other.*served) known.append(known.empty() ? "" : ", ").append(other.name);
  throw ConfigError("ni.congestion_control", "congestion_control is '" + std::string(kind.name) + "', which " + nic +
                                                 " interfaces do not serve: say one of " + known);
}

}  // namespace exanet
