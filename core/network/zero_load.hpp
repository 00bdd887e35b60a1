// SPDX-License-Identifier: Apache-2.0
// Computes the time of packets with nothing in their way, by formula: of whichever model the routers are, and without
// building a network. The models' tests hold each formula to its model, to the picosecond.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/network/config.hpp"
#include "core/network/timing.hpp"
#include "core/units/time.hpp"

namespace exanet {

class Topology;

class ZeroLoadModel {
 public:
  // One way through the network, on which packets follow each other as fast as it takes them: any number of equal ones,
  // then one that may be shorter.
  class Way {
   public:
    virtual ~Way() = default;
    virtual Time next(std::uint32_t payload_words) = 0;  // when the next packet is delivered; the first begins at 0
  };

  virtual ~ZeroLoadModel() = default;
  // From injection at `at` to delivery, over links of these classes in this order.
  virtual Time packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time at) const = 0;
  // For which a packet takes a line into a router's crossbar, or out of it, at least: no more than one in that time.
  virtual Time input_time(std::uint32_t payload_words) const = 0;
  virtual Time output_time(std::uint32_t payload_words) const = 0;
  virtual const LinkTiming& link(std::uint8_t link_class) const = 0;
  // Over links of these classes, from `links` of which the way keeps a copy of what it needs. In this way here packets
  // keep the time between them that the slowest stage takes; models that know better have a way of their own.
  virtual std::unique_ptr<Way> way(const std::vector<std::uint8_t>& links) const;

  // From injection to delivery of the last of `packets` that follow each other, the others all of `payload_words`.
  Time message_time(const std::vector<std::uint8_t>& links, std::uint64_t packets, std::uint32_t payload_words,
                    std::uint32_t last_payload_words) const;

 private:
  Time slowest(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, std::int64_t packets) const;
};

// Throws ConfigError, saying what to do, when a figure of `config` cannot be built, or no such switches for this
// topology.
std::unique_ptr<ZeroLoadModel> make_zero_load_model(const Topology& topology, const NetworkConfig& config);

}  // namespace exanet
