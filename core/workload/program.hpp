// SPDX-License-Identifier: Apache-2.0
// Programs of communication: what the ranks of a job send each other, and what each of them waits for before it goes
// on.
//
// Problem: applications and collectives are chains of dependencies, and what counts is when the last rank has finished.
// Model: every rank goes through the same number of steps. In a step it computes, hands all messages of the step to its
// network interface at once, and waits until the messages that the program says have come to it in that step, and the
// replies to its own, are there, and its own awaited messages have left its interface. Messages may come early: each
// belongs to a step of its receiver. A program is computed, not stored: its functions are pure, so ten thousand ranks
// of a ring cost no more than ten. Limits: with ideal interfaces sends cost the sender's processor no time.
//
// Contract: for each rank and step, the messages that others send there in that step are as many as receives() says
// (closed_loop_test checks it for every program and many numbers of ranks).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/units/time.hpp"

namespace exanet {

struct Sending {
  std::uint32_t to;  // rank
  std::uint64_t bytes;
  std::uint64_t reply_bytes =
      0;  // above 0: the receiver's interface answers at once with so many, and the sender waits for it
  bool awaited = true;  // false: neither end waits for it, and receives() does not count it
};

struct ProgramSpec {
  std::string name;  // one of program_names()
  std::uint32_t ranks = 2;
  std::uint64_t bytes =
      0;  // of a message; of the whole vector for allreduce, reduce and broadcast; of a rank's block for the others
  Time compute_gap;  // of each rank at the beginning of each round, for programs that have no rule of their own
  std::uint64_t seed = 1;
};

class Program {
 public:
  explicit Program(const ProgramSpec& spec) : spec_(spec) {}
  virtual ~Program() = default;
  virtual std::uint32_t steps() const = 0;  // of one round, at least 1
  virtual void sends(std::uint32_t rank, std::uint64_t round, std::uint32_t step,
                     std::vector<Sending>& out) const = 0;  // appends
  virtual std::uint32_t receives(std::uint32_t rank, std::uint64_t round, std::uint32_t step) const = 0;  // not replies
  // Time that the rank computes before the step.
  virtual Time compute_gap(std::uint32_t /*rank*/, std::uint64_t /*round*/, std::uint32_t step) const {
    return step == 0 ? spec_.compute_gap : Time();
  }
  // A receiver's interface answers requests, or takes messages that no rank waits for: no rank of an MPI program does.
  virtual bool answered_by_interface() const { return false; }

 protected:
  const ProgramSpec spec_;
};

// A program is one of these, at the end of its file; the files are listed in make_program.cpp. Collectives are
// described by their algorithms (core/collectives).
struct ProgramKind {
  const char* name;  // as --job calls it
  const char* help;  // what a rank sends in each round, as a clause
  // Throws ConfigError, saying what to do, on a number of ranks that it is not made for.
  std::unique_ptr<Program> (*make)(const ProgramSpec& spec);
};

const std::vector<ProgramKind>& program_kinds();
std::vector<std::string> program_names();

// Throws ConfigError, saying what to do, on an unknown name or a number of ranks that the program is not made for.
std::unique_ptr<Program> make_program(const ProgramSpec& spec);

// Sides of a grid of `ranks` points whose surface is smallest, longest first.
std::vector<std::uint32_t> near_cube(std::uint32_t ranks, std::uint32_t dimensions);

}  // namespace exanet
