// SPDX-License-Identifier: Apache-2.0
// Slim Fly (Besta and Hoefler 2014): switches in a graph of McKay, Miller and Širáň (1998), of diameter two and almost as large as a graph
// of that diameter can be. The shape is [q] or [q, endpoints a switch] with an odd prime q = 4w + d, d = 1 or -1: 2 q^2 switches with
// (3q - d) / 2 links each; by default half as many endpoints a switch as links, rounded up (q = 5: 50 switches, 200 endpoints).
//
// Switches (0, x, y) and (1, m, c) for x, y, m, c below q. With generators X and X' made from a primitive element of the field: (0, x, y) is
// linked to (0, x, y') when y - y' is in X, (1, m, c) to (1, m, c') when c - c' is in X', and (0, x, y) to (1, m, c) when y = m x + c.
//
// Routing is by shortest ways with distance classes (core/routing/ways.hpp), on two virtual channels. Limits: fields of prime order only.
#include <algorithm>

#include "core/routing/ways.hpp"
#include "core/topology/hosted.hpp"

namespace exanet {

namespace {

bool odd_prime(std::uint32_t q) {
  for (std::uint32_t d = 2; d * d <= q; ++d)
    if (q % d == 0) return false;
  return q > 2;
}

std::uint32_t primitive_element(std::uint32_t q) {
  for (std::uint32_t e = 2; e < q; ++e) {
    std::uint32_t order = 1;
    for (std::uint64_t power = e; power != 1; power = power * e % q) ++order;
    if (order == q - 1) return e;
  }
  return 2;  // q = 3
}

// Is a number below q in X (first) or in X' (second)?
struct Generators {
  std::vector<bool> first, second;
};

Generators generators(std::uint32_t q) {
  Generators g{std::vector<bool>(q), std::vector<bool>(q)};
  const std::uint32_t w = (q + 1) / 4, e = primitive_element(q);
  std::uint64_t power = 1;
  for (std::uint32_t exponent = 0; exponent < q - 1; ++exponent, power = power * e % q) {
    if (q % 4 == 1) {
      (exponent % 2 == 0 ? g.first : g.second)[power] = true;
      continue;
    }
    // q = 4w - 1: X takes the even powers up to 2w - 2 and the odd ones from 2w - 1, X' the odd ones up to 2w - 1 and the even ones after,
    // of which the last, 4w - 2, is 0 again.
    if (exponent % 2 == 0 ? exponent <= 2 * w - 2 : exponent >= 2 * w - 1) g.first[power] = true;
    if (exponent % 2 == 1 ? exponent <= 2 * w - 1 : exponent >= 2 * w || exponent == 0) g.second[power] = true;
  }
  return g;
}

class SlimFly final : public HostedTopology {
 public:
  SlimFly(std::uint32_t q, std::uint32_t hosts, std::uint32_t degree) : HostedTopology(hosts, 2 * q * q, degree), q_(q) {
    const Generators g = generators(q);
    const auto number = [q](std::uint32_t part, std::uint32_t line, std::uint32_t place) { return (part * q + line) * q + place; };
    std::vector<std::vector<std::uint32_t>> linked(switches_);
    for (std::uint32_t line = 0; line < q; ++line)
      for (std::uint32_t a = 0; a < q; ++a)
        for (std::uint32_t b = 0; b < q; ++b) {
          if (g.first[(a + q - b) % q]) linked[number(0, line, a)].push_back(number(0, line, b));
          if (g.second[(a + q - b) % q]) linked[number(1, line, a)].push_back(number(1, line, b));
          const std::uint32_t y = number(0, line, static_cast<std::uint32_t>((std::uint64_t{a} * line + b) % q)), c = number(1, a, b);
          linked[y].push_back(c);
          linked[c].push_back(y);
        }
    for (auto& others : linked) std::sort(others.begin(), others.end());
    links_.resize(switches_);
    for (std::uint32_t s = 0; s < switches_; ++s)
      for (const std::uint32_t other : linked[s])
        links_[s].push_back({other, static_cast<std::uint16_t>(std::lower_bound(linked[other].begin(), linked[other].end(), s) -
                                                               linked[other].begin())});
    if (!ways_.find_shortest(links_, 2)) throw std::invalid_argument("this slim-fly is wider than two links: choose another q");
  }

 protected:
  PortRef beyond(std::uint32_t here, std::uint16_t port) const override { return links_[here][port]; }
  Hop towards(std::uint32_t here, std::uint32_t there) const override { return ways_.towards(here, there); }
  void minimal_towards(std::uint32_t here, std::uint32_t there, PortList& out) const override { ways_.minimal(links_, here, there, out); }
  std::string switch_name(std::uint32_t number) const override {
    std::string name = "switch(" + std::to_string(number / (q_ * q_));
    return name.append(",").append(std::to_string(number / q_ % q_)).append(",").append(std::to_string(number % q_)).append(")");
  }
  std::string fabric_port_name(std::uint32_t number, std::uint16_t port) const override { return switch_name(links_[number][port].node); }
  void switch_position(std::uint32_t number, float xyz[3]) const override {
    xyz[0] = static_cast<float>(number / q_ % q_);
    xyz[1] = static_cast<float>(number % q_);
    xyz[2] = static_cast<float>(number / (q_ * q_)) * static_cast<float>(q_);
  }
  bool switch_upper_half(std::uint32_t number) const override { return number >= q_ * q_; }

 private:
  std::uint32_t q_;
  Adjacency links_;
  Ways ways_;
};

}  // namespace

std::unique_ptr<Topology> make_slim_fly(const TopologySpec& spec) {
  const auto& s = spec.shape;
  if (s.empty() || s.size() > 2 || !odd_prime(s[0]) || s[0] > 61)
    throw std::invalid_argument("a slim-fly takes [q] or [q, endpoints a switch] with an odd prime q up to 61, e.g. [5] for 50 switches");
  const std::uint32_t degree = (3 * s[0] - (s[0] % 4 == 1 ? 1 : -1)) / 2;
  return std::make_unique<SlimFly>(s[0], s.size() == 2 ? s[1] : (degree + 1) / 2, degree);
}

}  // namespace exanet
