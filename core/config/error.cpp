// SPDX-License-Identifier: Apache-2.0
#include "core/config/error.hpp"

#include <utility>

namespace exanet {

namespace {

std::string joined(const std::vector<ConfigProblem>& problems) {
  std::string text;
  for (const ConfigProblem& problem : problems) text.append(text.empty() ? "" : "; ").append(problem.text);
  return text;
}

}  // namespace

ConfigError::ConfigError(std::string path, std::string text)
    : ConfigError(std::vector<ConfigProblem>{{std::move(path), std::move(text)}}) {}

ConfigError::ConfigError(std::vector<ConfigProblem> problems)
    : std::invalid_argument(joined(problems)), problems_(std::move(problems)) {}

void reject(std::string_view path, std::string_view text) { throw ConfigError(std::string(path), std::string(text)); }

std::uint32_t require_in_range(std::int64_t value, std::int64_t least, std::int64_t most, std::string_view path,
                               std::string_view name) {
  if (value < least || value > most)
    reject(path, std::string(name) + " is " + std::to_string(value) + ": give a whole number from " +
                     std::to_string(least) + " to " + std::to_string(most));
  return static_cast<std::uint32_t>(value);
}

}  // namespace exanet
