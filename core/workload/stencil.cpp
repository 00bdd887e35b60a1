// SPDX-License-Identifier: Apache-2.0
// Stencils: ranks on a grid of two or three dimensions that wraps round, each of which sends a message to both of its
// neighbours in each dimension and waits for theirs. This is how domain decomposition communicates, molecular dynamics
// with LAMMPS among it.
//
// Rank 0 is a corner, and the first dimension changes fastest, so that linear mapping lays a grid on a torus of its
// shape.
#include <algorithm>

#include "core/config/error.hpp"
#include "core/workload/program.hpp"

namespace exanet {

std::vector<std::uint32_t> near_cube(std::uint32_t ranks, std::uint32_t dimensions) {
  if (dimensions <= 1) return {ranks};
  std::vector<std::uint32_t> best;
  std::uint64_t least = UINT64_MAX;
  for (std::uint32_t side = 1; side <= ranks; ++side) {
    if (ranks % side != 0) continue;
    std::vector<std::uint32_t> sides = near_cube(ranks / side, dimensions - 1);
    sides.push_back(side);
    std::uint64_t surface = 0;  // up to a factor, the sum over dimensions of the points of a cut across it
    for (const std::uint32_t s : sides) surface += ranks / s;
    if (surface >= least) continue;
    least = surface;
    best = std::move(sides);
  }
  std::sort(best.rbegin(), best.rend());
  return best;
}

namespace {

class Stencil final : public Program {
 public:
  Stencil(const ProgramSpec& spec, std::uint32_t dimensions)
      : Program(spec), sides_(near_cube(spec.ranks, dimensions)) {
    for (const std::uint32_t side : sides_) neighbours_ += side > 2 ? 2 : side - 1;
    if (neighbours_ == 0) throw ConfigError("jobs", "a stencil needs at least two ranks");
  }

  std::uint32_t steps() const override { return 1; }
  std::uint32_t receives(std::uint32_t, std::uint64_t, std::uint32_t) const override { return neighbours_; }
  void sends(std::uint32_t rank, std::uint64_t, std::uint32_t, std::vector<Sending>& out) const override {
    std::uint32_t stride = 1;
    for (const std::uint32_t side : sides_) {
      const std::uint32_t here = rank / stride % side, corner = rank - here * stride;
      if (side > 1) out.push_back({corner + (here + 1) % side * stride, spec_.bytes});
      if (side > 2) out.push_back({corner + (here + side - 1) % side * stride, spec_.bytes});
      stride *= side;
    }
  }

 private:
  std::vector<std::uint32_t> sides_;
  std::uint32_t neighbours_ = 0;
};

std::unique_ptr<Program> make_stencil_2d(const ProgramSpec& spec) { return std::make_unique<Stencil>(spec, 2); }
std::unique_ptr<Program> make_stencil_3d(const ProgramSpec& spec) { return std::make_unique<Stencil>(spec, 3); }

}  // namespace

namespace programs {

std::vector<ProgramKind> stencils() {
  return {
      {"stencil-2d",
       "a message of `bytes` to each neighbour on a grid of two dimensions, as square as can be, that wraps round",
       make_stencil_2d},
      {"stencil-3d", "the same in three dimensions", make_stencil_3d},
  };
}

}  // namespace programs

}  // namespace exanet
