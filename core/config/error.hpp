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
#include <string_view>
#include <vector>

namespace exanet {

struct ConfigProblem {
  std::string path;
  std::string text;
};

class ConfigError : public std::invalid_argument {
 public:
  ConfigError(std::string path, std::string text);
  explicit ConfigError(std::vector<ConfigProblem> problems);

  const std::vector<ConfigProblem>& problems() const { return problems_; }

 private:
  std::vector<ConfigProblem> problems_;
};

[[noreturn, gnu::cold]] void reject(std::string_view path, std::string_view text);

// Throws ConfigError unless `condition`.
inline void require(bool condition, std::string_view path, std::string_view text) {
  if (!condition) [[unlikely]]
    reject(path, text);
}

// Returns `value`. Throws ConfigError unless it is from `least` to `most`, which lie in 32 bits; `name` begins the
// sentence.
std::uint32_t require_in_range(std::int64_t value, std::int64_t least, std::int64_t most, std::string_view path,
                               std::string_view name);

}  // namespace exanet
