// SPDX-License-Identifier: Apache-2.0
#include "core/workload/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace exanet {

namespace {

constexpr std::size_t kMean = 5;          // observations to a mean
constexpr std::size_t kFewestMeans = 10;  // to judge by
constexpr double kLeastRise = 0.25, kSureRise = 4;
constexpr double kStudent95 = 2.262;      // two-sided 95 % quantile of Student's t with 9 degrees of freedom

// Truncations that leave fewer means than this are not tried: a few that happen to lie close together would win.
std::size_t fewest_left(std::size_t means) { return std::max<std::size_t>(means / 4, 3); }

}  // namespace

std::size_t mser5(const std::vector<double>& series) {
  const std::size_t count = series.size() / kMean;
  if (count < fewest_left(count)) return series.size();
  double least = std::numeric_limits<double>::infinity(), sum = 0, squares = 0;
  std::size_t best = 0;
  // From the end on, so that each truncation adds one mean to the sums.
  for (std::size_t first = count; first-- > 0;) {
    double mean = 0;
    for (std::size_t i = 0; i < kMean; ++i) mean += series[first * kMean + i] / kMean;
    mean -= series.back();  // keeps the difference of squares exact enough when the spread is small beside the mean
    sum += mean;
    squares += mean * mean;
    const auto left = static_cast<double>(count - first);
    if (count - first < fewest_left(count)) continue;
    const double error = std::max(squares - sum * sum / left, 0.0) / (left * left);
    if (error <= least) least = error, best = first;
  }
  return best * kMean;
}

bool has_settled(const std::vector<double>& series) {
  return series.size() >= kMean * kFewestMeans && 2 * mser5(series) <= series.size();
}

std::optional<double> half_interval(const std::array<double, kBatches>& sums,
                                    const std::array<double, kBatches>& counts) {
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < kBatches; ++i) {
    if (counts[i] == 0) return {};
    mean += sums[i] / counts[i] / kBatches;
  }
  for (std::size_t i = 0; i < kBatches; ++i) squares += std::pow(sums[i] / counts[i] - mean, 2);
  return kStudent95 * std::sqrt(squares / (kBatches - 1) / kBatches);
}

bool rises(const std::array<double, kBatches>& sums, const std::array<double, kBatches>& counts, double least) {
  constexpr double kMiddle = (kBatches - 1) / 2.0;
  constexpr double kSpread = kBatches * (kBatches * kBatches - 1) / 12.0;  // sum of squared distances from the middle
  double mean = 0, slope = 0, squares = 0;
  for (std::size_t i = 0; i < kBatches; ++i) {
    if (counts[i] == 0) return false;
    mean += sums[i] / counts[i] / kBatches;
    slope += sums[i] / counts[i] * (static_cast<double>(i) - kMiddle) / kSpread;
  }
  for (std::size_t i = 0; i < kBatches; ++i)
    squares += std::pow(sums[i] / counts[i] - mean - slope * (static_cast<double>(i) - kMiddle), 2);
  return slope * kBatches > std::max(kLeastRise * mean, least) &&
         slope > kSureRise * std::sqrt(squares / (kBatches - 2) / kSpread);
}

double jain(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double s : shares) sum += s, squares += s * s;
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace exanet
