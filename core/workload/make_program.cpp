// SPDX-License-Identifier: Apache-2.0

#include "core/config/names.hpp"
#include "core/workload/program.hpp"

namespace exanet {

// The files that describe programs, by the function at the end of each. A new program is one line there.
#define EXANET_PROGRAMS(entry) entry(stencils) entry(collectives) entry(services)

namespace programs {
#define EXANET_DECLARE(name) std::vector<ProgramKind> name();
EXANET_PROGRAMS(EXANET_DECLARE)
}  // namespace programs

const std::vector<ProgramKind>& program_kinds() {
  static const std::vector<ProgramKind> all = [] {
    std::vector<ProgramKind> found;
    const auto add = [&found](const std::vector<ProgramKind>& kinds) {
      found.insert(found.end(), kinds.begin(), kinds.end());
    };
#define EXANET_ADD(name) add(programs::name());
    EXANET_PROGRAMS(EXANET_ADD)
    return found;
  }();
  return all;
}

std::vector<std::string> program_names() {
  std::vector<std::string> names;
  for (const ProgramKind& kind : program_kinds()) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<Program> make_program(const ProgramSpec& spec) {
  if (spec.ranks < 2)
    throw ConfigError("jobs", "a job of " + std::to_string(spec.ranks) + " ranks: a job needs two or more");
  std::string known;
  for (const ProgramKind& kind : program_kinds()) {
    if (spec.name == kind.name) return kind.make(spec);
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("jobs", "is no program", spec.name, known);
}

}  // namespace exanet
