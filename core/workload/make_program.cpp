// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "core/workload/program.hpp"

namespace exanet {

// stencil.cpp
std::unique_ptr<Program> make_stencil_2d(const ProgramSpec&);
std::unique_ptr<Program> make_stencil_3d(const ProgramSpec&);

namespace {

// A new program is one line here, and one above.
constexpr struct {
  const char* name;
  std::unique_ptr<Program> (*make)(const ProgramSpec&);
} kPrograms[] = {
    {"stencil-2d", make_stencil_2d},
    {"stencil-3d", make_stencil_3d},
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
