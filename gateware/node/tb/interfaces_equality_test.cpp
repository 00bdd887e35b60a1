// SPDX-License-Identifier: Apache-2.0
// Do the Verilated interfaces under software (core/nic/exanet), with their routers and links, end everything in the
// same picosecond as their models do?
//
// Messages, transfers, reads and reductions are posted as programs post them, at drawn times, to the library of nodes
// that `exanet run --fabric gateware` loads and to the models; every completion is compared.
#include <doctest/doctest.h>

#include <algorithm>
#include <compare>
#include <memory>
#include <random>
#include <sstream>

#include "core/network/model.hpp"
#include "core/network/verilated/verilated_network.hpp"
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/nic/messages/fabric.hpp"
#include "core/routing/make_topology.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

struct Case {
  TopologySpec topology{"torus", {4}};
  unsigned line_cycles = 20;
  std::int64_t memory_read = 120, memory_write = 60, mailbox = 100;  // ns
  unsigned posts = 300;
  double gap = 200;  // ns between two of a node, mean
  unsigned idle_one_in = 0;  // pauses of up to 100 us
  unsigned messages_of_ten = 4, reads_of_ten = 2;  // the rest are transfers and reductions
  std::uint64_t most_bytes = 20'000;
  unsigned hot_one_in = 0;  // posts to node 0
  unsigned reductions = 20;  // of all nodes
  std::int64_t opens = 0;  // ns: when their tree is
  unsigned threads = 1;
  std::uint64_t seed = 1;

  std::string text() const {
    std::ostringstream s;
    s << topology.kind << ' ';
    for (const std::uint32_t side : topology.shape) s << side << ' ';
    s << "line " << line_cycles << ", memory " << memory_read << ' ' << memory_write << ' ' << mailbox << " ns, "
      << posts << " posts, gap " << gap << " ns, idle " << idle_one_in << ", messages " << messages_of_ten << ", reads "
      << reads_of_ten << ", up to " << most_bytes << " B, hot " << hot_one_in << ", reductions " << reductions
      << ", opened at " << opens << " ns, threads " << threads << ", seed " << seed;
    return s.str();
  }
};

struct Happening {
  std::int64_t ps;
  char what;  // 'c' message, 'd' transfer there, 'a' its source knows, 'r' end of a reduction, 'p' packet
  std::uint64_t user;
  auto operator<=>(const Happening&) const = default;
};

NiConfig interfaces(const Case& c) {
  NiConfig ni;
  ni.messages = ni.transfers = ni.reductions = NiConfig::Costs::kGateware;
  ni.packetizer = ni.mailbox_word = ni.dma_start = ni.dma_completion = ni.translation = ni.reduction =
      ni.reduction_word = Time();
  ni.memory_read = Time::ns(c.memory_read);
  ni.memory_write = Time::ns(c.memory_write);
  ni.mailbox = Time::ns(c.mailbox);
  ni.reduction_trees = 16;
  return ni;
}

// A tree of all nodes, the one below node n at (n - 1) / 4, with two processes a node.
ReductionPlace place_of(NodeId node, std::uint32_t nodes, std::uint8_t tree) {
  ReductionPlace place;
  place.epoch = 1;
  place.root = node == 0;
  place.branches = place.locals = 3;
  for (NodeId below = 4 * node + 1; below <= 4 * node + 4 && below < nodes; ++below) {
    const unsigned branch = 2 + (below - 1) % 4;
    place.branches |= static_cast<std::uint8_t>(1u << branch);
    place.below[branch] = {below, tree, 0};
  }
  if (node != 0) place.above = {(node - 1) / 4, tree, static_cast<std::uint8_t>(2 + (node - 1) % 4)};
  return place;
}

class Run final : public NicListener {
 public:
  Run(const Case& c, const MakeNetwork& make)
      : case_(c),
        random_(c.seed),
        topology_(make_topology(c.topology)),
        fabric_(fabric_of(Time::ps(6400), c.line_cycles, 4)) {
    const NiConfig ni = interfaces(c);
    nic_ = std::make_unique<ExanetNic>(NicSetup{queue_, *topology_, fabric_, ni, *this, make});
    on_post_ = queue_.add_handler(
        [](void* self, Time, std::uint32_t node, std::uint64_t what) { static_cast<Run*>(self)->post(node, what); },
        this);
    const std::uint32_t nodes = topology_->node_count();
    std::vector<std::int64_t> next(nodes, 0);
    for (std::uint64_t i = 0; i < c.posts; ++i) {
      const auto node = static_cast<NodeId>(random_() % nodes);
      const double drawn = static_cast<double>(random_() >> 11) * 0x1p-53;
      next[node] += static_cast<std::int64_t>(2000 * c.gap * drawn);
      if (c.idle_one_in != 0 && random_() % c.idle_one_in == 0)
        next[node] += static_cast<std::int64_t>(random_() % 100'000'000);
      const bool hot = c.hot_one_in != 0 && random_() % c.hot_one_in == 0;
      const std::uint64_t to = hot ? 0 : random_() % nodes, bytes = random_() % (c.most_bytes + 1),
                          kind = random_() % 10;
      const std::uint64_t flags = random_() % 4;
      posts_.push_back({node, static_cast<NodeId>(to), bytes, kind, flags});
      queue_.schedule(Time::ps(next[node]), on_post_, node, i);
    }
    if (c.reductions != 0) queue_.schedule(Time::ns(c.opens), on_post_, 0, kOpens);
    while (!queue_.empty()) queue_.run_one();
    CHECK(nic_->active() == 0);
    CHECK(ended_ == c.reductions);
    std::sort(happenings.begin(), happenings.end());
  }

  std::vector<Happening> happenings;
  std::uint64_t cycles() const { return nic_->network().cycles(); }

  void message_completed(std::uint64_t user, Status, Time now) override { add(now, 'c', user); }
  void transfer_completed(std::uint64_t user, Status, Time now) override {
    add(now, 'd', user);
    const Post* read = user < posts_.size() && reads(posts_[user]) ? &posts_[user] : nullptr;
    if (read != nullptr && !std::exchange(posts_[user].replied, true))
      nic_->post(RdmaTransfer{read->to, read->node, read->bytes, true, true, user, 1, RdmaTransfer::Part::kReply});
  }
  void transfer_acknowledged(std::uint64_t user, Status, Time now) override { add(now, 'a', user); }
  void packet_delivered(const Packet& packet, Time injected, Time now) override {
    add(now, 'p',
        static_cast<std::uint64_t>(injected.ps()) << 8 ^ packet.src << 4 ^ packet.dst ^
            std::uint64_t{packet.payload_bytes} << 50 ^ std::uint64_t{packet.priority} << 60);
  }
  // Who has its result calls again, until all rounds are over.
  void reduction_completed(std::uint64_t user, Status status, Time now) override {
    CHECK(status == Status::kOk);
    add(now, 'r', user);
    const std::uint32_t nodes = topology_->node_count();
    if (++in_round_ == 2 * nodes) in_round_ = 0, ++ended_;
    if (user / (2 * nodes) + 1 == case_.reductions) return;
    call(user + 2 * nodes, now);
  }

 private:
  struct Post {
    NodeId node, to;
    std::uint64_t bytes, kind, flags;
    bool replied = false;
  };
  bool reads(const Post& p) const {
    return p.kind >= case_.messages_of_ten && p.kind < case_.messages_of_ten + case_.reads_of_ten;
  }
  void add(Time now, char what, std::uint64_t user) { happenings.push_back({now.ps(), what, user}); }

  void post(NodeId node, std::uint64_t i) {
    if (i == kOpens) return open();
    if (i >= kCalls) return nic_->post(call_of(i - kCalls));
    const Post& p = posts_[i];
    if (p.kind < case_.messages_of_ten)
      return nic_->post(PacketizerMessage{node, p.to, static_cast<std::uint32_t>(p.bytes % 65), i});
    if (reads(p))
      return nic_->post(RdmaTransfer{node, p.to, 0, false, false, i, 1, RdmaTransfer::Part::kRequest, p.bytes + 1});
    nic_->post(RdmaTransfer{node, p.to, p.bytes, (p.flags & 1) != 0, true, i, 1, RdmaTransfer::Part::kWrite, 0,
                            (p.flags & 2) != 0});
  }
  void open() {
    const std::uint32_t nodes = topology_->node_count();
    for (NodeId node = 0; node < nodes; ++node) nic_->open_tree(node, kTree, place_of(node, nodes, kTree));
    for (std::uint64_t user = 0; user < 2 * nodes; ++user) call(user, queue_.now());
  }
  void call(std::uint64_t user, Time now) {
    const std::uint64_t drawn = (user + case_.seed) * 0x9e3779b97f4a7c15u >> 40;
    const std::uint64_t first = user < 2 * topology_->node_count() ? 300'000 : 0;  // ps: the tree has been opened
    queue_.schedule(now + Time::ps(static_cast<std::int64_t>(first + drawn % 3'000'000 * (drawn % 3))), on_post_,
                    static_cast<std::uint32_t>(user / 2 % topology_->node_count()), kCalls + user);
  }
  ReductionCall call_of(std::uint64_t user) const {
    const std::uint64_t round = user / (2 * topology_->node_count());
    const auto bytes = static_cast<std::uint16_t>(8 * (round * 7 % 65));
    return {static_cast<NodeId>(user / 2 % topology_->node_count()),
            kTree,
            static_cast<std::uint8_t>(user % 2),
            {0, 5, bytes},
            user};
  }

  static constexpr std::uint64_t kCalls = std::uint64_t{1} << 40, kOpens = kCalls - 1;
  static constexpr std::uint8_t kTree = 3;
  Case case_;
  std::mt19937_64 random_;
  EventQueue queue_;
  std::unique_ptr<Topology> topology_;
  NetworkConfig fabric_;
  std::unique_ptr<ExanetNic> nic_;
  std::vector<Post> posts_;
  std::uint64_t in_round_ = 0, ended_ = 0;
  std::uint32_t on_post_ = 0;
};

std::uint64_t compared = 0;

void compare(const Case& c) {
  const Run gateware(c, make_node_network(EXANET_NODES_INTERFACES, c.topology, c.threads)), model(c, make_network);
  compared += model.happenings.size();
  CHECK(gateware.cycles() > 0);
  const auto &a = gateware.happenings, &b = model.happenings;
  if (a == b) return;
  std::ostringstream s;
  const auto i = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  s << c.text() << ": " << a.size() << " happenings in the gateware, " << b.size() << " in the model:\n";
  for (std::ptrdiff_t k = std::max<std::ptrdiff_t>(0, i - 8); k < i + 8; ++k) {
    s << (k == i ? " ! " : "   ");
    for (const auto* all : {&a, &b})
      if (k < std::ssize(*all)) {
        const Happening& h = (*all)[static_cast<std::size_t>(k)];
        s << static_cast<double>(h.ps) / 6400 << ' ' << h.what << ' ' << h.user << "   |   ";
      }
    s << '\n';
  }
  FAIL_CHECK(s.str());
}

}  // namespace

TEST_CASE("interfaces equality: reductions alone, on trees that are opened at once or later") {
  for (const std::int64_t opens : {0, 50'000}) compare({.posts = 0, .reductions = 8, .opens = opens});
}

// A node posts more at once than it has slots and channels; then nothing for a while, in which its interface is at
// rest.
TEST_CASE("interfaces equality: all of them, with pauses, and more than there is space for") {
  compare({.topology = {"mesh", {2, 2}}, .posts = 300, .idle_one_in = 40, .hot_one_in = 3, .threads = 2, .seed = 2});
  compare({.topology = {"torus", {3}}, .posts = 800, .gap = 0, .most_bytes = 600, .reductions = 3, .seed = 3});
}

// Cases that are drawn, on seeds that no other case here has: EXANET_POSTS posts of them from EXANET_POSTS_SEED on, for
// a campaign.
TEST_CASE("interfaces equality: drawn cases") {
  const std::uint64_t posts = given("EXANET_POSTS", 600);
  std::uint64_t seed = given("EXANET_POSTS_SEED", 1'000'000), posted = 0;
  for (compared = 0; posted < posts; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
    Case c;
    c.topology = pick(std::vector<TopologySpec>{
        {"torus", {2}}, {"torus", {4}}, {"mesh", {2, 2}}, {"torus", {3, 2}}, {"mesh", {4, 2}}});
    c.line_cycles = pick(std::vector<unsigned>{0, 1, 7, 20, 45, 300});
    c.memory_read = pick(std::vector<std::int64_t>{0, 10, 120, 700});
    c.memory_write = pick(std::vector<std::int64_t>{0, 10, 60, 700});
    c.mailbox = pick(std::vector<std::int64_t>{0, 10, 100, 700});
    c.posts = static_cast<unsigned>(50 + random() % 400);
    c.gap = pick(std::vector<double>{0, 10, 200, 2000});
    c.idle_one_in = pick(std::vector<unsigned>{0, 0, 20});
    c.messages_of_ten = pick(std::vector<unsigned>{0, 4, 8, 10});
    c.reads_of_ten = c.messages_of_ten < 8 ? pick(std::vector<unsigned>{0, 2, 4}) : 0;
    c.most_bytes = pick(std::vector<std::uint64_t>{0, 64, 600, 5000, 40'000});
    c.hot_one_in = pick(std::vector<unsigned>{0, 1, 3});
    c.reductions = pick(std::vector<unsigned>{0, 0, 3, 20});
    c.opens = pick(std::vector<std::int64_t>{0, 777, 50'000});
    c.threads = pick(std::vector<unsigned>{1, 2});
    c.seed = seed;
    compare(c);
    posted += c.posts;
  }
  MESSAGE("posts compared: " << posted << ", completions and packets " << compared << ", seeds up to " << seed - 1);
}
