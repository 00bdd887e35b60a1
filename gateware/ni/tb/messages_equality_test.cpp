// SPDX-License-Identifier: Apache-2.0
// Are the Verilated network interfaces and the model of core/nic/messages the same, cycle by cycle?
//
// Processors of the Verilated nodes store messages at drawn times, and say how far they have read their mailboxes a
// drawn time after each entry. The model is given each store in the cycle in which the bus has taken it, and has to
// come to the same: when each header is at its router, when each entry is in memory and where, when each slot is
// answered and how, and what is counted.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>

#include "gateware/ni/tb/ni_equality.hpp"
#include "gateware/ni/tb/ni_network.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr std::uint64_t kReset = 64;  // cycles in which the tables are cleared

struct Case {
  std::size_t nodes = 4;
  bool square = false;
  unsigned line_cycles = 20, memory_cycles = 20;
  unsigned timeout = 8, tries = 0;
  unsigned messages = 300;  // of all nodes
  double gap = 100;  // cycles between a node's messages, mean
  unsigned contexts = 4, most_bytes = 64;
  unsigned log_entries = 6;
  unsigned read_delay = 40;  // cycles, at most
  unsigned hot_one_in = 0;  // messages to node 0
  unsigned bad_one_in = 0;  // messages to a mailbox that takes none
  unsigned damaged_one_in = 0;  // messages and answers, as they come out of the network
  std::uint64_t seed = 1;

  std::string text() const {
    std::ostringstream s;
    s << nodes << " nodes" << (square ? " in a square" : "") << ", line " << line_cycles << ", memory " << memory_cycles
      << ", timeout " << timeout << ", tries " << tries << ", " << messages << " messages, gap " << gap << ", contexts "
      << contexts << ", up to " << most_bytes << " B, rings of " << (1u << log_entries) << ", read within "
      << read_delay << ", hot " << hot_one_in << ", bad " << bad_one_in << ", damaged " << damaged_one_in << ", seed "
      << seed;
    return s.str();
  }
  // The packet that is so many-th to come out at a node's port.
  bool damages(std::size_t node, unsigned port, std::size_t packet) const {
    return is_damaged(damaged_one_in, seed, node, port, packet);
  }
};

struct StoreOp {
  std::uint64_t taken;
  std::size_t node;
  bool releases;
  unsigned context;  // or mailbox
  MessageStore message;
  std::uint32_t place;
};

struct Result {
  std::vector<Happening> happenings;
  std::array<std::uint64_t, 8> counts{};  // sent, repeated, stale; stored, refused, repeated, dropped
};

std::uint64_t ring_address(unsigned mailbox) { return 0x100000 * (1 + mailbox); }

// Drives the Verilated nodes until nothing is under way, and writes down every store as it was taken.
class Gateware {
 public:
  explicit Gateware(const Case& c)
      : case_(c),
        random_(c.seed),
        net_(c.nodes,
             {.line = {.latency_cycles = c.line_cycles},
              .memory = {.latency_cycles = c.memory_cycles},
              .timeout = c.timeout,
              .tries = c.tries,
              .damages = [this](std::size_t node, unsigned port,
                                std::size_t packet) { return case_.damages(node, port, packet); }},
             c.square),
        nodes_(c.nodes) {
    for (std::size_t n = 0; n < c.nodes; ++n) {
      for (unsigned context = 0; context < c.contexts; ++context) net_.open_context(n, context, 5);
      for (unsigned box = 0; box < 3; ++box)
        net_.open_mailbox(n, box, box == 2 ? 6 : 5, ring_address(box), c.log_entries);
    }
    begin_processors(net_, nodes_, random_);
    run();
    collect();
  }

  std::vector<StoreOp> ops;
  Result result;
  std::uint64_t end() const { return net_.cycle(); }

 private:
  struct Reader {
    std::uint64_t due;
    unsigned mailbox;
  };
  struct Processor {
    std::uint64_t next = 0;
    std::vector<StoreOp> ops;
    std::size_t beats = 0;
    std::vector<Reader> readers;
    std::uint32_t place[2] = {};
  };

  void run() {
    unsigned sent = 0;
    for (std::uint64_t quiet = 0; quiet < 20'000; ++quiet) {
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        Processor& p = nodes_[n];
        auto& beats = net_.node(n).memory->beats;
        for (; p.beats < beats.size(); ++p.beats)
          if (beats[p.beats].last)
            p.readers.push_back({net_.cycle() + random_() % (case_.read_delay + 1), box_of(beats[p.beats].address)});
        const auto due =
            std::find_if(p.readers.begin(), p.readers.end(), [&](const Reader& r) { return r.due <= net_.cycle(); });
        if (due != p.readers.end()) {
          release(n, due->mailbox);
          p.readers.erase(due);
        } else if (sent < case_.messages && p.next <= net_.cycle()) {
          send(n);
          ++sent;
          p.next = net_.cycle() + drawn_gap(random_, case_.gap);
        } else {
          continue;
        }
        quiet = 0;
      }
      const std::size_t before = happened();
      net_.step();
      if (happened() != before) quiet = 0;
    }
    CHECK(sent == case_.messages);
  }
  std::size_t happened() {
    std::size_t all = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      all += net_.node(n).slot_events.size() + net_.node(n).in[0].arrivals.size() + net_.node(n).in[1].arrivals.size();
    return all;
  }
  static unsigned box_of(std::uint64_t address) { return static_cast<unsigned>(address / 0x100000 - 1); }

  void release(std::size_t n, unsigned mailbox) {
    std::uint32_t& place = nodes_[n].place[mailbox];
    place = (place + 1) % (2u << case_.log_entries);
    net_.release(n, 0, mailbox, place);
    nodes_[n].ops.push_back({0, n, true, mailbox, {}, place});
  }
  void send(std::size_t n) {
    const bool hot = case_.hot_one_in != 0 && random_() % case_.hot_one_in == 0;
    const auto to = hot ? 0 : random_() % nodes_.size();
    const bool bad = case_.bad_one_in != 0 && random_() % case_.bad_one_in == 0;
    const auto box = static_cast<unsigned>(bad ? 2 + random_() % 2 : random_() % 2);
    const auto context = static_cast<unsigned>(random_() % case_.contexts);
    const auto bytes = static_cast<unsigned>(random_() % (case_.most_bytes + 1));
    net_.send(n, context, net_.node(to).dcid, box, bytes);
    nodes_[n].ops.push_back(
        {0,
         n,
         false,
         context,
         {static_cast<NodeId>(to), static_cast<std::uint8_t>(bytes), static_cast<std::uint16_t>(box), 5, 0},
         0});
  }

  void collect() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      NiNetwork::Node& node = net_.node(n);
      REQUIRE(node.taken.size() == nodes_[n].ops.size());
      for (std::size_t i = 0; i < node.taken.size(); ++i) {
        ops.push_back(nodes_[n].ops[i]);
        ops.back().taken = node.taken[i];
      }
      add_packets(result.happenings, node, n);
      for (const WrittenBeat& beat : node.memory->beats) {
        if (!beat.last) continue;
        const spec::MailboxEntry entry = entry_of(beat);
        const unsigned box = box_of(beat.address);
        result.happenings.push_back({beat.cycle, 's', n, box << 16 | (beat.address - ring_address(box)) / 128,
                                     entry.source_dcid() << 40 | entry.channel() << 24 | entry.number()});
      }
      for (const SlotEvent& e : node.slot_events) result.happenings.push_back({e.cycle, 'a', n, e.slot, e.reason});
    }
    std::sort(result.happenings.begin(), result.happenings.end());
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const auto counts = net_.counts(n);
      const std::size_t kept[] = {0, 2, 3, 4, 5, 6, 7};
      for (std::size_t i = 0; i < std::size(kept); ++i) result.counts[i] += counts[kept[i]];
    }
  }

  Case case_;
  std::mt19937_64 random_;
  NiNetwork net_;
  std::vector<Processor> nodes_;
};

class Model {
 public:
  Model(const Case& c, const std::vector<StoreOp>& ops, std::uint64_t end)
      : case_(c),
        ops_(ops),
        topology_(topology_of(c.nodes, c.square)),
        messages_{kCycle,
                  {events_, kCycle, c.nodes},
                  {events_, config(), c.nodes, this,
                   [](void* self, NodeId node, std::uint32_t slot, std::uint64_t, MessageAnswer answer, Cycle at) {
                     static_cast<Model*>(self)->add(
                         {static_cast<std::uint64_t>(at), 'a', node, slot, static_cast<std::uint64_t>(answer)});
                   }},
                  {events_, config(), c.nodes, this,
                   [](void* self, const StoredMessage& m) { static_cast<Model*>(self)->stored(m); }}} {
    const NetworkConfig fabric = fabric_of(kCycle, c.line_cycles, 2);
    PacketSink sink{this,
                    [](void* self, const exanet::Packet& packet, Time injected, Time tail) {
                      Model& model = *static_cast<Model*>(self);
                      add_packet(model.result.happenings, packet, injected, tail);
                      exanet::Packet came = packet;
                      std::size_t& number = model.came_[packet.dst][packet.intra_port];
                      if (model.case_.damages(packet.dst, packet.intra_port, number++)) came.marked = 1;
                      model.messages_.delivered(came, tail);
                    },
                    [](void* self, NodeId node, std::uint8_t port, std::uint8_t, Time) {
                      static_cast<Model*>(self)->messages_.ready(node, port);
                    }};
    sink.gives_back = Messages::kGivesBack;
    network_ = make_network(events_, *topology_, fabric, sink);
    messages_.attach(*network_);
    for (NodeId n = 0; n < c.nodes; ++n)
      for (unsigned box = 0; box < 3; ++box) messages_.receiver.open(n, box, box == 2 ? 6 : 5, 1u << c.log_entries);
    const std::uint32_t on_store = events_.add_handler(
        [](void* self, Time, std::uint32_t i, std::uint64_t) { static_cast<Model*>(self)->store(i); }, this);
    // A store is at the interface in the cycle behind that in which the bus took it.
    for (std::uint32_t i = 0; i < ops.size(); ++i)
      events_.schedule(kCycle * static_cast<std::int64_t>(ops[i].taken + 1), on_store, i);
    events_.run_until(kCycle * static_cast<std::int64_t>(end));
    std::sort(result.happenings.begin(), result.happenings.end());
    result.counts = {messages_.sender.sent(),     messages_.sender.repeated(), messages_.sender.unexpected_acks(),
                     messages_.receiver.stored(), messages_.receiver.nacked(), messages_.receiver.repeated(),
                     messages_.receiver.dropped()};
  }

  Result result;

 private:
  MessagesConfig config() const {
    MessagesConfig config;
    config.cycle = kCycle;
    config.contexts = kContexts;
    config.timeout = case_.timeout;
    config.tries = case_.tries;
    config.begins = kReset;
    config.memory_answer = case_.memory_cycles;
    return config;
  }
  void add(const Happening& h) { result.happenings.push_back(h); }
  void stored(const StoredMessage& m) {
    add({static_cast<std::uint64_t>(m.at), 's', m.node,
         std::uint64_t{m.word.mailbox} << 16 | m.place % (1u << case_.log_entries),
         std::uint64_t{address(m.src)} << 40 | std::uint64_t{m.word.slot} << 24 | m.word.number});
  }
  std::uint32_t address(NodeId node) const { return case_.square ? dcid(node % 2, node / 2) : dcid(node, 0); }
  void store(std::uint32_t i) {
    const StoreOp& op = ops_[i];
    if (op.releases)
      messages_.receiver.release(static_cast<NodeId>(op.node), op.context, op.place);
    else
      messages_.sender.store(static_cast<NodeId>(op.node), op.context, op.message);
  }

  Case case_;
  const std::vector<StoreOp>& ops_;
  EventQueue events_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Network> network_;
  Messages messages_;
  std::map<NodeId, std::array<std::size_t, 2>> came_;  // packets at each port
};

std::uint64_t total_messages = 0, total_repeated = 0, total_full = 0, total_refused = 0, total_silent = 0;

void compare_whole(const Case& c) {
  Gateware gateware(c);
  const Model model(c, gateware.ops, gateware.end());
  const auto &a = gateware.result.happenings, &b = model.result.happenings;
  total_messages += c.messages;
  total_repeated += gateware.result.counts[1];
  total_refused += gateware.result.counts[4];
  for (const Happening& h : a) {
    total_full += h.what == 'a' && h.b == static_cast<std::uint64_t>(MessageAnswer::kFull);
    total_silent += h.what == 'a' && h.b == static_cast<std::uint64_t>(MessageAnswer::kSilent);
  }
  check_same(c.text(), a, b);
  CHECK(gateware.result.counts == model.result.counts);
}

// A third of the messages, but in full size.
void compare(Case c) {
  c.messages = taken(c.messages);
  compare_whole(c);
}

}  // namespace

TEST_CASE("messages equality: one message") {
  for (const unsigned bytes : {0u, 1u, 16u, 17u, 33u, 64u})
    compare({.nodes = 2, .messages = 1, .contexts = 1, .most_bytes = bytes});
}

// Loads from one message at a time to more than the network carries, beside slots that are never free.
TEST_CASE("messages equality: traffic") {
  std::uint64_t seed = 1000;
  for (const double gap : tried({300.0, 40.0, 8.0, 1.0}, {40.0, 1.0}))
    for (const unsigned memory : {1u, 200u})
      for (const bool square : {false, true})
        compare({.square = square,
                 .memory_cycles = memory,
                 .messages = 300,
                 .gap = gap,
                 .contexts = static_cast<unsigned>(1 + seed % 16),
                 .hot_one_in = 3,
                 .seed = ++seed});
  MESSAGE("messages: " << total_messages);
}

// Rings that are full, mailboxes that take nothing, and messages that are sent again before their answer is there.
TEST_CASE("messages equality: refused, repeated and given up") {
  std::uint64_t seed = 2000;
  for (const unsigned log_entries : {0u, 5u})
    for (const unsigned timeout : tried({0u, 1u, 3u, 63u}, {0u, 63u}))
      for (const unsigned tries : tried({0u, 1u, 15u}, {0u, 1u}))
        compare({.nodes = seed % 3 == 0 ? 2u : 4u,
                 .memory_cycles = seed % 2 == 0 ? 20u : 150u,
                 .timeout = timeout,
                 .tries = tries,
                 .messages = 200,
                 .gap = seed % 5 == 0 ? 5.0 : 60.0,
                 .contexts = 6,
                 .log_entries = log_entries,
                 .read_delay = seed % 2 == 0 ? 30u : 600u,
                 .hot_one_in = 2,
                 .bad_one_in = seed % 4 == 0 ? 5u : 0u,
                 .seed = ++seed});
  CHECK(total_full > 0);
  CHECK(total_repeated > 0);
  CHECK(total_silent > 0);
  MESSAGE("messages: " << total_messages << ", repeated " << total_repeated << ", full " << total_full << ", refused "
                       << total_refused << ", given up " << total_silent);
}

// An answer that is lost is given again, twice and more, while the mailbox fills and is read.
TEST_CASE("messages equality: answers lost again and again") {
  std::uint64_t seed = 3000;
  for (const unsigned log_entries : tried({0u, 1u, 3u}, {0u, 3u}))
    for (const unsigned timeout : tried({1u, 3u}, {1u}))
      for (const unsigned damaged : {2u, 4u})
        compare({.nodes = seed % 2 == 0 ? 2u : 4u,
                 .timeout = timeout,
                 .messages = 150,
                 .gap = 200,
                 .contexts = 6,
                 .log_entries = log_entries,
                 .read_delay = seed % 3 == 0 ? 3000u : 400u,
                 .damaged_one_in = damaged,
                 .seed = ++seed});
}

// A message that was sent again is answered by its first packet while the second waits for its port: its slot takes no
// store until that has gone.
TEST_CASE("messages equality: stores to slots whose frames wait") {
  for (const std::uint64_t seed : tried({18300023u, 5000u, 5001u, 5002u}, {18300023u, 5000u}))
    compare_whole({.nodes = 8,
                   .line_cycles = 7,
                   .memory_cycles = 10,
                   .timeout = 1,
                   .messages = 451,
                   .gap = 4,
                   .contexts = 11,
                   .log_entries = 1,
                   .read_delay = 0,
                   .damaged_one_in = 30,
                   .seed = seed});
}

// Cases that are drawn, on seeds that no other case here has: EXANET_MESSAGES of them from EXANET_MESSAGES_SEED on, for
// a campaign.
TEST_CASE("messages equality: drawn cases") {
  const std::uint64_t messages = given("EXANET_MESSAGES", 700);
  std::uint64_t seed = given("EXANET_MESSAGES_SEED", 1'000'000), compared = 0;
  for (; compared < messages; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
    Case c;
    c.nodes = pick(std::vector<std::size_t>{2, 4, 4, 8});
    c.square = c.nodes == 4 && random() % 2 == 0;
    c.line_cycles = pick(std::vector<unsigned>{0, 1, 7, 20, 45, 300});
    c.memory_cycles = pick(std::vector<unsigned>{1, 2, 10, 20, 100});
    c.timeout = pick(std::vector<unsigned>{0, 1, 2, 8, 63});
    c.tries = pick(std::vector<unsigned>{0, 0, 1, 3, 15});
    c.messages = static_cast<unsigned>(100 + random() % 500);
    c.gap = pick(std::vector<double>{1, 4, 10, 50, 300});
    c.contexts = static_cast<unsigned>(1 + random() % kContexts);
    c.most_bytes = pick(std::vector<unsigned>{0, 16, 33, 64});
    c.log_entries = pick(std::vector<unsigned>{0, 1, 3, 6, 10});
    c.read_delay = pick(std::vector<unsigned>{0, 20, 200, 2000});
    c.hot_one_in = pick(std::vector<unsigned>{0, 1, 4});
    c.bad_one_in = pick(std::vector<unsigned>{0, 0, 3, 20});
    c.damaged_one_in = pick(std::vector<unsigned>{0, 0, 30, 2});
    c.seed = seed;
    compare_whole(c);
    compared += c.messages;
  }
  MESSAGE("messages compared: " << compared << ", repeated " << total_repeated << ", full " << total_full
                                << ", refused " << total_refused << ", given up " << total_silent << ", seeds up to "
                                << seed - 1);
}
