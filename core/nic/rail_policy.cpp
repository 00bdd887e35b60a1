// SPDX-License-Identifier: Apache-2.0
#include "core/nic/rail_policy.hpp"

#include "core/config/names.hpp"

namespace exanet {

namespace {

class ByPair final : public RailPolicy {
 public:
  std::uint32_t choose(const RailRequest& request, const RailLoad&) override { return request.of_pair; }
};

template <class Policy>
RailPolicyKind describe(const char* name, const char* help, bool spreads) {
  return {name, help, spreads, [](std::size_t) -> std::unique_ptr<RailPolicy> { return std::make_unique<Policy>(); }};
}

}  // namespace

// A new policy is a class above and a line here.
const std::vector<RailPolicyKind>& rail_policy_kinds() {
  static const std::vector<RailPolicyKind> kinds{
      describe<ByPair>("pair", "one rail for each pair of nodes, so that all between them keeps its order", false),
  };
  return kinds;
}

const RailPolicyKind& rail_policy_kind(const std::string& name) {
  std::string known;
  for (const RailPolicyKind& kind : rail_policy_kinds()) {
    if (name == kind.name) return kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("ni.rail_policy", "is no rail policy", name, known);
}

}  // namespace exanet
