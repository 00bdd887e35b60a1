// SPDX-License-Identifier: Apache-2.0
#include "core/config/names.hpp"
#include "core/nic/targets/memory_target.hpp"

namespace exanet {

// A new kind of memory is one line here: the function at the end of its file that describes it. Host DRAM is number 0.
#define EXANET_MEMORIES(entry) entry(host_dram) entry(gpu_peer) entry(gpu_staged) entry(handlers)

namespace memories {
#define EXANET_DECLARE(name) MemoryKind name();
EXANET_MEMORIES(EXANET_DECLARE)
}  // namespace memories

const std::vector<MemoryKind>& memory_kinds() {
#define EXANET_CALL(name) memories::name(),
  static const std::vector<MemoryKind> kinds{EXANET_MEMORIES(EXANET_CALL)};
  return kinds;
}

std::uint8_t memory_kind(const std::string& name) {
  std::string known;
  for (std::size_t number = 0; number < memory_kinds().size(); ++number) {
    const MemoryKind& kind = memory_kinds()[number];
    if (name == kind.name) return static_cast<std::uint8_t>(number);
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("memory", "is no memory", name, known);
}

MemoryTargets::MemoryTargets(const NiConfig& config, std::size_t nodes) {
  for (const MemoryKind& kind : memory_kinds()) {
    targets_.push_back(kind.make(config, nodes));
    streams_.push_back(targets_.back()->streams());
  }
}

}  // namespace exanet
