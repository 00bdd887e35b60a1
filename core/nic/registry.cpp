// SPDX-License-Identifier: Apache-2.0
#include "core/config/names.hpp"
#include "core/nic/nic.hpp"

namespace exanet {

// A new network interface is one line here: the function in its folder that describes it.
#define EXANET_NICS(entry) entry(ideal) entry(exanet_interface) entry(ultra_ethernet)

namespace nics {
#define EXANET_DECLARE(name) NicKind name();
EXANET_NICS(EXANET_DECLARE)
}  // namespace nics

const std::vector<NicKind>& nic_kinds() {
#define EXANET_CALL(name) nics::name(),
  static const std::vector<NicKind> kinds{EXANET_NICS(EXANET_CALL)};
  return kinds;
}

std::vector<std::string> nic_names() {
  std::vector<std::string> names;
  for (const NicKind& kind : nic_kinds()) names.emplace_back(kind.name);
  return names;
}

const NicKind& nic_kind(const std::string& name) {
  std::string known;
  for (const NicKind& kind : nic_kinds()) {
    if (name == kind.name) return kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("nic", "is no network interface", name, known);
}

}  // namespace exanet
