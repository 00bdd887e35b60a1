// SPDX-License-Identifier: Apache-2.0
// Are transfers of the Verilated network interfaces, with messages beside them, and the model of core/nic/transfers the same, cycle by cycle?
//
// Processors of the Verilated nodes store transfers and messages at drawn times. The model is given each in the cycle in which the bus has taken its last
// store, and has to come to the same: when each header is at its router, when each packet, each end and each entry is in memory and where, when each slot
// is answered and how, and what is counted.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "core/nic/transfers/interfaces.hpp"
#include "gateware/ni/tb/ni_equality.hpp"
#include "gateware/ni/tb/ni_network.hpp"
#include "gateware/ni/tb/transfer_traffic.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr std::uint64_t kClear = 64, kClearTransfers = 256;  // cycles in which the tables are cleared
constexpr std::uint64_t kRing = 0x1000'0000;
constexpr unsigned kLogEntries = 12;  // more than there are messages: nobody reads them

struct Case {
  std::size_t nodes = 4;
  bool square = false;
  unsigned line_cycles = 20, memory_cycles = 20;
  unsigned patience = 8, tries = 0, read_patience = 0, kept = 8;
  unsigned transfers = 100;  // of all nodes
  double gap = 100;  // cycles between a node's transfers, mean
  unsigned most_bytes = 4096, least_bytes = 0;
  unsigned align = 1;  // own and target addresses
  unsigned hot_one_in = 0;  // transfers to node 0
  unsigned silent_one_in = 0;  // transfers whose end is not written
  unsigned messages_of_ten = 0;  // of what a processor stores
  unsigned fences_of_ten = 0;  // transfers with one
  unsigned reads_of_ten = 0;  // transfers
  unsigned damaged_one_in = 0;  // packets, of all kinds, as they come out of the network
  std::uint64_t seed = 1;

  std::string text() const {
    std::ostringstream s;
    s << nodes << " nodes" << (square ? " in a square" : "") << ", line " << line_cycles << ", memory " << memory_cycles
      << ", patience " << patience << ", tries " << tries << ", read patience " << read_patience << ", kept " << kept
      << ", " << transfers << " transfers, gap " << gap << ", " << least_bytes << " to " << most_bytes
      << " B, aligned to " << align << ", hot " << hot_one_in << ", silent " << silent_one_in << ", messages "
      << messages_of_ten << " of ten, fences " << fences_of_ten << " of ten, reads " << reads_of_ten
      << " of ten, damaged " << damaged_one_in << ", seed " << seed;
    return s.str();
  }
  // The packet that is so many-th to come out at a node's port.
  bool damages(std::size_t node, unsigned port, std::size_t packet) const {
    if (damaged_one_in == 0) return false;
    std::uint64_t h = (seed * 64 + node * 4 + port) * 0x9e3779b97f4a7c15 + packet * 0xbf58476d1ce4e5b9;
    h = (h ^ h >> 31) * 0x94d049bb133111eb;
    return (h >> 32) % damaged_one_in == 0;
  }
};

struct StoreOp {
  std::uint64_t taken;
  std::size_t node;
  bool is_message;
  TransferStore transfer;
  unsigned context;
  MessageStore message;
};

struct Result {
  std::vector<Happening> happenings;
  // packets sent, transfers ended, blocks repeated, answers stale; packets written, repeated, dropped, blocks answered; messages sent and stored
  std::array<std::uint64_t, 10> counts{};
  std::uint64_t busy = 0;  // requests of reads that were refused
};

// Drives the Verilated nodes until nothing is under way, and writes down every transfer as it was taken.
class Gateware {
 public:
  explicit Gateware(const Case& c)
      : case_(c),
        random_(c.seed),
        net_(c.nodes,
             {.line = {.latency_cycles = c.line_cycles},
              .memory = {.latency_cycles = c.memory_cycles},
              .tries = c.tries,
              .block_patience = c.patience,
              .read_patience = c.read_patience,
              .kept_channels = c.kept,
              .damages = [this](std::size_t node, unsigned port,
                                std::size_t packet) { return case_.damages(node, port, packet); }},
             c.square),
        nodes_(c.nodes) {
    open_all(net_);
    for (std::size_t n = 0; n < c.nodes; ++n) net_.open_mailbox(n, 0, kDomain, kRing, kLogEntries);
    net_.run_until_stored();
    for (std::size_t n = 0; n < c.nodes; ++n) {
      net_.node(n).taken.clear();
      nodes_[n].next = net_.cycle() + random_() % 50;
    }
    run();
    collect();
  }

  std::vector<StoreOp> ops;
  Result result;
  std::uint64_t end() const { return net_.cycle(); }

 private:
  struct Processor {
    std::uint64_t next = 0;
    std::vector<StoreOp> ops;
  };

  void run() {
    unsigned sent = 0;
    for (std::uint64_t quiet = 0; quiet < 40'000; ++quiet) {
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        Processor& p = nodes_[n];
        if (sent >= case_.transfers || p.next > net_.cycle()) continue;
        if (random_() % 10 < case_.messages_of_ten)
          send_message(n), ++sent;
        else
          send(n, sent++);
        p.next =
            net_.cycle() + static_cast<std::uint64_t>(2 * case_.gap * (static_cast<double>(random_() >> 11) * 0x1p-53));
        quiet = 0;
      }
      const std::size_t before = happened();
      net_.step();
      if (happened() != before) quiet = 0;
    }
    CHECK(sent == case_.transfers);
  }
  std::size_t happened() {
    std::size_t all = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      all += net_.node(n).dma->ends.size() + net_.node(n).slot_events.size();
      for (const Receiver& in : net_.node(n).in) all += in.arrivals.size();
    }
    return all;
  }

  void send(std::size_t n, unsigned token) {
    const bool hot = case_.hot_one_in != 0 && random_() % case_.hot_one_in == 0;
    const auto to = hot ? 0 : random_() % nodes_.size();
    const auto length =
        static_cast<std::uint32_t>(case_.least_bytes + random_() % (case_.most_bytes - case_.least_bytes + 1));
    const std::uint64_t own = kOwn + random_() % 0x10000 / case_.align * case_.align,
                        target =
                            kTarget + 0x100000 * std::uint64_t{token} + random_() % 0x10000 / case_.align * case_.align;
    const bool notify = case_.silent_one_in == 0 || random_() % case_.silent_one_in != 0;
    spec::Transfer transfer = transfer_of(own, target, length, net_.node(to).dcid, token);
    transfer.set_notify(notify);
    const auto context = static_cast<unsigned>(random_() % kContexts);
    TransferStore store{static_cast<NodeId>(to), own, target, length, notify, token};
    if (random_() % 10 < case_.fences_of_ten) {
      store.fence = true;
      store.fence_word = kFences + 8 * (random_() % 0x10000);
      spec::TransferFence fence;
      fence.set_word(store.fence_word / 8);
      net_.fence(n, context, fence);
      transfer.set_fence(1);
    }
    if (random_() % 10 < case_.reads_of_ten) {
      // The other way round, so that no two transfers write the same.
      store.read = true;
      std::swap(store.own, store.target);
      transfer.set_own(store.own);
      transfer.set_target(store.target);
      transfer.set_read(1);
    }
    net_.transfer(n, context, transfer);
    nodes_[n].ops.push_back({0, n, false, store, 0, {}});
  }
  void send_message(std::size_t n) {
    const auto to = random_() % nodes_.size();
    const auto context = static_cast<unsigned>(random_() % kContexts), bytes = static_cast<unsigned>(random_() % 65);
    net_.send(n, context, net_.node(to).dcid, 0, bytes);
    nodes_[n].ops.push_back(
        {0, n, true, {}, context, {static_cast<NodeId>(to), static_cast<std::uint8_t>(bytes), 0, kDomain, 0}});
  }

  void collect() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      NiNetwork::Node& node = net_.node(n);
      std::size_t stores = 0;
      for (const StoreOp& op : nodes_[n].ops) {
        stores += op.is_message ? 1 : op.transfer.fence ? 3 : 2;
        REQUIRE(stores <= node.taken.size());
        ops.push_back(op);
        ops.back().taken = node.taken[stores - 1];
      }
      REQUIRE(stores == node.taken.size());
      add_packets(result.happenings, node, n);
      for (const Arrival& a : node.out[1].arrivals)
        result.busy += a.packet.footer.reason() == static_cast<unsigned>(spec::NackReason::kBusy);
      for (const WrittenBeat& beat : node.dma->ends) {
        spec::TransferEnd end;
        const bool is_end = beat.address >= kEnds && beat.address < kFences;
        if (is_end)
          for (unsigned i = 0; i < 8; ++i) end.raw[i / 4] |= std::uint32_t{beat.data[i]} << 8 * (i % 4);
        const std::uint64_t said = is_end ? end.token() << 8 | end.failure() : 0;
        result.happenings.push_back({beat.cycle, 'w', n, beat.address, said});
      }
      for (const WrittenBeat& beat : node.memory->beats) {
        if (!beat.last) continue;
        const spec::MailboxEntry entry = entry_of(beat);
        result.happenings.push_back(
            {beat.cycle, 's', n, (beat.address - kRing) / 128, entry.source_dcid() << 40 | entry.number()});
      }
      for (const SlotEvent& e : node.slot_events) result.happenings.push_back({e.cycle, 'a', n, e.slot, e.reason});
    }
    std::sort(result.happenings.begin(), result.happenings.end());
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const auto counts = net_.transfer_counts(n);
      for (std::size_t i = 0; i < counts.size(); ++i) result.counts[i] += counts[i];
      const auto messages = net_.counts(n);
      result.counts[8] += messages[0];
      result.counts[9] += messages[4];
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
        interfaces_{{kCycle,
                     {events_, kCycle, c.nodes},
                     {events_, messages_config(), c.nodes, this,
                      [](void* self, NodeId node, std::uint32_t slot, std::uint64_t, MessageAnswer answer, Cycle at) {
                        static_cast<Model*>(self)->add(
                            {static_cast<std::uint64_t>(at), 'a', node, slot, static_cast<std::uint64_t>(answer)});
                      }},
                     {events_, messages_config(), c.nodes, this,
                      [](void* self, const StoredMessage& m) { static_cast<Model*>(self)->stored(m); }}},
                    {events_, config(), c.nodes, this,
                     [](void* self, NodeId node, std::uint64_t user, TransferEnding ending, Cycle at) {
                       static_cast<Model*>(self)->ended(node, user, ending, at);
                     }},
                    {events_, config(), c.nodes, this,
                     [](void* self, const WrittenPacket& packet) { static_cast<Model*>(self)->written(packet); }}} {
    const NetworkConfig fabric = fabric_of(c.line_cycles, 3);
    PacketSink sink{this,
                    [](void* self, const exanet::Packet& packet, Time injected, Time tail) {
                      Model& model = *static_cast<Model*>(self);
                      add_packet(model.result.happenings, packet, injected, tail);
                      exanet::Packet came = packet;
                      std::size_t& number = model.came_[packet.dst][packet.intra_port];
                      if (model.case_.damages(packet.dst, packet.intra_port, number++)) came.marked = 1;
                      model.interfaces_.delivered(came, tail);
                    },
                    [](void* self, NodeId node, std::uint8_t port, std::uint8_t, Time) {
                      static_cast<Model*>(self)->interfaces_.ready(node, port);
                    }};
    sink.gives_back = Interfaces::kGivesBack;
    network_ = make_network(events_, *topology_, fabric, sink);
    interfaces_.attach(*network_);
    for (NodeId n = 0; n < c.nodes; ++n) interfaces_.messages.receiver.open(n, 0, kDomain, 1u << kLogEntries);
    const std::uint32_t on_store = events_.add_handler(
        [](void* self, Time, std::uint32_t i, std::uint64_t) {
          Model& model = *static_cast<Model*>(self);
          const StoreOp& op = model.ops_[i];
          if (op.is_message)
            model.interfaces_.messages.sender.store(static_cast<NodeId>(op.node), op.context, op.message);
          else
            model.interfaces_.transfers.store(static_cast<NodeId>(op.node), op.transfer);
        },
        this);
    // A store is at the interface in the cycle behind that in which the bus took it.
    for (std::uint32_t i = 0; i < ops.size(); ++i)
      events_.schedule(kCycle * static_cast<std::int64_t>(ops[i].taken + 1), on_store, i);
    events_.run_until(kCycle * static_cast<std::int64_t>(end));
    std::sort(result.happenings.begin(), result.happenings.end());
    const TransferSender& sender = interfaces_.transfers;
    const BlockReceiver& blocks = interfaces_.blocks;
    result.counts = {sender.packets(),
                     sender.ended(),
                     sender.repeated(),
                     sender.stale(),
                     blocks.written(),
                     blocks.repeated(),
                     blocks.dropped(),
                     blocks.answered(),
                     interfaces_.messages.sender.sent(),
                     interfaces_.messages.receiver.stored()};
  }

  Result result;

 private:
  TransfersConfig config() const {
    TransfersConfig config;
    config.cycle = kCycle;
    config.channels = kChannels;
    config.patience = case_.patience;
    config.tries = case_.tries;
    config.kept_channels = case_.kept;
    config.read_patience = case_.read_patience;
    config.begins = kClearTransfers;
    config.memory_read = config.memory_answer = case_.memory_cycles;
    return config;
  }
  MessagesConfig messages_config() const {
    MessagesConfig config;
    config.cycle = kCycle;
    config.contexts = kContexts;
    config.tries = case_.tries;
    config.patience = 8;
    config.begins = kClear;
    config.memory_answer = case_.memory_cycles;
    return config;
  }
  void add(const Happening& h) { result.happenings.push_back(h); }
  std::uint32_t address(NodeId node) const { return case_.square ? dcid(node % 2, node / 2) : dcid(node, 0); }
  void stored(const StoredMessage& m) {
    add({static_cast<std::uint64_t>(m.at), 's', m.node, m.place % (1u << kLogEntries),
         std::uint64_t{address(m.src)} << 40 | m.word.number});
  }
  void written(const WrittenPacket& packet) {
    const std::uint64_t target = interfaces_.transfers.target(packet.src, packet.node, packet.word);
    add({static_cast<std::uint64_t>(packet.at), 'w', packet.node, (target + packet.bytes - 1) / 16 * 16, 0});
  }
  void ended(NodeId node, std::uint64_t token, TransferEnding ending, Cycle at) {
    const auto op = std::find_if(ops_.begin(), ops_.end(),
                                 [&](const StoreOp& o) { return !o.is_message && o.transfer.user == token; });
    if (!op->transfer.notify) return;
    add({static_cast<std::uint64_t>(at), 'w', node, (kEnds + 8 * token) / 16 * 16,
         token << 8 | static_cast<std::uint64_t>(ending)});
  }

  Case case_;
  const std::vector<StoreOp>& ops_;
  EventQueue events_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Network> network_;
  Interfaces interfaces_;
  std::map<NodeId, std::array<std::size_t, 3>> came_;  // packets at each port
};

std::uint64_t total_transfers = 0, total_packets = 0, total_repeated = 0, total_silent = 0, total_messages = 0,
              total_fences = 0, total_dropped = 0, total_reads = 0, total_busy = 0;

void compare_whole(const Case& c) {
  Gateware gateware(c);
  const Model model(c, gateware.ops, gateware.end());
  const auto &a = gateware.result.happenings, &b = model.result.happenings;
  total_transfers += c.transfers;
  total_packets += gateware.result.counts[0];
  total_repeated += gateware.result.counts[2];
  total_messages += gateware.result.counts[9];
  total_dropped += gateware.result.counts[6];
  total_busy += gateware.result.busy;
  for (const StoreOp& op : gateware.ops) total_reads += !op.is_message && op.transfer.read;
  for (const Happening& h : a) {
    total_silent += h.what == 'w' && h.a >= kEnds && h.a < kFences && (h.b & 255) != 0;
    total_fences += h.what == 'w' && h.a >= kFences;
  }
  check_same(c.text(), a, b);
  CHECK(gateware.result.counts == model.result.counts);
}

// A third of the transfers, but in full size.
void compare(Case c) {
  if (!in_full()) c.transfers = std::max(1u, c.transfers / 3);
  compare_whole(c);
}

}  // namespace

TEST_CASE("transfers equality: one transfer") {
  std::uint64_t seed = 100;
  for (const unsigned bytes : {0u, 1u, 16u, 17u, 512u, 4096u, 20'000u})
    for (const unsigned kind : {0u, 1u, 2u})
      compare({.nodes = 2,
               .transfers = 1,
               .most_bytes = bytes,
               .least_bytes = bytes,
               .fences_of_ten = kind == 1 ? 10u : 0u,
               .reads_of_ten = kind == 2 ? 10u : 0u,
               .seed = ++seed});
}

// Loads from one transfer at a time to more than channels, links and memory carry.
TEST_CASE("transfers equality: traffic") {
  std::uint64_t seed = 1000;
  for (const double gap : {3000.0, 300.0, 30.0, 2.0})
    for (const unsigned memory : {1u, 200u})
      for (const unsigned bytes : {64u, 1000u, 10'000u})
        compare({.square = seed % 2 == 0,
                 .memory_cycles = memory,
                 .transfers = bytes > 1000 ? 60u : 240u,
                 .gap = gap,
                 .most_bytes = bytes,
                 .hot_one_in = seed % 3 == 0 ? 2u : 0u,
                 .silent_one_in = seed % 5 == 0 ? 3u : 0u,
                 .messages_of_ten = seed % 3 == 1 ? 7u : 0u,
                 .fences_of_ten = seed % 4 < 2 ? 5u : 0u,
                 .reads_of_ten = seed % 3 == 2 ? 5u : 0u,
                 .seed = ++seed});
  MESSAGE("transfers and messages: " << total_transfers << ", packets of transfers " << total_packets << ", messages "
                                     << total_messages);
}

// Blocks that are sent again before their answer is there, and given up.
TEST_CASE("transfers equality: repeated and given up") {
  std::uint64_t seed = 2000;
  for (const unsigned patience : {0u, 1u})
    for (const unsigned tries : {0u, 1u, 15u})
      for (const unsigned line : {20u, 400u})
        compare({.nodes = seed % 3 == 0 ? 2u : 4u,
                 .line_cycles = line,
                 .memory_cycles = seed % 2 == 0 ? 20u : 1500u,
                 .patience = patience,
                 .tries = tries,
                 .read_patience = std::min(tries, 3u),
                 .kept = seed % 4 == 1 ? 2u : 8u,
                 .transfers = 150,
                 .gap = seed % 5 == 0 ? 5.0 : 200.0,
                 .most_bytes = 6000,
                 .hot_one_in = 2,
                 .messages_of_ten = seed % 3 == 1 ? 4u : 0u,
                 .fences_of_ten = seed % 2 == 0 ? 5u : 0u,
                 .reads_of_ten = seed % 3 != 0 ? 4u : 0u,
                 .seed = ++seed});
  CHECK(total_repeated > 0);
  CHECK(total_silent > 0);
  CHECK(total_reads > 0);
  CHECK(total_busy > 0);
  MESSAGE("transfers: " << total_transfers << ", blocks repeated " << total_repeated << ", given up " << total_silent);
}

// Cases that are drawn, on seeds that no other case here has: EXANET_TRANSFERS of them from EXANET_TRANSFERS_SEED on, for a campaign.
TEST_CASE("transfers equality: drawn cases") {
  const std::uint64_t transfers = given("EXANET_TRANSFERS", 600);
  std::uint64_t seed = given("EXANET_TRANSFERS_SEED", 1'000'000), compared = 0;
  for (; compared < transfers; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
    Case c;
    c.nodes = pick(std::vector<std::size_t>{2, 4, 4, 8});
    c.square = c.nodes == 4 && random() % 2 == 0;
    c.line_cycles = pick(std::vector<unsigned>{0, 1, 7, 20, 45, 300});
    c.memory_cycles = pick(std::vector<unsigned>{1, 2, 10, 20, 100, 800});
    c.patience = pick(std::vector<unsigned>{0, 1, 2, 8, 63});
    c.tries = pick(std::vector<unsigned>{0, 0, 1, 3, 15});
    c.gap = pick(std::vector<double>{1, 10, 50, 300, 2000});
    c.most_bytes = pick(std::vector<unsigned>{0, 16, 64, 512, 3000, 5000, 30'000});
    c.least_bytes = random() % 3 == 0 ? c.most_bytes : 0;
    c.align = pick(std::vector<unsigned>{1, 1, 16, 512, 4096});
    c.transfers = static_cast<unsigned>((100 + random() % 300) / (c.most_bytes > 3000 ? 4 : 1));
    c.hot_one_in = pick(std::vector<unsigned>{0, 1, 4});
    c.silent_one_in = pick(std::vector<unsigned>{0, 0, 1, 3});
    c.messages_of_ten = pick(std::vector<unsigned>{0, 0, 1, 5, 9});
    c.fences_of_ten = pick(std::vector<unsigned>{0, 1, 5, 10});
    c.damaged_one_in = pick(std::vector<unsigned>{0, 0, 300, 30, 6});
    c.reads_of_ten = pick(std::vector<unsigned>{0, 1, 3, 10});
    c.kept = pick(std::vector<unsigned>{1, 3, 8, 32});
    c.read_patience = pick(std::vector<unsigned>{0, 1, 3});
    c.seed = seed;
    compare_whole(c);
    compared += c.transfers;
  }
  MESSAGE("transfers and messages compared: "
          << compared << ", packets " << total_packets << ", blocks repeated " << total_repeated << ", given up "
          << total_silent << ", fences written " << total_fences << ", packets dropped " << total_dropped << ", reads "
          << total_reads << ", refused as busy " << total_busy << ", messages beside them " << total_messages
          << ", seeds up to " << seed - 1);
}
