// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "core/workload/program.hpp"

namespace exanet {

// stencil.cpp
std::unique_ptr<Program> make_stencil_2d(const ProgramSpec&);
std::unique_ptr<Program> make_stencil_3d(const ProgramSpec&);
// collectives.cpp
std::unique_ptr<Program> make_allreduce_ring(const ProgramSpec&);
std::unique_ptr<Program> make_allreduce_doubling(const ProgramSpec&);
std::unique_ptr<Program> make_allreduce_rabenseifner(const ProgramSpec&);
std::unique_ptr<Program> make_allreduce_tree(const ProgramSpec&);
std::unique_ptr<Program> make_broadcast(const ProgramSpec&);
std::unique_ptr<Program> make_reduce(const ProgramSpec&);
std::unique_ptr<Program> make_allgather_ring(const ProgramSpec&);
std::unique_ptr<Program> make_allgather_bruck(const ProgramSpec&);
std::unique_ptr<Program> make_alltoall(const ProgramSpec&);
std::unique_ptr<Program> make_alltoall_pairwise(const ProgramSpec&);
std::unique_ptr<Program> make_alltoall_bruck(const ProgramSpec&);
std::unique_ptr<Program> make_barrier(const ProgramSpec&);
// services.cpp
std::unique_ptr<Program> make_incast_job(const ProgramSpec&);
std::unique_ptr<Program> make_request_reply(const ProgramSpec&);
std::unique_ptr<Program> make_storage(const ProgramSpec&);
std::unique_ptr<Program> make_web_search(const ProgramSpec&);
std::unique_ptr<Program> make_hadoop(const ProgramSpec&);
std::unique_ptr<Program> make_ali_storage(const ProgramSpec&);

namespace {

// A new program is one line here, and one above.
constexpr struct {
  const char* name;
  std::unique_ptr<Program> (*make)(const ProgramSpec&);
} kPrograms[] = {
    {"stencil-2d", make_stencil_2d},
    {"stencil-3d", make_stencil_3d},
    {"allreduce-ring", make_allreduce_ring},
    {"allreduce-doubling", make_allreduce_doubling},
    {"allreduce-rabenseifner", make_allreduce_rabenseifner},
    {"allreduce-tree", make_allreduce_tree},
    {"broadcast", make_broadcast},
    {"reduce", make_reduce},
    {"allgather-ring", make_allgather_ring},
    {"allgather-bruck", make_allgather_bruck},
    {"alltoall", make_alltoall},
    {"alltoall-pairwise", make_alltoall_pairwise},
    {"alltoall-bruck", make_alltoall_bruck},
    {"barrier", make_barrier},
    {"incast", make_incast_job},
    {"request-reply", make_request_reply},
    {"storage", make_storage},
    {"web-search", make_web_search},
    {"hadoop", make_hadoop},
    {"ali-storage", make_ali_storage},
};

}  // namespace

std::vector<std::string> program_names() {
  std::vector<std::string> names;
  for (const auto& entry : kPrograms) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Program> make_program(const ProgramSpec& spec) {
  if (spec.ranks < 2) throw std::invalid_argument("a job of " + std::to_string(spec.ranks) + " ranks: give two or more");
  std::string known;
  for (const auto& entry : kPrograms) {
    if (spec.name == entry.name) return entry.make(spec);
    known.append(known.empty() ? "" : ", ").append(entry.name);
  }
  throw std::invalid_argument("there is no program \"" + spec.name + "\": use one of " + known);
}

}  // namespace exanet
