// SPDX-License-Identifier: Apache-2.0
// Distributions as the artefact of HPCC (Li and others, SIGCOMM 2019) tabulates them. Web search: Alizadeh and others,
// "DCTCP" (2010). Hadoop: Roy and others, "Inside the social network's network" (2015). Storage: Alibaba's, published
// with that artefact (2019).
#include "core/workload/flow_sizes.hpp"

#include <algorithm>
#include <cmath>

#include "core/config/names.hpp"

namespace exanet {

namespace {

constexpr FlowSizes::Point kWebSearch[] = {{0, 0},    {1e4, 15}, {2e4, 20}, {3e4, 30}, {5e4, 40}, {8e4, 53},
                                           {2e5, 60}, {1e6, 70}, {2e6, 80}, {5e6, 90}, {1e7, 97}, {3e7, 100}};
constexpr FlowSizes::Point kHadoop[] = {{0, 0},      {100, 1},   {200, 2},    {300, 5},  {350, 15},
                                        {400, 20},   {500, 30},  {600, 40},   {700, 50}, {1000, 60},
                                        {2000, 67},  {7000, 70}, {3e4, 72},   {5e4, 82}, {8e4, 87},
                                        {1.2e5, 90}, {3e5, 95},  {1e6, 97.5}, {2e6, 99}, {1e7, 100}};
constexpr FlowSizes::Point kAliStorage[] = {{0, 0},          {4000, 22.93},   {8000, 69.21},
                                            {16000, 80.61},  {32000, 90.47},  {64000, 93.53},
                                            {128000, 96.77}, {256000, 97.53}, {2e6, 100}};

const std::vector<FlowSizes>& all() {
  static const std::vector<FlowSizes> sizes = {
      {"web-search", kWebSearch}, {"hadoop", kHadoop}, {"ali-storage", kAliStorage}};
  return sizes;
}

}  // namespace

FlowSizes::FlowSizes(std::string name, std::span<const Point> points) : name_(std::move(name)), points_(points) {
  for (std::size_t i = 1; i < points.size(); ++i)
    mean_bytes_ += (points[i].percent - points[i - 1].percent) / 100 * (points[i].bytes + points[i - 1].bytes) / 2;
}

std::uint64_t FlowSizes::at(double percent) const {
  std::size_t i = 1;
  while (i + 1 < points_.size() && points_[i].percent < percent) ++i;
  const Point &below = points_[i - 1], &above = points_[i];
  const double share = (percent - below.percent) / (above.percent - below.percent);
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(below.bytes + share * (above.bytes - below.bytes))));
}

std::vector<std::string> flow_size_names() {
  std::vector<std::string> names;
  for (const FlowSizes& sizes : all()) names.push_back(sizes.name());
  return names;
}

const FlowSizes& flow_sizes(const std::string& name) {
  std::string known;
  for (const FlowSizes& sizes : all()) {
    if (sizes.name() == name) return sizes;
    known += (known.empty() ? "" : ", ") + sizes.name();
  }
  reject_name("sizes", "are no flow sizes", name, known);
}

}  // namespace exanet
