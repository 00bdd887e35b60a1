// SPDX-License-Identifier: Apache-2.0
// Collective operations by their algorithms, as chains of messages: what a library sends, without the arithmetic.
//
// Sources: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005) for recursive doubling, binomial
// trees, pairwise exchange and Rabenseifner's algorithm, numbers of ranks that are no power of two included; Bruck and others (1997) for Bruck's;
// Patarasuk and Yuan (2009) for the ring allreduce; Hensgen, Finkel and Manber (1988) for the dissemination barrier.
#include <algorithm>
#include <bit>

#include "core/workload/program.hpp"

namespace exanet {

namespace {

std::uint32_t log2_up(std::uint32_t n) { return static_cast<std::uint32_t>(std::bit_width(n - 1)); }

// Every rank sends one message a step, or none, and knows who sends to it: steps by two rules that mirror each other.
class Exchange : public Program {
 public:
  using Program::Program;
  std::uint32_t receives(std::uint32_t rank, std::uint64_t, std::uint32_t step) const final { return from(rank, step); }
  void sends(std::uint32_t rank, std::uint64_t, std::uint32_t step, std::vector<Sending>& out) const final {
    to(rank, step, out);
  }

 protected:
  virtual std::uint32_t from(std::uint32_t rank, std::uint32_t step) const = 0;
  virtual void to(std::uint32_t rank, std::uint32_t step, std::vector<Sending>& out) const = 0;
  std::uint32_t p() const { return spec_.ranks; }
  std::uint64_t bytes() const { return spec_.bytes; }
};

// In each step everybody sends so many bytes so many ranks further, round the circle of all ranks.
class Shifts final : public Exchange {
 public:
  using Rule = Sending (*)(const ProgramSpec& spec, std::uint32_t step);  // `to` is the shift
  Shifts(const ProgramSpec& spec, std::uint32_t steps, Rule rule) : Exchange(spec), steps_(steps), rule_(rule) {}
  std::uint32_t steps() const override { return steps_; }

 private:
  std::uint32_t from(std::uint32_t, std::uint32_t) const override { return 1; }
  void to(std::uint32_t rank, std::uint32_t step, std::vector<Sending>& out) const override {
    Sending s = rule_(spec_, step);
    s.to = static_cast<std::uint32_t>((std::uint64_t{rank} + s.to) % p());
    out.push_back(s);
  }

  std::uint32_t steps_;
  Rule rule_;
};

// Everything to everybody at once.
class AllAtOnce final : public Exchange {
 public:
  using Exchange::Exchange;
  std::uint32_t steps() const override { return 1; }

 private:
  std::uint32_t from(std::uint32_t, std::uint32_t) const override { return p() - 1; }
  void to(std::uint32_t rank, std::uint32_t, std::vector<Sending>& out) const override {
    for (std::uint32_t shift = 1; shift < p(); ++shift)
      out.push_back({static_cast<std::uint32_t>((std::uint64_t{rank} + shift) % p()), bytes()});
  }
};

// Binomial trees rooted at rank 0: `up` gathers, `down` spreads; with both, the one after the other.
class Binomial final : public Exchange {
 public:
  Binomial(const ProgramSpec& spec, bool up, bool down)
      : Exchange(spec), levels_(log2_up(spec.ranks)), up_(up), down_(down) {}
  std::uint32_t steps() const override { return levels_ * (up_ + down_); }

 private:
  // In a step spreading at `level`, ranks below 2^level each send to the one 2^level above; gathering is the mirror image.
  bool gathers(std::uint32_t step) const { return up_ && step < levels_; }
  std::uint32_t reach(std::uint32_t step) const {
    const std::uint32_t level = gathers(step) ? levels_ - 1 - step : step - (up_ ? levels_ : 0);
    return 1u << level;
  }
  std::uint32_t from(std::uint32_t rank, std::uint32_t step) const override {
    const std::uint32_t r = reach(step);
    return gathers(step) ? rank < r && rank + r < p() : rank >= r && rank < 2 * r;
  }
  void to(std::uint32_t rank, std::uint32_t step, std::vector<Sending>& out) const override {
    const std::uint32_t r = reach(step);
    if (gathers(step) ? rank >= r && rank < 2 * r : rank < r && rank + r < p())
      out.push_back({gathers(step) ? rank - r : rank + r, bytes()});
  }

  std::uint32_t levels_;
  bool up_, down_;
};

// Exchanges between partners whose numbers differ in one bit. Of ranks that are too many for a power of two, the even ones of the first pairs
// give what they have to their neighbours before, and get the result after.
class Butterfly final : public Exchange {
 public:
  Butterfly(const ProgramSpec& spec, bool halves)
      : Exchange(spec),
        core_(std::bit_floor(spec.ranks)),
        rest_(spec.ranks - core_),
        levels_(log2_up(core_)),
        rounds_(halves ? 2 * levels_ : levels_),
        halves_(halves) {}
  std::uint32_t steps() const override { return rounds_ + (rest_ > 0 ? 2 : 0); }

 private:
  // Number within the power of two; p() for those who take no part.
  std::uint32_t inside(std::uint32_t rank) const {
    if (rank >= 2 * rest_) return rank - rest_;
    return rank % 2 == 1 ? rank / 2 : p();
  }
  std::uint32_t outside(std::uint32_t number) const { return number < rest_ ? 2 * number + 1 : number + rest_; }
  bool before(std::uint32_t step) const { return rest_ > 0 && step == 0; }
  bool after(std::uint32_t step) const { return rest_ > 0 && step + 1 == steps(); }

  std::uint32_t from(std::uint32_t rank, std::uint32_t step) const override {
    if (before(step)) return rank < 2 * rest_ && rank % 2 == 1;
    if (after(step)) return rank < 2 * rest_ && rank % 2 == 0;
    return inside(rank) < p();
  }
  void to(std::uint32_t rank, std::uint32_t step, std::vector<Sending>& out) const override {
    if (before(step) || after(step)) {
      if (rank < 2 * rest_ && rank % 2 == (before(step) ? 0 : 1))
        out.push_back({before(step) ? rank + 1 : rank - 1, bytes()});
      return;
    }
    const std::uint32_t number = inside(rank), round = step - (rest_ > 0 ? 1 : 0);
    if (number == p()) return;
    if (!halves_) return out.push_back({outside(number ^ (1u << round)), bytes()});
    // Halves of halves with ever nearer partners, then the same backwards.
    const std::uint32_t depth = round < levels_ ? round + 1 : 2 * levels_ - round;
    out.push_back({outside(number ^ (core_ >> depth)), (bytes() >> depth) + (bytes() >> depth == 0)});
  }

  std::uint32_t core_, rest_, levels_, rounds_;
  bool halves_;
};

std::uint32_t doubled(std::uint32_t step) { return 1u << step; }

std::unique_ptr<Program> make_allreduce_ring(const ProgramSpec& s) {
  return std::make_unique<Shifts>(s, 2 * (s.ranks - 1), [](const ProgramSpec& p, std::uint32_t) {
    return Sending{1, (p.bytes + p.ranks - 1) / p.ranks};
  });
}
std::unique_ptr<Program> make_allgather_ring(const ProgramSpec& s) {
  return std::make_unique<Shifts>(s, s.ranks - 1,
                                  [](const ProgramSpec& p, std::uint32_t) { return Sending{1, p.bytes}; });
}
std::unique_ptr<Program> make_allgather_bruck(const ProgramSpec& s) {
  return std::make_unique<Shifts>(s, log2_up(s.ranks), [](const ProgramSpec& p, std::uint32_t step) {
    return Sending{p.ranks - doubled(step), p.bytes * std::min(doubled(step), p.ranks - doubled(step))};
  });
}
std::unique_ptr<Program> make_alltoall_pairwise(const ProgramSpec& s) {
  return std::make_unique<Shifts>(s, s.ranks - 1,
                                  [](const ProgramSpec& p, std::uint32_t step) { return Sending{step + 1, p.bytes}; });
}
std::unique_ptr<Program> make_alltoall_bruck(const ProgramSpec& s) {
  return std::make_unique<Shifts>(s, log2_up(s.ranks), [](const ProgramSpec& p, std::uint32_t step) {
    const std::uint32_t bit = doubled(step), whole = p.ranks / (2 * bit) * bit, left = p.ranks % (2 * bit);
    return Sending{bit, p.bytes * (whole + (left > bit ? left - bit : 0))};  // blocks whose distance has this bit
  });
}
std::unique_ptr<Program> make_barrier(const ProgramSpec& s) {
  return std::make_unique<Shifts>(s, log2_up(s.ranks),
                                  [](const ProgramSpec&, std::uint32_t step) { return Sending{doubled(step), 0}; });
}
std::unique_ptr<Program> make_alltoall(const ProgramSpec& s) { return std::make_unique<AllAtOnce>(s); }
std::unique_ptr<Program> make_broadcast(const ProgramSpec& s) { return std::make_unique<Binomial>(s, false, true); }
std::unique_ptr<Program> make_reduce(const ProgramSpec& s) { return std::make_unique<Binomial>(s, true, false); }
std::unique_ptr<Program> make_allreduce_tree(const ProgramSpec& s) { return std::make_unique<Binomial>(s, true, true); }
std::unique_ptr<Program> make_allreduce_doubling(const ProgramSpec& s) { return std::make_unique<Butterfly>(s, false); }
std::unique_ptr<Program> make_allreduce_rabenseifner(const ProgramSpec& s) {
  return std::make_unique<Butterfly>(s, true);
}

}  // namespace

namespace programs {

ProgramKind allreduce_ring() {
  return {"allreduce-ring", "allreduce round a ring; `bytes` is the vector", make_allreduce_ring};
}

ProgramKind allreduce_doubling() {
  return {"allreduce-doubling", "allreduce by recursive doubling; `bytes` is the vector", make_allreduce_doubling};
}

ProgramKind allreduce_rabenseifner() {
  return {"allreduce-rabenseifner", "allreduce by halving and doubling (Rabenseifner); `bytes` is the vector",
          make_allreduce_rabenseifner};
}

ProgramKind allreduce_tree() {
  return {"allreduce-tree", "allreduce as reduce and broadcast; `bytes` is the vector", make_allreduce_tree};
}

ProgramKind broadcast() { return {"broadcast", "a binomial tree from rank 0; `bytes` is the vector", make_broadcast}; }

ProgramKind reduce() { return {"reduce", "a binomial tree to rank 0; `bytes` is the vector", make_reduce}; }

ProgramKind allgather_ring() {
  return {"allgather-ring", "each rank's block of `bytes` to all, round a ring", make_allgather_ring};
}

ProgramKind allgather_bruck() {
  return {"allgather-bruck", "each rank's block of `bytes` to all, by doubling distances (Bruck)",
          make_allgather_bruck};
}

ProgramKind alltoall() { return {"alltoall", "a block of `bytes` from each to each, all at once", make_alltoall}; }

ProgramKind alltoall_pairwise() {
  return {"alltoall-pairwise", "a block of `bytes` from each to each, one partner a step", make_alltoall_pairwise};
}

ProgramKind alltoall_bruck() {
  return {"alltoall-bruck", "a block of `bytes` from each to each, by the bits of the distance (Bruck)",
          make_alltoall_bruck};
}

ProgramKind barrier() { return {"barrier", "a dissemination barrier: messages of no data", make_barrier}; }

}  // namespace programs

}  // namespace exanet
