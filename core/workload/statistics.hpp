// SPDX-License-Identifier: Apache-2.0
// When has a simulation settled, and how sure is a mean of what it produced? Both for observations that depend on each
// other, as latencies of packets that met in a queue do.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace exanet {

// Where the start-up of a series ends: the truncation that leaves the remaining mean with the least standard error,
// taken over means of five observations (MSER-5: White, "An effective truncation heuristic for bias reduction in
// simulation output", Simulation 69, 1997; batches of five: Spratt, 1998). Answers how many observations to leave out.
// A truncation beyond the first half says that the series has not settled: its last part is too short to be trusted
// (the rule of the method's authors).
std::size_t mser5(const std::vector<double>& series);

// Whether mser5() finds an end of the start-up that can be trusted, with at least ten means of five.
bool has_settled(const std::vector<double>& series);

// Half the 95 % confidence interval of the mean of a window of which these are the means of ten equal parts, unless a
// part had nothing. The parts are all but independent of each other when each is much longer than what one observation
// does to the next (batch means: Law and Kelton, "Simulation Modeling and Analysis", section 9.5.3).
inline constexpr std::size_t kBatches = 10;
std::optional<double> half_interval(const std::array<double, kBatches>& sums,
                                    const std::array<double, kBatches>& counts);

// Whether the means of these parts grow from the first to the last, by a quarter of the mean or more and by more than
// chance does: beyond saturation they grow by two fifths at least, for what has been growing since time 0 is then
// looked at from 2 to 3 windows after. Also by `least` or more, in the unit of the sums.
bool rises(const std::array<double, kBatches>& sums, const std::array<double, kBatches>& counts, double least = 0);

// Jain's index of fairness: 1 when all shares are equal, 1/n when one of n has all; 0 when nobody has anything (Jain,
// Chiu and Hawe, "A quantitative measure of fairness", DEC TR-301, 1984).
double jain(const std::vector<double>& shares);

}  // namespace exanet
