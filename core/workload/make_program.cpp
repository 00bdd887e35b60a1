// SPDX-License-Identifier: Apache-2.0

#include "core/config/error.hpp"
#include "core/workload/program.hpp"

namespace exanet {

// A new program is one line here: the function at the end of its file that describes it.
#define EXANET_PROGRAMS(entry)                                                                                      \
  entry(stencil_2d) entry(stencil_3d) entry(allreduce_ring) entry(allreduce_doubling) entry(allreduce_rabenseifner) \
      entry(allreduce_tree) entry(broadcast) entry(reduce) entry(allgather_ring) entry(allgather_bruck)             \
          entry(alltoall) entry(alltoall_pairwise) entry(alltoall_bruck) entry(barrier) entry(incast)               \
              entry(request_reply) entry(storage) entry(web_search) entry(hadoop) entry(ali_storage)

namespace programs {
#define EXANET_DECLARE(name) ProgramKind name();
EXANET_PROGRAMS(EXANET_DECLARE)
}  // namespace programs

const std::vector<ProgramKind>& program_kinds() {
#define EXANET_CALL(name) programs::name(),
  static const std::vector<ProgramKind> kinds{EXANET_PROGRAMS(EXANET_CALL)};
  return kinds;
}

std::vector<std::string> program_names() {
  std::vector<std::string> names;
  for (const ProgramKind& kind : program_kinds()) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<Program> make_program(const ProgramSpec& spec) {
  if (spec.ranks < 2) throw ConfigError("jobs", "a job of " + std::to_string(spec.ranks) + " ranks: give two or more");
  std::string known;
  for (const ProgramKind& kind : program_kinds()) {
    if (spec.name == kind.name) return kind.make(spec);
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  throw ConfigError("jobs", "there is no program \"" + spec.name + "\": use one of " + known);
}

}  // namespace exanet
