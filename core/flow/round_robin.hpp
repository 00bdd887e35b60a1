// SPDX-License-Identifier: Apache-2.0
// Computes what a router with FIFOs at its inputs passes on in a short time, seen as a fluid.
//
// Each input holds a mixture: of what it passes on, a fixed share goes to each resource (an output, the space behind
// it). Two rules:
//   - An output serves the inputs that ask in turn, so each of them gets as much, or all that it asks for if that is
//     less.
//   - A FIFO gives in order. If one of its destinations is slow, all of its mixture is slowed down in proportion
//     (head-of-line blocking).
// An input's amount is therefore the least, over what it asks for, of the level that this resource gives to each,
// divided by the input's share for it; and levels are such that each resource is either full or gives all that is asked
// of it. The levels are found one after the other, each from what the others leave its inputs, until none changes.
//
// Limit: time lost by chance is not seen. Inputs that mix many outputs now and then all ask for the same one, and a
// switch of many such inputs passes 59 % to 75 % where this says 100 % (Karol, Hluchyj and Morgan, "Input versus output
// queueing", 1987).
#pragma once

#include <cstdint>
#include <vector>

namespace exanet {

class RoundRobin {
 public:
  void clear();
  std::uint32_t add_resource(double capacity);  // returns its number
  void add_input(double most);  // what it holds and can pass on
  void ask(std::uint32_t resource, double share);  // of the input added last; share above 0
  const std::vector<double>& solve();  // what each input passes on
  double excess() const {
    return excess_;
  }  // by which share some resource was over-full when the search was ended, at worst so far
  std::uint64_t rounds() const { return rounds_; }

 private:
  struct Input {
    double most;
    std::uint32_t first;  // in uses_
  };
  struct Use {
    std::uint32_t input, resource;
    double share;
  };
  struct Resource {
    double capacity, level;
    std::uint32_t first, uses;  // in of_resource_
  };

  bool all_fits() const;
  void order_by_resource();
  double find_level(const Resource& resource);
  double least_of_others(const Use& use) const;
  void fit();

  std::vector<Input> inputs_;
  std::vector<Use> uses_;  // by input
  std::vector<Resource> resources_;
  std::vector<std::uint32_t> of_resource_;  // places in uses_
  std::vector<double> asked_, amounts_;
  double excess_ = 0;
  std::uint64_t rounds_ = 0;
};

}  // namespace exanet
