// SPDX-License-Identifier: Apache-2.0
// Computes the time of packets with nothing in their way, by formula: of whichever model the routers are, and without
// building a network. The models' tests hold each formula to its model, to the picosecond.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/network/config.hpp"
#include "core/units/time.hpp"

namespace exanet {

class Topology;

class ZeroLoadModel {
 public:
  virtual ~ZeroLoadModel() = default;
  // From injection at `at` to delivery, over links of these classes in this order.
  virtual Time packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time at) const = 0;
  // For which a packet takes a line into a router's crossbar, or out of it, at least: no more than one in that time.
  virtual Time input_time(std::uint32_t payload_words) const = 0;
  virtual Time output_time(std::uint32_t payload_words) const = 0;
};

// Throws ConfigError, saying what to do, when a figure of `config` cannot be built, or no such switches for this
// topology.
std::unique_ptr<ZeroLoadModel> make_zero_load_model(const Topology& topology, const NetworkConfig& config);

}  // namespace exanet
