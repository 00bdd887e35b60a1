// SPDX-License-Identifier: Apache-2.0
// How long the flows of data centres are: distributions that were measured there, linear between their points.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace exanet {

class FlowSizes {
 public:
  struct Point {
    double bytes, percent;  // so many per cent of all flows are at most so long
  };

  FlowSizes(std::string name, std::span<const Point> points);

  const std::string& name() const { return name_; }
  double mean_bytes() const { return mean_bytes_; }
  std::uint64_t at(double percent) const;  // the size up to which so many per cent of all flows are; at least 1

 private:
  std::string name_;
  std::span<const Point> points_;
  double mean_bytes_ = 0;
};

std::vector<std::string> flow_size_names();
const FlowSizes& flow_sizes(const std::string& name);  // throws ConfigError, saying what there is, on an unknown name

}  // namespace exanet
