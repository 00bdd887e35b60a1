// SPDX-License-Identifier: Apache-2.0
// Slim Fly (Besta and Hoefler 2014): switches in a graph of McKay, Miller and Širáň (1998), of diameter two and almost
// as large as a graph of that diameter can be. The shape is [q] or [q, endpoints a switch] with a prime power q = 4w +
// d, d = 1, 0 or -1: 2 q^2 switches with (3q - d) / 2 links each; by default half as many endpoints a switch as links,
// rounded up (q = 5: 50 switches, 200 endpoints).
//
// Switches (0, x, y) and (1, m, c) for x, y, m, c below q. With generators X and X' made from a primitive element of
// the field: (0, x, y) is linked to (0, x, y') when y - y' is in X, (1, m, c) to (1, m, c') when c - c' is in X', and
// (0, x, y) to (1, m, c) when y = m x + c.
//
// Routing is by shortest routes with distance classes (core/topology/route_tables.hpp), on two virtual channels.
#include <algorithm>

#include "core/topology/hosted.hpp"
#include "core/topology/registry.hpp"
#include "core/topology/route_tables.hpp"

namespace exanet {

namespace {

// The field of q = p^k elements: numbers below q whose digits in base p are the coefficients of a polynomial, modulo a
// primitive one.
class Field {
 public:
  // Contract: q is a prime power.
  explicit Field(std::uint32_t q) : q_(q), p_(2) {
    while (q % p_ != 0) ++p_;
    power_.resize(q - 1);
    logarithm_.resize(q);
    for (std::uint32_t c = 1; c < q; ++c)  // x^k = c; x is primitive when its powers are all elements but 0
      if (try_powers(c)) return;
  }

  static bool exists(std::uint32_t q) {
    std::uint32_t p = 2;
    while (p < q && q % p != 0) ++p;
    while (q > 1 && q % p == 0) q /= p;
    return q == 1;
  }

  std::uint32_t plus(std::uint32_t a, std::uint32_t b) const { return digits(a, b, 1); }
  std::uint32_t minus(std::uint32_t a, std::uint32_t b) const { return digits(a, b, p_ - 1); }
  std::uint32_t times(std::uint32_t a, std::uint32_t b) const {
    return a == 0 || b == 0 ? 0 : power_[(logarithm_[a] + logarithm_[b]) % (q_ - 1)];
  }
  std::uint32_t power(std::uint32_t exponent) const { return power_[exponent % (q_ - 1)]; }  // of the primitive element

 private:
  // a + factor * b, digit by digit.
  std::uint32_t digits(std::uint32_t a, std::uint32_t b, std::uint32_t factor) const {
    std::uint32_t sum = 0;
    for (std::uint32_t place = 1; place < q_; place *= p_) sum += (a / place + factor * (b / place % p_)) % p_ * place;
    return sum;
  }

  bool try_powers(std::uint32_t c) {
    const std::uint32_t top = q_ / p_;
    std::uint32_t element = 1;
    for (std::uint32_t exponent = 0; exponent < q_ - 1; ++exponent) {
      if (element == 0 || (exponent > 0 && element == 1)) return false;
      power_[exponent] = element;
      logarithm_[element] = exponent;
      element = digits(element % top * p_, c, element / top);
    }
    return element == 1;
  }

  std::uint32_t q_, p_;
  std::vector<std::uint32_t> power_, logarithm_;
};

// Is a number below q in X (first) or in X' (second)?
struct Generators {
  std::vector<bool> first, second;
};

Generators generators(std::uint32_t q, const Field& field) {
  Generators g{std::vector<bool>(q), std::vector<bool>(q)};
  const std::uint32_t w = (q + 1) / 4;
  for (std::uint32_t exponent = 0; exponent < q - 1 + (q % 2 == 0); ++exponent) {
    const std::uint32_t power = field.power(exponent);
    if (q % 4 != 3) {  // even powers and odd ones; of a field of 2^k, the last odd one is 1 again
      (exponent % 2 == 0 ? g.first : g.second)[power] = true;
      continue;
    }
    // q = 4w - 1: X takes the even powers up to 2w - 2 and the odd ones from 2w - 1, X' the odd ones up to 2w - 1 and
    // the even ones after, of which the last, 4w - 2, is 0 again.
    if (exponent % 2 == 0 ? exponent <= 2 * w - 2 : exponent >= 2 * w - 1) g.first[power] = true;
    if (exponent % 2 == 1 ? exponent <= 2 * w - 1 : exponent >= 2 * w || exponent == 0) g.second[power] = true;
  }
  return g;
}

class SlimFly final : public HostedTopology {
 public:
  SlimFly(std::uint32_t q, std::uint32_t hosts, std::uint32_t degree)
      : HostedTopology(hosts, 2 * q * q, degree), q_(q) {
    const Field field(q);
    const Generators g = generators(q, field);
    const auto number = [q](std::uint32_t part, std::uint32_t line, std::uint32_t place) {
      return (part * q + line) * q + place;
    };
    std::vector<std::vector<std::uint32_t>> linked(switches_);
    for (std::uint32_t line = 0; line < q; ++line)
      for (std::uint32_t a = 0; a < q; ++a)
        for (std::uint32_t b = 0; b < q; ++b) {
          if (g.first[field.minus(a, b)]) linked[number(0, line, a)].push_back(number(0, line, b));
          if (g.second[field.minus(a, b)]) linked[number(1, line, a)].push_back(number(1, line, b));
          const std::uint32_t y = number(0, line, field.plus(field.times(a, line), b)), c = number(1, a, b);
          linked[y].push_back(c);
          linked[c].push_back(y);
        }
    for (auto& others : linked) std::sort(others.begin(), others.end());
    links_.resize(switches_);
    for (std::uint32_t s = 0; s < switches_; ++s)
      for (const std::uint32_t other : linked[s])
        links_[s].push_back(
            {other, static_cast<std::uint16_t>(std::lower_bound(linked[other].begin(), linked[other].end(), s) -
                                               linked[other].begin())});
    if (!tables_.find_shortest(links_, 2))
      throw std::invalid_argument("this slim-fly has a diameter above two links: choose another q");
  }

  bool any_equal_port() const override { return true; }  // each hop lowers the distance class

 protected:
  PortRef beyond(std::uint32_t here, std::uint16_t port) const override { return links_[here][port]; }
  Hop towards(std::uint32_t here, std::uint32_t there) const override { return tables_.towards(here, there); }
  void minimal_towards(std::uint32_t here, std::uint32_t there, PortList& out) const override {
    tables_.minimal(links_, here, there, out);
  }
  std::string switch_name(std::uint32_t number) const override {
    std::string name = "switch(" + std::to_string(number / (q_ * q_));
    return name.append(",")
        .append(std::to_string(number / q_ % q_))
        .append(",")
        .append(std::to_string(number % q_))
        .append(")");
  }
  std::string fabric_port_name(std::uint32_t number, std::uint16_t port) const override {
    return switch_name(links_[number][port].node);
  }
  void switch_position(std::uint32_t number, float xyz[3]) const override {
    xyz[0] = static_cast<float>(number / q_ % q_);
    xyz[1] = static_cast<float>(number % q_);
    xyz[2] = static_cast<float>(number / (q_ * q_)) * static_cast<float>(q_);
  }

 private:
  std::uint32_t q_;
  Adjacency links_;
  RouteTables tables_;
};

std::unique_ptr<Topology> make_slim_fly(const TopologySpec& spec) {
  const auto& s = spec.shape;
  if (s.empty() || s.size() > 2 || s[0] < 3 || s[0] > 64 || !Field::exists(s[0]))
    throw std::invalid_argument(
        "a slim-fly takes [q] or [q, endpoints a switch] with a prime power q from 3 to 64, e.g. [5] for 50 switches");
  const std::uint32_t q = s[0], degree = q % 4 == 1 ? (3 * q - 1) / 2 : q % 4 == 3 ? (3 * q + 1) / 2 : 3 * q / 2;
  return std::make_unique<SlimFly>(s[0], s.size() == 2 ? s[1] : (degree + 1) / 2, degree);
}

}  // namespace

namespace topologies {

TopologyKind slim_fly() {
  return {.name = "slim-fly",
          .help = "switches in a graph of diameter two that is almost as large as one can be",
          .shape = "[q] or [q, endpoints a switch], q a prime power",
          .links = {"link"},
          .samples = {{{5, 1}}, {{3}}, {{5}}, {{4}}, {{7, 1}}, {{8, 1}}, {{9, 1}}},
          .make = make_slim_fly};
}

}  // namespace topologies

}  // namespace exanet
