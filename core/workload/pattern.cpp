// SPDX-License-Identifier: Apache-2.0
// The traffic patterns, a maker each, and their list.
//
// Problem: a pattern is asked once a packet, on machines of many thousand endpoints, and is to give the same answers at
// both levels. Model: a permutation is a table that its rule fills once; what is drawn is drawn from the caller's
// stream, or, where all sources have to agree, from the seed when the pattern is made. A machine whose number of
// endpoints, or of nodes in a dimension, a pattern is not made for is refused when the pattern is made. Limits: a
// permutation's table and a matrix are kept whole; matrices come as text, and reading files is for others.
#include "core/workload/pattern.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/config/names.hpp"

namespace exanet {

namespace {

// Parts of which a pattern is made.
struct Setting {
  const Topology& topology;
  const TopologySpec& spec;
  std::uint32_t endpoints;
  std::uint64_t seed;
  const std::string& name;
  const double* figure;  // behind the colon; null when there is none
  std::string_view text = {};  // the same, of a pattern that takes a text
};

using Made = std::unique_ptr<Pattern>;

// Every source has one destination. A source whose destination is itself sends nothing.
class Permutation final : public Pattern {
 public:
  explicit Permutation(std::vector<NodeId> to) : to_(std::move(to)) {}
  NodeId destination(NodeId src, std::uint64_t, Random&) const override { return to_[src] == src ? kNoNode : to_[src]; }

 private:
  std::vector<NodeId> to_;
};

template <typename Rule>
Made permutation(const Setting& s, Rule rule) {
  std::vector<NodeId> to(s.endpoints);
  for (NodeId src = 0; src < s.endpoints; ++src) to[src] = rule(src);
  return std::make_unique<Permutation>(std::move(to));
}

// Bits of an endpoint's number; patterns that move bits need a power of two.
std::uint32_t bits_of(const Setting& s) {
  if (!std::has_single_bit(s.endpoints))
    throw ConfigError(
        "pattern",
        s.name + " permutes the bits of endpoint numbers and needs a power of two of endpoints; this machine has " +
            std::to_string(s.endpoints) + " endpoints: choose another pattern, e.g. permutation");
  return static_cast<std::uint32_t>(std::countr_zero(s.endpoints));
}

class Uniform final : public Pattern {
 public:
  explicit Uniform(std::uint32_t endpoints) : endpoints_(endpoints) {}
  NodeId destination(NodeId src, std::uint64_t, Random& random) const override {
    const NodeId other = random.below(endpoints_ - 1);
    return other < src ? other : other + 1;
  }

 private:
  std::uint32_t endpoints_;
};

// A share of all traffic goes to one endpoint in the middle, the rest anywhere.
class HotSpot final : public Pattern {
 public:
  HotSpot(std::uint32_t endpoints, double share) : rest_(endpoints), hot_(endpoints / 2), share_(share) {}
  NodeId destination(NodeId src, std::uint64_t index, Random& random) const override {
    return random.unit() < share_ && src != hot_ ? hot_ : rest_.destination(src, index, random);
  }

 private:
  Uniform rest_;
  NodeId hot_;
  double share_;
};

// To each other endpoint in turn, beginning with the next one.
class AllToAll final : public Pattern {
 public:
  explicit AllToAll(std::uint32_t endpoints) : endpoints_(endpoints) {}
  NodeId destination(NodeId src, std::uint64_t index, Random&) const override {
    return static_cast<NodeId>((src + 1 + index % (endpoints_ - 1)) % endpoints_);
  }

 private:
  std::uint32_t endpoints_;
};

// To a random one of the endpoints one link away; where switches stand between, to the next or the one before by
// number.
class Neighbour final : public Pattern {
 public:
  explicit Neighbour(const Topology& topology) : topology_(topology) {}
  NodeId destination(NodeId src, std::uint64_t, Random& random) const override {
    const std::uint32_t endpoints = topology_.endpoint_count(), ports = topology_.port_count(src);
    for (std::uint32_t tries = 0, port = random.below(ports); tries < ports; ++tries, port = (port + 1) % ports) {
      const NodeId other = topology_.neighbour(src, static_cast<std::uint16_t>(port)).node;
      if (other < endpoints) return other;
    }
    return static_cast<NodeId>((src + (random.below(2) == 0 ? 1 : endpoints - 1)) % endpoints);
  }

 private:
  const Topology& topology_;
};

// On a machine of which something has failed: the lost send nothing, and nobody sends to them. What is drawn at random
// is drawn again.
class Surviving final : public Pattern {
 public:
  Surviving(Made inner, const Topology& topology) : inner_(std::move(inner)), topology_(topology) {}
  NodeId destination(NodeId src, std::uint64_t index, Random& random) const override {
    if (!topology_.alive(src)) return kNoNode;
    for (std::uint64_t tries = 0; tries < 64; ++tries) {
      const NodeId dst = inner_->destination(src, index + tries, random);
      if (dst == kNoNode || topology_.alive(dst)) return dst;
    }
    if (index == 0) return kNoNode;  // its only destination is lost
    NodeId dst = src;
    do dst = (dst + 1) % topology_.endpoint_count();
    while (!topology_.alive(dst));
    return dst == src ? kNoNode : dst;
  }

 private:
  Made inner_;
  const Topology& topology_;
};

Made make_uniform(const Setting& s) { return std::make_unique<Uniform>(s.endpoints); }
Made make_all_to_all(const Setting& s) { return std::make_unique<AllToAll>(s.endpoints); }
Made make_neighbour(const Setting& s) { return std::make_unique<Neighbour>(s.topology); }

Made make_transpose(const Setting& s) {
  std::uint32_t side = 1;
  while (std::uint64_t{side} * side < s.endpoints) ++side;
  if (std::uint64_t{side} * side != s.endpoints)
    throw ConfigError("pattern", "transpose needs a square number of endpoints; this machine has " +
                                     std::to_string(s.endpoints) + ": choose another pattern, e.g. permutation");
  return permutation(s, [side](NodeId src) { return src % side * side + src / side; });
}

Made make_complement(const Setting& s) {
  return permutation(s, [&](NodeId src) { return s.endpoints - 1 - src; });
}

Made make_reversal(const Setting& s) {
  const std::uint32_t bits = bits_of(s);
  return permutation(s, [bits](NodeId src) {
    NodeId to = 0;
    for (std::uint32_t b = 0; b < bits; ++b) to |= (src >> b & 1u) << (bits - 1 - b);
    return to;
  });
}

Made make_shuffle(const Setting& s) {  // bits turned left by one
  const std::uint32_t bits = bits_of(s);
  return permutation(s, [&](NodeId src) { return (src << 1 | src >> (bits - 1)) & (s.endpoints - 1); });
}

Made make_butterfly(const Setting& s) {  // highest and lowest bit change places
  const std::uint32_t bits = bits_of(s);
  return permutation(s, [bits](NodeId src) {
    const NodeId high = src >> (bits - 1) & 1u, low = src & 1u;
    return high == low ? src : src ^ (1u | 1u << (bits - 1));
  });
}

// Just short of half way round in each dimension of a mesh or torus, round the row of all endpoints elsewhere.
Made make_tornado(const Setting& s) {
  std::vector<std::uint32_t> sides{s.endpoints};
  if (s.spec.kind == "torus" || s.spec.kind == "mesh") sides = s.spec.shape;
  return permutation(s, [&sides](NodeId src) {
    NodeId to = 0, stride = 1, rest = src;
    for (const std::uint32_t side : sides) {
      to += (rest % side + (side + 1) / 2 - 1) % side * stride;
      rest /= side;
      stride *= side;
    }
    return to;
  });
}

// A random permutation without a fixed point: one cycle through all (Sattolo 1986).
Made make_random_permutation(const Setting& s) {
  std::vector<NodeId> to(s.endpoints);
  std::iota(to.begin(), to.end(), 0u);
  Random random(s.seed, 0xfeed);
  for (std::uint32_t i = s.endpoints; i-- > 1;) std::swap(to[i], to[random.below(i)]);
  return std::make_unique<Permutation>(std::move(to));
}

Made make_hot_spot(const Setting& s) {
  const double share = s.figure != nullptr ? *s.figure : 0.2;
  if (!(share >= 0 && share <= 1))
    throw ConfigError("pattern",
                      "hot-spot takes the share of the traffic that goes to one endpoint, e.g. hot-spot:0.1");
  return std::make_unique<HotSpot>(s.endpoints, share);
}

// A share of all traffic goes to the first eighth of the endpoints, anywhere in it.
class HotRegion final : public Pattern {
 public:
  HotRegion(std::uint32_t endpoints, double share)
      : rest_(endpoints), region_(std::max(2u, endpoints / 8)), share_(share) {}
  NodeId destination(NodeId src, std::uint64_t index, Random& random) const override {
    if (random.unit() >= share_) return rest_.destination(src, index, random);
    if (src >= region_) return random.below(region_);
    const NodeId other = random.below(region_ - 1);
    return other < src ? other : other + 1;
  }

 private:
  Uniform rest_;
  std::uint32_t region_;
  double share_;
};

Made make_hot_region(const Setting& s) {
  const double share = s.figure != nullptr ? *s.figure : 0.5;
  if (!(share >= 0 && share <= 1))
    throw ConfigError("pattern",
                      "hot-region takes the share of the traffic that goes to the first eighth of the endpoints, e.g. "
                      "hot-region:0.5");
  return std::make_unique<HotRegion>(s.endpoints, share);
}

// To a random endpoint of the next group, by number, of so many: all of a dragonfly's group sends to one other (Kim and
// others 2008).
class NextGroup final : public Pattern {
 public:
  NextGroup(std::uint32_t endpoints, std::uint32_t group) : endpoints_(endpoints), group_(group) {}
  NodeId destination(NodeId src, std::uint64_t, Random& random) const override {
    const std::uint32_t next = (src / group_ + 1) % (endpoints_ / group_);
    return next * group_ + random.below(group_);
  }

 private:
  std::uint32_t endpoints_, group_;
};

Made make_next_group(const Setting& s) {
  const double figure = s.figure != nullptr ? *s.figure : s.endpoints / 2;
  const auto group = static_cast<std::uint32_t>(figure >= 1 && figure <= s.endpoints ? figure : 0);
  if (group == 0 || group != figure || s.endpoints % group != 0 || s.endpoints == group)
    throw ConfigError("pattern", "next-group takes the number of endpoints in a group, a divisor of this machine's " +
                                     std::to_string(s.endpoints) +
                                     " that leaves two groups or more, e.g. next-group:18 on dragonfly-342");
  return std::make_unique<NextGroup>(s.endpoints, group);
}

// So many senders, spread evenly, to endpoint 0; all others are silent.
Made make_incast(const Setting& s) {
  const double figure = s.figure != nullptr ? *s.figure : s.endpoints - 1;
  if (!(figure >= 1 && figure <= s.endpoints - 1) || figure != static_cast<double>(static_cast<std::uint32_t>(figure)))
    throw ConfigError("pattern", "incast takes the number of senders, from 1 to " + std::to_string(s.endpoints - 1) +
                                     ", e.g. incast:16");
  const auto senders = static_cast<std::uint32_t>(figure);
  std::vector<NodeId> to(s.endpoints);
  std::iota(to.begin(), to.end(), 0u);
  for (std::uint32_t i = 0; i < senders; ++i) to[1 + std::uint64_t{i} * (s.endpoints - 1) / senders] = 0;
  return std::make_unique<Permutation>(std::move(to));
}

// To each with a probability of his own: by weights, a row of them for each source, scaled to one another. Rows of
// zeros are silent.
class Matrix final : public Pattern {
 public:
  explicit Matrix(const Setting& s) {
    std::string_view rest = s.text;
    if (rest.size() < 2 || rest.front() != '[' || rest.back() != ']') fail("it must stand in brackets");
    for (rest = rest.substr(1, rest.size() - 2); !rest.empty();) {
      const std::size_t end = rest.find(';');
      if (end == std::string_view::npos) fail("each row must end with a semicolon");
      read_row(rest.substr(0, end), s);
      rest.remove_prefix(end + 1);
    }
    if (first_.size() != s.endpoints) fail(std::to_string(first_.size()) + " rows");
    first_.push_back(to_.size());
  }

  NodeId destination(NodeId src, std::uint64_t, Random& random) const override {
    const auto begin = up_to_.begin() + static_cast<std::ptrdiff_t>(first_[src]),
               end = up_to_.begin() + static_cast<std::ptrdiff_t>(first_[src + 1]);
    if (begin == end) return kNoNode;
    const auto found = std::min(std::upper_bound(begin, end, random.unit() * end[-1]), end - 1);
    return to_[static_cast<std::size_t>(found - up_to_.begin())];
  }

 private:
  // Takes the next source's destinations, without those that have failed.
  void read_row(std::string_view row, const Setting& s) {
    const std::size_t src = first_.size();
    first_.push_back(to_.size());
    double sum = 0;
    while (!row.empty()) {
      const std::string_view entry = row.substr(0, row.find(','));
      row.remove_prefix(std::min(row.size(), entry.size() + 1));
      NodeId dst = 0;
      double weight = 0;
      const char* end = entry.data() + entry.size();
      const auto name = std::from_chars(entry.data(), end, dst);
      if (name.ec != std::errc() || name.ptr == end || *name.ptr != ' ')
        fail("each entry must be a destination and its weight");
      const auto number = std::from_chars(name.ptr + 1, end, weight);
      if (number.ec != std::errc() || number.ptr != end || !(weight > 0) || !std::isfinite(sum + weight))
        fail("a weight must be a number above zero");
      if (dst >= s.endpoints || dst == src) fail("endpoint " + std::to_string(dst) + " in row " + std::to_string(src));
      if (!s.topology.alive(dst)) continue;
      to_.push_back(dst);
      up_to_.push_back(sum += weight);
    }
  }

  [[noreturn]] static void fail(const std::string& what) {
    throw ConfigError("pattern", "the text of a traffic matrix is wrong: " + what + ": give it a file, matrix:FILE");
  }

  std::vector<std::size_t> first_;  // of a source in the other two, and one beyond
  std::vector<NodeId> to_;
  std::vector<double> up_to_;  // sums of weights from the source's first destination to this one
};

Made make_matrix(const Setting& s) { return std::make_unique<Matrix>(s); }

// A list has its messages one by one (flow_list.hpp), and no rule by which a sender could draw further ones.
Made make_flows(const Setting&) {
  throw ConfigError("pattern", "a list of flows is of whole messages: take sim messages, or another pattern");
}

// A new pattern is one line here: its name, what stands behind its colon, to whom an endpoint sends, and who makes it.
constexpr struct Entry {
  PatternKind kind;
  Made (*make)(const Setting&);
} kPatterns[] = {
    {{"uniform", "", "any other"}, make_uniform},
    {{"transpose", "", "its mirror in a square of all endpoints"}, make_transpose},
    {{"complement", "", "the last one less its own number"}, make_complement},
    {{"reversal", "", "its number with the bits reversed"}, make_reversal},
    {{"shuffle", "", "its number with the bits turned left by one"}, make_shuffle},
    {{"butterfly", "", "its number with the highest and the lowest bit exchanged"}, make_butterfly},
    {{"tornado", "",
      "just short of half way round, in each dimension of a mesh or torus, over all endpoints elsewhere"},
     make_tornado},
    {{"neighbour", "", "a random one of those one link away; behind switches, the next or the one before"},
     make_neighbour},
    {{"permutation", "", "one fixed other, drawn at random"}, make_random_permutation},
    {{"hot-spot", "SHARE", "the middle endpoint with that probability (0.2 if left out), else any other"},
     make_hot_spot},
    {{"incast", "SENDERS", "endpoint 0, from so many senders (all if left out)"}, make_incast},
    {{"all-to-all", "", "each other in turn"}, make_all_to_all},
    {{"hot-region", "SHARE",
      "the first eighth of the endpoints with that probability (0.5 if left out), else any other"},
     make_hot_region},
    {{"next-group", "SIZE",
      "any of the next group's endpoints, of so many each (half of all if left out): the worst that a dragonfly meets"},
     make_next_group},
    {{"matrix", "FILE", "others by the weights of its row in a file, CSV or NumPy's .npy", true}, make_matrix},
    {{"flows", "FILE", "whom the flows of a file say, one by one, in htsim's text form", true}, make_flows},
};

}  // namespace

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kPatterns) names.emplace_back(entry.kind.name);
  return names;
}

std::vector<PatternKind> pattern_kinds() {
  std::vector<PatternKind> kinds;
  for (const Entry& entry : kPatterns) kinds.push_back(entry.kind);
  return kinds;
}

std::unique_ptr<Pattern> make_pattern(const std::string& text, const Topology& topology, const TopologySpec& spec,
                                      std::uint64_t seed) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (topology.endpoint_count() < 2)
    throw ConfigError("pattern", "traffic needs at least two endpoints; this machine has one");
  std::string known;
  for (const Entry& entry : kPatterns) {
    known.append(known.empty() ? "" : ", ").append(entry.kind.name);
    if (name != entry.kind.name) continue;
    if (colon != std::string::npos && std::string_view(entry.kind.figure).empty())
      throw ConfigError("pattern", name + " takes no parameter: leave out what follows the colon");
    double figure = 0;
    Setting setting{topology, spec, topology.endpoint_count(), seed, name, nullptr};
    if (entry.kind.text) {
      setting.text = std::string_view(text).substr(std::min(text.size(), name.size() + 1));
    } else if (colon != std::string::npos) {
      const char* end = text.data() + text.size();
      const auto parsed = std::from_chars(text.data() + colon + 1, end, figure);
      if (parsed.ec != std::errc() || parsed.ptr != end)
        throw ConfigError("pattern", "what follows the colon of " + text + " is not a number");
      setting.figure = &figure;
    }
    Made made = entry.make(setting);
    return spec.failed.empty() ? std::move(made) : std::make_unique<Surviving>(std::move(made), topology);
  }
  reject_name("pattern", "is no traffic pattern", name, known);
}

}  // namespace exanet
