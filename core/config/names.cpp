// SPDX-License-Identifier: Apache-2.0
#include "core/config/names.hpp"

#include <algorithm>

namespace exanet {

double likeness(std::string_view a, std::string_view b) {
  std::vector<std::size_t> common(b.size() + 1);  // with what has been seen of `a`, by how much of `b`
  for (const char c : a) {
    std::size_t diagonal = 0;
    for (std::size_t i = 1; i <= b.size(); ++i) {
      const std::size_t above = common[i];
      common[i] = c == b[i - 1] ? diagonal + 1 : std::max(above, common[i - 1]);
      diagonal = above;
    }
  }
  return a.empty() && b.empty() ? 1
                                : 2.0 * static_cast<double>(common.back()) / static_cast<double>(a.size() + b.size());
}

std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  constexpr double kLeast = 0.6;
  constexpr std::size_t kLongest = 80;  // that is looked at
  std::string found;
  double most = 0;
  for (const std::string& one : known) {
    const double alike = name.size() > kLongest ? 0 : likeness(name, one);
    if (alike >= kLeast && alike > most) found = one, most = alike;
  }
  return found;
}

std::string hint_at(const std::string& name, const std::string& known) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from < known.size(); from += names.back().size() + 2)
    names.push_back(known.substr(from, known.find(", ", from) - from));
  const std::string meant = nearest(name.substr(0, name.find(':')), names);
  return meant.empty() || meant == name ? "" : " (did you mean \"" + meant + "\"?)";
}

void reject_name(const std::string& path, const std::string& what, const std::string& name, const std::string& known) {
  throw ConfigError(path, "there " + what + " \"" + name + "\"" + hint_at(name, known) + ": use one of " + known);
}

}  // namespace exanet
