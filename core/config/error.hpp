// SPDX-License-Identifier: Apache-2.0
// Refuses a configuration: each problem travels as data, the path of the key to blame and a sentence that says what to
// do.
//
// A path names a key as the resolved description does, with dots between the sections and a link's kind in place of its
// number: "router.inter_fifo_words", "links.inter-qfdb.latency_ps", "topology.shape". It is empty where no single key
// is to blame. Whoever knows the text that a user wrote (exanet/machine) finds the place of a path there, and never
// looks at the sentence.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace exanet {

struct ConfigProblem {
  std::string path;
  std::string text;
};

class ConfigError : public std::invalid_argument {
 public:
  ConfigError(std::string path, std::string text)
      : ConfigError(std::vector<ConfigProblem>{{std::move(path), std::move(text)}}) {}
  explicit ConfigError(std::vector<ConfigProblem> problems)
      : std::invalid_argument(joined(problems)), problems_(std::move(problems)) {}

  const std::vector<ConfigProblem>& problems() const { return problems_; }

 private:
  static std::string joined(const std::vector<ConfigProblem>& problems) {
    std::string text;
    for (const ConfigProblem& problem : problems) text.append(text.empty() ? "" : "; ").append(problem.text);
    return text;
  }

  std::vector<ConfigProblem> problems_;
};

// Throws ConfigError unless `condition`.
inline void require(bool condition, const std::string& path, const std::string& text) {
  if (!condition) throw ConfigError(path, text);
}

// Returns `value`. Throws ConfigError unless it is from `least` to `most`, which lie in 32 bits; `name` begins the
// sentence.
inline std::uint32_t require_in_range(std::int64_t value, std::int64_t least, std::int64_t most,
                                      const std::string& path, const std::string& name) {
  require(value >= least && value <= most, path,
          name + " is " + std::to_string(value) + ": give a whole number from " + std::to_string(least) + " to " +
              std::to_string(most));
  return static_cast<std::uint32_t>(value);
}

}  // namespace exanet
