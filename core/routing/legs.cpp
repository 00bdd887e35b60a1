// SPDX-License-Identifier: Apache-2.0
// Routes in several legs: over a random intermediate endpoint's router where the short route is crowded.
//
// valiant: always over an intermediate (Valiant and Brebner 1981); any traffic then loads the network as uniform
//   traffic does, twice.
// ugal-l: at the first router, the topology's own route, unless the queue at its output times its length is above that
//   of the route over one of a few random intermediates (Singh 2005; Kim and others 2008; four of them: Besta and
//   Hoefler 2014).
// ugal-g: the same with the fullest queue on each route, which no router could know.
// par: as ugal-l, and asked again at each further router with endpoints, as long as the packet has stayed on links of
//   class 0 and on the topology's own route (progressive adaptive routing: Jiang, Kim and Dally 2009).
//
// The measure of comparison decides how much comes through, because a packet that stays by mistake stands at the head
// of its source's FIFO until the crowded link takes it. So where both routes begin with the same link, the queues of
// their own virtual channels are compared, not that link's as a whole (UGAL-L VCH of Kim and others 2008), and one
// intermediate with a crowded route does not keep the packet. And a route that passes a link between groups (of a class
// above 0) which the own route passes, too, is no way round it: its queue at the first router may be short, but its
// packets would stand before that link, and with them all others of their channels. On a dragonfly that leaves out
// middles in the source's and the destination's group. With those UGAL-L carries 0.36 of next-group traffic beyond
// saturation on 342 nodes (Valiant 0.42), without them 0.46.
//
// No deadlock: each leg follows the topology's own routes in virtual channels of its own, and classes only rise from
// leg to leg: a cycle would have to lie within one class, where there is none. find_cycle() checks that for legs
// between any two routers that may be ends of a leg.
//
// Where there are channels enough (eight at most), packets on the topology's own route have a class to themselves:
// queued before the crowded link, they would else stand in the way of those that go round it.
//
// On a network with switches a leg ends at the switch of the intermediate endpoint, which is not disturbed itself.
//
// State: 0 at the source; then the leg's target and, above, the number of its class plus 1.
#include <algorithm>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/routing/registry.hpp"

namespace exanet {

namespace {

enum class Policy { kValiant, kUgalLocal, kUgalGlobal, kProgressive };

class Legs final : public Routing {
 public:
  Legs(const Topology& topology, Policy policy, std::uint32_t threshold)
      : topology_(topology),
        policy_(policy),
        threshold_(threshold),
        switched_(topology.switched()),
        channels_(topology.virtual_channels()),
        last_class_(policy == Policy::kProgressive || (policy != Policy::kValiant && channels_ * 3 <= 8) ? 2 : 1) {
    if (channels_ * (last_class_ + 1u) > 8)
      throw ConfigError("router.virtual_channels",
                        "this routing needs " + std::to_string(channels_ * (last_class_ + 1u)) +
                            " virtual channels on this topology; a router has at most 8: choose another");
    for (NodeId e = 0; e < topology.endpoint_count(); ++e)
      if (topology.alive(e)) ends_.push_back(e);
  }

  std::uint8_t virtual_channels() const override { return static_cast<std::uint8_t>(channels_ * (last_class_ + 1)); }
  bool adaptive() const override { return policy_ != Policy::kValiant; }
  bool needs_global_state() const override { return policy_ == Policy::kUgalGlobal; }

  Hop choose(const RouteRequest& r, std::uint32_t& state, const CongestionView& view) const override {
    // By its pair's link to the switch that decides. An endpoint that others may pass decides itself.
    if (switched_ && r.at < topology_.endpoint_count() && topology_.port_count(r.at) == topology_.rails())
      return topology_.next_hop(r.at, r.dst);
    if (state == 0)
      state = policy_ == Policy::kValiant ? pack(last_class_ - 1u, via(r)) : decide(r, view);
    else if (policy_ == Policy::kProgressive && state == straight(r) && is_turn(r.at))
      state = decide(r, view);
    if (class_of(state) < last_class_ && target_of(state) != r.dst && ends_leg(r.at, target_of(state)))
      state = pack(last_class_, r.dst);
    Hop hop = topology_.next_hop(r.at, target_of(state));
    hop.vc = static_cast<std::uint8_t>(hop.vc + class_of(state) * channels_);
    // Beyond the first link between groups the decision stands.
    if (policy_ == Policy::kProgressive && state == straight(r) && topology_.link_class(r.at, hop.port) > 0)
      state |= kCommitted;
    return hop;
  }

  std::vector<Channel> find_cycle(const CheckProgress& progress) const override;

 private:
  static constexpr std::uint32_t kCommitted = 1u << 31;
  static std::uint32_t pack(std::uint32_t number, NodeId target) { return (number + 1) << 24 | target; }
  static std::uint32_t class_of(std::uint32_t state) { return (state >> 24 & 0x7f) - 1; }
  static NodeId target_of(std::uint32_t state) { return state & 0xffffff; }

  // The topology's own route: in the first of three classes, or in the last of two.
  std::uint32_t straight(const RouteRequest& r) const { return pack(last_class_ == 2 ? 0 : last_class_, r.dst); }

  NodeId via(const RouteRequest& r, std::uint64_t attempt = 0) const {
    return ends_[Random(r.draw, 0x71a + attempt).below(static_cast<std::uint32_t>(ends_.size()))];
  }

  // Whether a leg to `target` is over here: at the router itself, or at its switch.
  bool ends_leg(NodeId at, NodeId target) const {
    return at == target || (switched_ && topology_.neighbour(at, topology_.next_hop(at, target).port).node == target);
  }

  // Where a leg may begin: a router with endpoints.
  bool is_turn(NodeId node) const {
    if (!switched_) return true;
    return topology_.port_count(node) > 0 && topology_.neighbour(node, 0).node < topology_.endpoint_count();
  }

  struct Link {
    NodeId at;
    Hop hop;
    bool operator==(const Link& o) const { return at == o.at && hop.port == o.hop.port; }
  };

  // A route: its length, the links whose queues are known (the first one, or all between routers), and those between
  // groups.
  struct Route {
    std::uint32_t length = 0;
    std::vector<Link> known;
    std::vector<Link> between_groups;
  };

  // Follows `target` from `at` on, in channels of class `number`.
  void walk(NodeId& at, NodeId target, bool to_end, std::uint32_t number, Route& route) const {
    while (to_end ? at != target : !ends_leg(at, target)) {
      Hop hop = topology_.next_hop(at, target);
      hop.vc = static_cast<std::uint8_t>(hop.vc + number * channels_);
      const NodeId beyond = topology_.neighbour(at, hop.port).node;
      const bool to_router = !switched_ || beyond >= topology_.endpoint_count();
      if (route.length++ == 0 || (policy_ == Policy::kUgalGlobal && to_router)) route.known.push_back({at, hop});
      if (topology_.link_class(at, hop.port) > 0) route.between_groups.push_back({at, hop});
      at = beyond;
    }
  }

  // The topology's own route, or one over an intermediate?
  std::uint32_t decide(const RouteRequest& r, const CongestionView& view) const {
    const std::uint32_t stay = straight(r), turn = policy_ == Policy::kProgressive ? 1 : last_class_ - 1u;
    if (ends_leg(r.at, r.dst)) return stay;
    Route own;
    NodeId at = r.at;
    walk(at, r.dst, true, class_of(stay), own);
    const std::uint64_t bias = std::uint64_t{threshold_} * r.payload_words * own.length;
    std::uint32_t most = 0;
    for (const Link& link : own.known) most = std::max(most, view.queued_words(link.at, link.hop.port));
    for (std::uint64_t attempt = 0; attempt < kAttempts && std::uint64_t{most} * own.length > bias; ++attempt) {
      const NodeId middle = via(r, attempt);
      if (ends_leg(r.at, middle)) continue;
      Route other;
      at = r.at;
      walk(at, middle, false, turn, other);
      walk(at, r.dst, true, last_class_, other);
      if (share_links(own.between_groups, other.between_groups)) continue;
      if (std::uint64_t{fullest(own, other, view)} * own.length >
          std::uint64_t{fullest(other, own, view)} * other.length + bias)
        return pack(turn, middle);
    }
    return stay;
  }

  static bool share_links(const std::vector<Link>& a, const std::vector<Link>& b) {
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
  }

  // The fullest queue on a route in comparison with another: of the whole port where the other does not pass, else of
  // the route's channel. Of the second leg only what stands in its channel counts: the port's queue is mostly of
  // packets on their own routes, which do not hold it up.
  std::uint32_t fullest(const Route& route, const Route& compared, const CongestionView& view) const {
    std::uint32_t most = 0;
    for (const Link& link : route.known) {
      const bool shared = std::find(compared.known.begin(), compared.known.end(), link) != compared.known.end();
      const bool second = last_class_ == 2 && link.hop.vc >= last_class_ * channels_;
      most = std::max(
          most, shared || second ? view.channel_words(link.at, link.hop) : view.queued_words(link.at, link.hop.port));
    }
    return most;
  }

  static constexpr std::uint64_t kAttempts = 4;  // intermediates looked at (Besta and Hoefler 2014)

  const Topology& topology_;
  Policy policy_;
  std::uint64_t threshold_;  // packets on the own route's first link that are no queue
  bool switched_;
  std::uint32_t channels_;
  std::uint32_t last_class_;
  std::vector<NodeId> ends_;
};

// Legs of every class between all routers where legs begin and all ends, and from each leg to all those that may follow
// it where it ends (in a progressive one's first class: from each router that it passes).
std::vector<Channel> Legs::find_cycle(const CheckProgress& progress) const {
  ChannelGraph graph(topology_, virtual_channels());
  const NodeId nodes = topology_.node_count();
  std::vector<NodeId> turns;
  for (NodeId node = switched_ ? topology_.endpoint_count() : 0; node < nodes; ++node)
    if (is_turn(node) && topology_.alive(node)) turns.push_back(node);
  const std::vector<NodeId> targets = representative_endpoints(topology_);
  for (std::uint32_t number = 0; number <= last_class_; ++number) {
    std::vector<std::uint32_t> follows(
        nodes);  // what may come after a leg of this class that ends here, and may begin one of the next
    const bool last = number == last_class_;
    for (const NodeId turn : turns)
      if (!last) follows[turn] = graph.junction();
    std::vector<NodeId> seen(nodes, kNoNode);
    const auto on = [&](NodeId at, NodeId target) {
      Hop hop = topology_.next_hop(at, target);
      hop.vc = static_cast<std::uint8_t>(hop.vc + number * channels_);
      return hop;
    };
    for (std::size_t t = 0; t < targets.size();
         report_share(progress, number * targets.size() + t++, (last_class_ + 1u) * targets.size()))
      for (const NodeId turn : turns)
        for (NodeId at = turn, target = targets[t]; seen[at] != target && !ends_leg(at, target);) {
          seen[at] = target;
          const std::uint32_t holds = graph.channel(at, on(at, target));
          const NodeId beyond = topology_.neighbour(at, on(at, target).port).node;
          const bool over = ends_leg(beyond, target);
          if (!over) graph.depends(holds, graph.channel(beyond, on(beyond, target)));
          const bool may_turn = over || (number == 0 && policy_ == Policy::kProgressive && is_turn(beyond));
          if (may_turn && !last) graph.depends(holds, follows[beyond]);
          at = beyond;
        }
    if (last) continue;
    for (const NodeId turn : turns)
      for (const NodeId target : targets) {
        if (ends_leg(turn, target)) continue;
        Hop hop = topology_.next_hop(turn, target);
        hop.vc = static_cast<std::uint8_t>(hop.vc + (number + 1) * channels_);
        graph.depends(follows[turn], graph.channel(turn, hop));
      }
  }
  return graph.find_cycle();
}

constexpr std::uint32_t kThreshold = 4;  // as many packets as a link of the prototype has under way

template <Policy kPolicy>
std::unique_ptr<Routing> make(const Topology& topology) {
  return std::make_unique<Legs>(topology, kPolicy, kThreshold);
}

template <Policy kPolicy>
std::unique_ptr<Routing> make_with(const Topology& topology, std::uint32_t threshold) {
  return std::make_unique<Legs>(topology, kPolicy, threshold);
}

}  // namespace

namespace routings {

RoutingKind valiant() {
  return {"valiant", "over the router of a random endpoint, and on from there", make<Policy::kValiant>};
}
RoutingKind ugal_local() {
  return {"ugal-l",
          "the topology's own, or one over a random endpoint's router where that one's queue is shorter for its "
          "length, decided at the first router",
          make<Policy::kUgalLocal>, false, make_with<Policy::kUgalLocal>};
}
RoutingKind ugal_global() {
  return {"ugal-g", "as ugal-l, with the fullest queue on each route, which no router could know",
          make<Policy::kUgalGlobal>, false, make_with<Policy::kUgalGlobal>};
}
RoutingKind progressive() {
  return {"par", "as ugal-l, decided again at each further router as long as the packet has stayed in its group",
          make<Policy::kProgressive>, false, make_with<Policy::kProgressive>};
}

}  // namespace routings

}  // namespace exanet
