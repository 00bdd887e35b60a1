// SPDX-License-Identifier: Apache-2.0
// Links that go down and come up amid traffic, in every model of routers: packets arrive or are lost, each once,
// nothing stands still for ever, what is offered long after the last repair moves as if nothing had happened, and
// threads change nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/random.hpp"
#include "core/engine/windows.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/fault_driver.hpp"
#include "core/network/lossy_harness.hpp"
#include "core/network/model.hpp"
#include "core/units/size_harness.hpp"

namespace exanet {

namespace {

using testing::published_fabric;

struct Machine {
  std::string name;
  TopologySpec spec;
  NetworkConfig config;
};

NetworkConfig config_of(const TopologySpec& spec, const std::string& switching) {
  NetworkConfig config = published_fabric();
  config.links_fail = true;
  config.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
  config.router.inter_fifo_words = 1024 * config.router.virtual_channels;
  config.router.header_fifo_words = 256 * config.router.virtual_channels;
  if (switching.empty()) return config;
  config.input_queued = SwitchConfig{};
  if (switching == "wormhole") config.input_queued->switching = "wormhole";
  if (switching == "pause") config.input_queued->flow_control = SwitchConfig::FlowControl::kPause;
  config.router.inter_fifo_words = 96 * config.router.virtual_channels;
  return config;
}

std::vector<Machine> machines() {
  std::vector<Machine> found;
  for (const char* switching : {"", "cut-through", "pause", "wormhole"})
    for (TopologySpec spec : {TopologySpec{"torus", {4, 4}}, TopologySpec{"fat-tree", {4, 4}},
                              TopologySpec{"mesh", {4, 3}}, TopologySpec{"dragonfly", {2}}})
      for (const char* routing : {"", "up-down", "adaptive"}) {
        spec.routing = routing;
        spec.follows = true;
        try {
          const NetworkConfig config = config_of(spec, switching);
          EventQueue queue;
          make_network(queue, *make_topology(spec), config, {});
          found.push_back({std::string(switching) + " " + spec.kind + " " + routing, spec, config});
        } catch (const std::exception&) {  // this routing is not for that topology
        }
      }
  return found;
}

struct Outcome {
  std::int64_t injected_ps = -1, tail_ps = -1;
  bool lost = false;
  bool operator==(const Outcome&) const = default;
};

// Packets between drawn endpoints at drawn times, over a network in parts.
class Run final {
 public:
  Run(const Machine& machine, const FaultPlan& plan, Time reaction, unsigned parts, std::uint64_t seed,
      std::uint32_t packets, Time span, bool by_events = false)
      : topology_(make_topology(machine.spec)), outcomes_(packets) {
    std::vector<std::uint8_t> part_of;
    const NodeId nodes = topology_->node_count();
    for (NodeId node = 0; parts > 1 && node < nodes; ++node)
      part_of.push_back(static_cast<std::uint8_t>(node * parts / nodes));
    std::vector<Partition> partitions;
    for (unsigned part = 0; part < parts; ++part) {
      ends_.push_back(std::make_unique<End>(End{*this, {}, {}, 0}));
      partitions.push_back({&ends_[part]->queue, PacketSink{}});
      PacketSink& sink = partitions.back().sink;
      sink.self = ends_[part].get();
      sink.delivered = [](void* self, const Packet& p, Time injected, Time tail) {
        Outcome& outcome = static_cast<End*>(self)->run.outcomes_[p.user];
        CHECK(outcome.tail_ps == -1);
        CHECK_FALSE(outcome.lost);
        outcome.injected_ps = injected.ps();
        outcome.tail_ps = tail.ps();
      };
      sink.ready = [](void* self, NodeId node, std::uint8_t, std::uint8_t, Time) {
        static_cast<End*>(self)->run.pump(node);
      };
      sink.lost = [](void* self, const Packet& p, Status why, Time) {
        Outcome& outcome = static_cast<End*>(self)->run.outcomes_[p.user];
        CHECK(outcome.tail_ps == -1);
        CHECK_FALSE(outcome.lost);
        CHECK(why != Status::kOk);
        outcome.lost = true;
      };
    }
    network_ = make_network_model(partitions, *topology_, machine.config, part_of);
    waiting_.resize(topology_->endpoint_count());
    for (NodeId e = 0; e < topology_->endpoint_count(); ++e) end_of_.push_back(part_of.empty() ? 0 : part_of[e]);
    Random random(seed);
    std::vector<Packet> drawn;
    for (std::uint32_t i = 0; i < packets; ++i) {
      const NodeId src = random.below(topology_->endpoint_count());
      NodeId dst = random.below(topology_->endpoint_count() - 1);
      dst += dst >= src;
      packets_.push_back({src, dst, static_cast<std::uint16_t>(random.below(257)), 0, 0, i});
      End& end = *ends_[end_of_[src]];
      if (i == 0)
        for (auto& other : ends_)
          other->event = other->queue.add_handler(
              [](void* self, Time, std::uint32_t packet, std::uint64_t) { static_cast<End*>(self)->run.offer(packet); },
              other.get());
      end.queue.schedule(Time::ps(static_cast<std::int64_t>(random.unit() * static_cast<double>(span.ps()))), end.event,
                         i);
    }
    FaultDriver driver(*network_, *topology_, plan, reaction);
    by_events ? go_by_events(driver) : go(driver);
  }

  std::vector<Outcome> outcomes() const { return outcomes_; }
  std::uint64_t lost() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(outcomes_, [](const Outcome& o) { return o.lost; }));
  }
  std::uint64_t discarded() const {
    std::uint64_t sum = 0;
    for (NodeId node = 0; node < topology_->node_count(); ++node) sum += network_->discarded(node);
    return sum;
  }

 private:
  struct End {
    Run& run;
    EventQueue queue;
    std::vector<std::uint32_t> unused;
    std::uint32_t event;
  };

  void go(FaultDriver& driver) {
    std::vector<EventQueue*> queues;
    for (auto& end : ends_) queues.push_back(&end->queue);
    Windows windows(queues, *network_);
    while (driver.next() != Time::never()) {
      const Time at = driver.next();
      windows.run_until(at);
      check_conservation();
      driver.apply(at);
      check_conservation();
    }
    windows.run_until(Time::never());
    check_conservation();
    INFO(network_->deadlock());
    CHECK(network_->in_flight() == 0);
    CHECK(network_->lost() + discarded() == lost());
  }

  // The driver as an event of the only queue, as under programs.
  void go_by_events(FaultDriver& driver) {
    EventQueue& queue = ends_.at(0)->queue;
    driver.run_on(queue);
    while (!queue.empty()) queue.run_one();
    check_conservation();
    CHECK(network_->in_flight() == 0);
  }

  void check_conservation() const {
    std::uint64_t gone = 0;
    for (const Outcome& o : outcomes_) gone += o.lost || o.tail_ps >= 0;
    CHECK(injected() == gone + network_->in_flight());
  }
  std::uint64_t injected() const {
    std::uint64_t sum = 0;
    for (const auto& queue : waiting_) sum += queue.injected;
    return sum;
  }

  struct Queue {
    std::deque<std::uint32_t> packets;
    std::uint64_t injected = 0;
  };

  void offer(std::uint32_t packet) {
    Queue& queue = waiting_[packets_[packet].src];
    queue.packets.push_back(packet);
    if (queue.packets.size() == 1) pump(packets_[packet].src);
  }
  void pump(NodeId node) {
    Queue& queue = waiting_[node];
    while (!queue.packets.empty() && network_->inject(packets_[queue.packets.front()])) {
      queue.packets.pop_front();
      ++queue.injected;
    }
  }

  std::unique_ptr<Topology> topology_;
  std::vector<Outcome> outcomes_;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<std::uint8_t> end_of_;
  std::vector<Queue> waiting_;
  std::vector<Packet> packets_;
  std::unique_ptr<NetworkModel> network_;
};

constexpr std::uint32_t kPackets = 3000;
constexpr Time kSpan = Time::us(300);

// Drawn faults in the first third; all is repaired by half of the span.
FaultPlan first_third(const Topology& shape, std::uint64_t seed, bool nodes) {
  FaultPlan drawn, plan;
  drawn.draw(shape, {true, Time::us(300), Time::us(10), seed}, Time::us(100));
  if (nodes) drawn.draw(shape, {false, Time::us(400), Time::us(15), seed}, Time::us(100));
  for (const FaultChange& change : drawn.changes()) plan.add(change);
  for (const FaultChange& change : drawn.changes()) plan.add({Time::us(150), change.node, change.port, true});
  return plan;
}

// Two that do not cut the network in parts.
std::string two_links(TopologySpec spec) {
  spec.follows = false;
  for (int seed = 1;; ++seed) {
    spec.failed = {"links:2:" + std::to_string(seed)};
    try {
      make_topology(spec);
      return spec.failed[0];
    } catch (const std::invalid_argument&) {
    }
  }
}

}  // namespace

TEST_CASE("links that fail: a network that cannot lose a link refuses the plan, and says what to do") {
  const auto shape = make_topology({"mesh", {3}});
  EventQueue queue;
  testing::LossyNetwork network(queue, *shape, published_fabric(), {}, [](const Packet&) { return false; });
  FaultPlan plan;
  plan.fail(*shape, shape->node_name(1));
  FaultDriver driver(network, *shape, plan, Time());
  CHECK_THROWS_WITH_AS(driver.apply(Time()), doctest::Contains("use a model with routers"), ConfigError);
}

TEST_CASE("links that fail: packets arrive or are lost, each once, and nothing stands still") {
  // In the long set each machine with three plans, else with one of them: the first machine with the first, and so on.
  std::uint64_t lost = 0, runs = 0, number = 0;
  for (const Machine& machine : machines()) {
    CAPTURE(machine.name);
    const auto shape = make_topology(machine.spec);
    const std::uint64_t turn = 1 + number++ % 3;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      if (!testing::in_full() && seed != turn) continue;
      CAPTURE(seed);
      const FaultPlan plan = first_third(*shape, seed, seed == 3);
      const Run run(machine, plan, Time::ns(500), 1, seed, kPackets, kSpan);
      lost += run.lost();
      ++runs;
      // Long after the repair packets take the time that they take without faults, but for what others are in their
      // way.
      const Run whole(machine, {}, Time(), 1, seed, kPackets, kSpan);
      CHECK(whole.lost() == 0);
      std::uint64_t same = 0, late = 0;
      for (std::uint32_t i = 0; i < kPackets; ++i) {
        const Outcome now = run.outcomes()[i], then = whole.outcomes()[i];
        if (then.injected_ps < Time::us(200).ps()) continue;
        ++late;
        CHECK_FALSE(now.lost);
        same += now == then;
      }
      CHECK(late > 100);
      CHECK(same * 100 >= late * 98);
    }
  }
  CHECK(runs >= (testing::in_full() ? 60 : 20));
  CHECK(lost > runs);  // the faults did hit something
}

TEST_CASE("links that fail by events of the queue: the same as between windows") {
  for (const Machine& machine : machines()) {
    CAPTURE(machine.name);
    const FaultPlan plan = first_third(*make_topology(machine.spec), 4, true);
    const Run windows(machine, plan, Time::ns(500), 1, 4, kPackets, kSpan);
    const Run events(machine, plan, Time::ns(500), 1, 4, kPackets, kSpan, true);
    CHECK(windows.lost() > 0);
    CHECK(windows.outcomes() == events.outcomes());
  }
}

TEST_CASE("links that fail: threads change nothing") {
  for (const Machine& machine : machines()) {
    if (machine.spec.routing == "adaptive" && machine.config.input_queued) continue;  // one thread alone
    if (machine.name.starts_with("pause")) continue;
    CAPTURE(machine.name);
    const FaultPlan plan = first_third(*make_topology(machine.spec), 5, true);
    const Run one(machine, plan, Time::ns(500), 1, 5, kPackets, kSpan);
    for (const unsigned parts : {2u, 3u}) {
      CAPTURE(parts);
      const Run more(machine, plan, Time::ns(500), parts, 5, kPackets, kSpan);
      CHECK(one.outcomes() == more.outcomes());
    }
  }
}

TEST_CASE("lossy links: single packets are lost, each once, the same ones whatever the threads, and none afterwards") {
  constexpr std::uint32_t kFew = 600;
  constexpr Time kShort = Time::us(60);
  std::uint64_t lost = 0, late = 0;
  for (const Machine& machine : machines()) {
    CAPTURE(machine.name);
    const auto shape = make_topology(machine.spec);
    FaultSchedule schedule;
    schedule.events = {{"links:5:2", Time::us(5), false, FaultKind::kLoss, {0.3, 0, 3}},
                       {"links:5:2", Time::us(30), true, FaultKind::kLoss}};
    const FaultPlan plan = plan_of(schedule, *shape);
    const Run one(machine, plan, Time(), 1, 6, kFew, kShort), whole(machine, {}, Time(), 1, 6, kFew, kShort);
    lost += one.lost();
    for (std::uint32_t i = 0; i < kFew; ++i) {
      if (whole.outcomes()[i].injected_ps < Time::us(50).ps()) continue;
      ++late;
      CHECK_FALSE(one.outcomes()[i].lost);
    }
    if ((machine.spec.routing == "adaptive" && machine.config.input_queued) || machine.name.starts_with("pause"))
      continue;  // one thread alone
    const Run more(machine, plan, Time(), 2, 6, kFew, kShort);
    CHECK(one.outcomes() == more.outcomes());
  }
  CHECK(lost > machines().size());
  CHECK(late > machines().size());
}

// In the long set a million packets are lost.
TEST_CASE("lossy links: where every link loses packets, each arrives or is lost, once, and nothing stands still") {
  const std::uint32_t packets = testing::in_full() ? 70'000 : 300;
  std::uint64_t lost = 0, all = 0, seed = 22'000'000;
  for (const Machine& machine : machines()) {
    CAPTURE(machine.name);
    CAPTURE(++seed);
    const auto shape = make_topology(machine.spec);
    FaultSchedule schedule;
    for (NodeId node = 0; node < shape->node_count(); ++node)
      schedule.events.push_back({shape->node_name(node), Time(), false, FaultKind::kLoss, {0.12, 1e-6, seed}});
    const Run run(machine, plan_of(schedule, *shape), Time(), 1, seed, packets, Time::ns(100) * packets);
    lost += run.lost();
    all += packets;
  }
  MESSAGE(lost << " of " << all << " packets were lost");
  CHECK(lost >= (testing::in_full() ? 1'000'000 : 2000));
}

TEST_CASE(
    "slow links and stopped interfaces: packets come later or are lost, whatever the threads, and none afterwards") {
  constexpr std::uint32_t kFew = 600;
  constexpr Time kShort = Time::us(60);
  std::uint64_t lost = 0, later = 0;
  for (Machine machine : machines()) {
    CAPTURE(machine.name);
    const auto shape = make_topology(machine.spec);
    FaultSchedule schedule;
    schedule.events = {{"links:5:2", Time::us(5), false, FaultKind::kRate, {}, 0.25},
                       {"links:3:4", Time::us(9), false, FaultKind::kRate, {}, 0.1},
                       {shape->node_name(1), Time::us(8), false, FaultKind::kInterface},
                       {shape->node_name(1), Time::us(20), true, FaultKind::kInterface},
                       {"links:5:2", Time::us(30), true, FaultKind::kRate},
                       {"links:3:4", Time::us(12), true, FaultKind::kRate}};
    machine.config = failing(machine.config, schedule);
    const FaultPlan plan = plan_of(schedule, *shape);
    const Run one(machine, plan, Time(), 1, 6, kFew, kShort), whole(machine, {}, Time(), 1, 6, kFew, kShort);
    lost += one.lost();
    for (std::uint32_t i = 0; i < kFew; ++i) {
      later += one.outcomes()[i].tail_ps > whole.outcomes()[i].tail_ps;
      if (whole.outcomes()[i].injected_ps < Time::us(50).ps()) continue;
      CHECK(one.outcomes()[i] == whole.outcomes()[i]);
    }
    if ((machine.spec.routing == "adaptive" && machine.config.input_queued) || machine.name.starts_with("pause"))
      continue;  // one thread alone
    const Run more(machine, plan, Time(), 2, 6, kFew, kShort);
    CHECK(one.outcomes() == more.outcomes());
  }
  CHECK(lost > machines().size());
  CHECK(later > machines().size());
}

TEST_CASE("slow links: the n-th part of the rate is n times the time on the line, in each model") {
  for (const char* switching : {"", "cut-through", "wormhole"}) {
    CAPTURE(switching);
    const TopologySpec spec{"mesh", {2}};
    FaultSchedule schedule;
    schedule.events = {{"(0) X+", Time::us(1), false, FaultKind::kRate, {}, 0.1}};
    const NetworkConfig config = failing(config_of(spec, switching), schedule);
    const auto shape = make_topology(spec);
    std::int64_t last[2] = {};
    for (const bool slow : {false, true}) {
      EventQueue queue;
      std::int64_t& tail = last[slow];
      PacketSink sink{&tail,
                      [](void* self, const Packet&, Time, Time at) { *static_cast<std::int64_t*>(self) = at.ps(); },
                      [](void*, NodeId, std::uint8_t, std::uint8_t, Time) {}};
      const auto network = make_network(queue, *shape, config, sink);
      const auto topology = make_topology(following(spec, schedule));
      FaultDriver driver(*network, *topology, slow ? plan_of(schedule, *shape) : FaultPlan(), Time());
      driver.run_on(queue);
      queue.run_until(Time::us(2));
      REQUIRE(network->inject({0, 1, 256, 0, 0, 0}));
      queue.run_until(Time::us(200));
      CHECK(network->in_flight() == 0);
    }
    // 256 bytes and more, of which nothing else is slower.
    const double line_ps = 256.0 * 8 * static_cast<double>(config.links[0].word_time.ps()) /
                           static_cast<double>(config.links[0].word_bits);
    CHECK(static_cast<double>(last[1] - last[0]) > 8.5 * line_ps);
    CHECK(static_cast<double>(last[1] - last[0]) < 12 * line_ps);
  }
}

TEST_CASE("links that fail at the beginning: routes are those of a machine that is broken from the beginning") {
  for (Machine machine : machines()) {
    if (machine.spec.routing == "adaptive") continue;
    CAPTURE(machine.name);
    const auto shape = make_topology(machine.spec);
    const std::string failed = two_links(machine.spec);
    CAPTURE(failed);
    FaultPlan plan;
    plan.fail(*shape, failed);
    const Run live(machine, plan, Time(), 1, 9, kPackets, kSpan);
    CHECK(live.lost() == 0);
    machine.spec.follows = false;
    machine.spec.failed = {failed};
    const Run broken(machine, {}, Time(), 1, 9, kPackets, kSpan);
    CHECK(live.outcomes() == broken.outcomes());
  }
}

}  // namespace exanet
