// SPDX-License-Identifier: Apache-2.0
// Do Verilated nodes and the model of core/lofamo learn of faults in the same cycles?
//
// Eight IPs at the corners of a cube, driven by daemons that do what the model's do: each writes its watchdog, reads
// two registers, and sends facts by priority packets. Faults, periods and phases are drawn; every fact that a daemon
// learns must be the same, in the same cycle. EXANET_LOFAMO_RUNS of them from EXANET_LOFAMO_SEED on, for a campaign.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <sstream>

#include "core/lofamo/awareness.hpp"
#include "core/routing/make_topology.hpp"
#include "core/spec/integrity.hpp"
#include "gateware/node/tb/lofamo_network.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;
using exanet::lofamo::AwarenessConfig;
using exanet::lofamo::Cycle;
using exanet::lofamo::Fact;
using exanet::lofamo::Fault;
using exanet::lofamo::FaultKind;
using exanet::lofamo::Phase;

namespace {

constexpr unsigned kDimensions = 3, kNodes = 8;

struct Row {
  unsigned number = 0, state = 0;
};

// A fact as the header's address of a packet.
std::uint64_t packed(unsigned reporter, unsigned link, const Row& row) {
  return reporter | std::uint64_t{link} << 22 | std::uint64_t{row.number} << 26 | std::uint64_t{row.state} << 42;
}

struct Daemon {
  Cycle host_dead = lofamo::kNever, ni_dead = lofamo::kNever;
  bool own_reported = false;
  Row table[kNodes][kDimensions];
  bool held[kDimensions] = {true, true, true};
  std::uint32_t faults = 0;
  struct Act {
    unsigned reporter, link;
    Row row;
    std::vector<unsigned> targets;
  };
  std::multimap<Cycle, Act> acts;
};

// The Verilated nodes with their daemons.
class Gateware {
 public:
  Gateware(const AwarenessConfig& config, std::vector<Fault> faults)
      : config_(config),
        faults_(std::move(faults)),
        network_(kDimensions, static_cast<unsigned>(config.line), static_cast<unsigned>(config.interval)) {
    for (const Fault& fault : faults_) mark(fault);
    for (unsigned n = 0; n < kNodes; ++n) {
      network_.write(n, kAtSilence, static_cast<std::uint32_t>(config.silence));
      network_.write(n, kAtHostWatchdog, static_cast<std::uint32_t>(config.watchdog));
      network_.write(n, kAtNiWatchdog, static_cast<std::uint32_t>(config.watchdog));
    }
    phases_.resize(kNodes);
    for (Phase& phase : phases_) phase.links.resize(2 * kDimensions);
    // Until the interval that was written is in force in every link, behind that of the reset, and its control words
    // have been seen.
    const Cycle settled = 256 + 2 * config.interval + 40;
    for (Cycle i = 0; i < settled; ++i) {
      for (unsigned n = 0; n < kNodes; ++n) network_.node(n).model->ni_beat_i = 1;
      if (i % (config.watchdog / 2) == config.watchdog / 2 - 1)
        for (unsigned n = 0; n < kNodes; ++n) network_.write(n, kAtBeat, 1);
      step();
    }
    for (unsigned n = 0; n < kNodes; ++n) network_.write(n, kAtBeat, 1);
    while (busy()) step();
    start_ = static_cast<Cycle>(network_.cycle());
    for (unsigned n = 0; n < kNodes; ++n)
      for (unsigned d = 0; d < kDimensions; ++d) phases_[n].links[port(n, d)].sent -= start_;
  }

  // Daemons' and interfaces' phases are given; those of links are what they are.
  std::vector<Phase>& phases() { return phases_; }
  static std::uint16_t port(unsigned n, unsigned link) {
    return static_cast<std::uint16_t>(2 * link + (n >> link & 1));
  }

  std::vector<Fact> run(Cycle until) {
    for (now_ = 0; now_ < until; ++now_) {
      for (const Fault& fault : faults_)
        if (fault.at == now_) strike(fault);
      for (unsigned n = 0; n < kNodes; ++n) begin(n);
      step();
      for (unsigned n = 0; n < kNodes; ++n) take(n);
    }
    return facts_;
  }

 private:
  bool busy() {
    for (unsigned n = 0; n < kNodes; ++n)
      if (!network_.node(n).accesses.empty()) return true;
    return false;
  }
  // A cycle, and the control words that are on the lines behind it.
  void step() {
    network_.step();
    if (start_ != 0) return;
    for (unsigned n = 0; n < kNodes; ++n)
      for (unsigned d = 0; d < kDimensions; ++d) {
        const Vlofamo_node& m = *network_.node(n).model;
        const bool valid = m.tx_valid_o >> d & 1u;
        const std::uint64_t word = network_.tx_word(m, d);
        if (valid && magic_[n][d]) {
          Phase::Link& link = phases_[n].links[port(n, d)];
          link.sent = static_cast<Cycle>(network_.cycle()) - 1;
          link.report = static_cast<unsigned>((word >> 7 & 7) + 1) % 5;
        }
        magic_[n][d] = valid && !magic_[n][d] && word == spec::kMagicWord;
      }
  }

  // From the cycle of a fault on, which is known ahead, its daemon does nothing more, and its lines carry nothing.
  void mark(const Fault& fault) {
    if (fault.kind == FaultKind::kLink) return;
    Daemon& daemon = daemons_[fault.node];
    if (fault.kind != FaultKind::kNi) daemon.host_dead = std::min(daemon.host_dead, fault.at);
    if (fault.kind != FaultKind::kHost) daemon.ni_dead = std::min(daemon.ni_dead, fault.at);
  }
  void strike(const Fault& fault) {
    if (fault.kind == FaultKind::kLink) return network_.cut(fault.node, fault.port / 2, true);
    if (fault.kind == FaultKind::kNode)
      for (unsigned d = 0; d < kDimensions; ++d) network_.cut(fault.node, d, true);
  }

  void begin(unsigned n) {
    Daemon& daemon = daemons_[n];
    const Phase& phase = phases_[n];
    network_.node(n).model->ni_beat_i =
        now_ < daemon.ni_dead && now_ >= phase.ni && (now_ - phase.ni) % config_.beat == 0;
    if (now_ < daemon.host_dead && now_ >= phase.daemon && (now_ - phase.daemon) % config_.beat == 0) {
      network_.write(n, kAtBeat, 1);
      network_.post(n, kAtFaults, false, 0, [this, n](std::uint32_t data) { daemons_[n].faults = data; });
      network_.post(n, kAtNeighbours, false, 0, [this, n](std::uint32_t data) { read(n, data); });
    }
    for (auto act = daemon.acts.begin(); act != daemon.acts.end() && act->first == now_; act = daemon.acts.erase(act)) {
      if (daemon.host_dead <= now_ || daemon.ni_dead <= now_) continue;
      for (const unsigned d : act->second.targets) {
        std::mt19937_64 random(0);
        Packet packet =
            make_packet(LofamoNetwork::address(n), LofamoNetwork::address(n ^ 1u << d), 0, 0, 0, random, true);
        packet.header.set_dmadd(packed(act->second.reporter, act->second.link, act->second.row));
        spec::protect(packet.header);
        packet.footer.set_crc32(spec::packet_crc(packet.header, packet.payload, packet.footer));
        network_.node(n).sender.push(packet);
      }
    }
  }

  void read(unsigned n, std::uint32_t neighbours) {
    Daemon& daemon = daemons_[n];
    if (daemon.host_dead <= now_) return;
    if ((daemon.faults & 2) != 0 && !std::exchange(daemon.own_reported, true))
      facts_.push_back({now_, n, n, Fact::kOwn, Fact::kNiFault});
    unsigned states[kDimensions];
    for (unsigned d = 0; d < kDimensions; ++d) {
      states[d] = (neighbours >> d & 1) | (neighbours >> (16 + d) & 1) << 1 | (daemon.faults >> (16 + d) & 1) << 2;
      daemon.held[d] = states[d] == 0;
    }
    for (unsigned d = 0; d < kDimensions; ++d)
      if (const Row known = daemon.table[n][d]; states[d] != known.state)
        learn(n, n, d, {known.number + 1, states[d]}, kDimensions);
  }

  void take(unsigned n) {
    Receiver& receiver = network_.node(n).receiver;
    if (receiver.arrivals.empty()) return;
    const Arrival arrival = receiver.arrivals.back();
    receiver.arrivals.clear();
    Daemon& daemon = daemons_[n];
    const Cycle at = now_ + 1;
    if (!arrival.sound || daemon.host_dead <= at || daemon.ni_dead <= at) return;
    const std::uint64_t fact = arrival.packet.header.dmadd();
    unsigned from = 0;
    while (LofamoNetwork::address(n ^ 1u << from) != arrival.packet.header.source_dcid()) ++from;
    now_ = at;
    learn(n, fact & 0x3fffff, fact >> 22 & 15,
          {static_cast<unsigned>(fact >> 26 & 0xffff), static_cast<unsigned>(fact >> 42)}, from);
    now_ = at - 1;
  }

  void learn(unsigned n, std::uint64_t reporter, std::uint64_t link, Row row, unsigned from) {
    Daemon& daemon = daemons_[n];
    Row& known = daemon.table[reporter][link];
    if (row.number <= known.number) return;
    known = row;
    const auto r = static_cast<unsigned>(reporter), l = static_cast<unsigned>(link);
    facts_.push_back({now_, n, r, port(r, l), static_cast<std::uint8_t>(row.state)});
    Daemon::Act act{r, l, row, {}};
    for (unsigned d = 0; d < kDimensions; ++d)
      if (d != from && daemon.held[d]) act.targets.push_back(d);
    daemon.acts.emplace(now_ + config_.response, act);
  }

  AwarenessConfig config_;
  std::vector<Fault> faults_;
  LofamoNetwork network_;
  std::vector<Phase> phases_;
  Daemon daemons_[kNodes];
  bool magic_[kNodes][kDimensions] = {};
  Cycle start_ = 0, now_ = 0;
  std::vector<Fact> facts_;
};

std::string text(const Fact& f) {
  std::ostringstream s;
  s << "cycle " << f.at << " node " << f.node << ": port " << f.port << " of " << f.reporter << " is "
    << unsigned{f.state};
  return s.str();
}

bool before(const Fact& a, const Fact& b) {
  return std::tie(a.at, a.node, a.reporter, a.port) < std::tie(b.at, b.node, b.reporter, b.port);
}

}  // namespace

TEST_CASE("lofamo: awareness in Verilated nodes and in the model, to the cycle") {
  const std::uint64_t first = given("EXANET_LOFAMO_SEED", 1), runs = given("EXANET_LOFAMO_RUNS", 12);
  std::uint64_t facts = 0, amid = 0, packets = 0;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](Cycle least, Cycle most) {
      return least + static_cast<Cycle>(random() % static_cast<std::uint64_t>(most - least + 1));
    };
    AwarenessConfig config;
    config.watchdog = draw(300, 1200);
    config.beat = draw(config.watchdog / 4, config.watchdog - 20);
    config.interval = draw(8, 300);
    config.silence = config.interval + draw(40, 300);
    config.line = draw(0, 60);
    config.response = draw(1, 60);
    std::vector<Fault> faults(static_cast<std::size_t>(draw(1, 4)));
    const auto topology = make_topology({"mesh", {2, 2, 2}});
    for (Fault& fault : faults) {
      fault.kind = static_cast<FaultKind>(random() % 4);
      fault.node = static_cast<NodeId>(random() % kNodes);
      fault.port = Gateware::port(fault.node, static_cast<unsigned>(random() % kDimensions));
      fault.at = draw(2 * config.watchdog, 4 * config.watchdog);
    }
    Gateware gateware(config, faults);
    for (Phase& phase : gateware.phases()) phase.daemon = draw(0, config.beat - 1), phase.ni = draw(0, config.beat - 1);
    const Cycle until = 8 * config.watchdog + 2000;
    EventQueue events;
    lofamo::Awareness model(events, *topology, config, gateware.phases(), faults);
    model.run(until);
    amid += model.packets_cut() > 0;
    packets += model.packets();
    if (model.packets_cut() > 0) continue;
    std::vector<Fact> ours = gateware.run(until), theirs = model.facts();
    std::erase_if(theirs, [&](const Fact& f) { return f.at >= until; });
    std::sort(ours.begin(), ours.end(), before);
    std::sort(theirs.begin(), theirs.end(), before);
    facts += ours.size();
    CAPTURE(seed);
    std::size_t same = 0;
    while (same < ours.size() && same < theirs.size() && ours[same] == theirs[same]) ++same;
    if (same == ours.size() && same == theirs.size()) continue;
    std::string said = "faults:";
    for (const Fault& f : faults)
      said += " " + std::to_string(static_cast<int>(f.kind)) + " of " + std::to_string(f.node) + "." +
              std::to_string(f.port) + " at " + std::to_string(f.at);
    said += "\nbeat " + std::to_string(config.beat) + " watchdog " + std::to_string(config.watchdog);
    for (std::size_t i = same < 2 ? 0 : same - 2; i < same + 6; ++i)
      said += "\n  gateware " + (i < ours.size() ? text(ours[i]) : "-") + "   model " +
              (i < theirs.size() ? text(theirs[i]) : "-");
    FAIL_CHECK(said);
    break;
  }
  MESSAGE("facts compared: " << facts << ", packets in the model: " << packets
                             << ", runs left out, as a line is cut amid a packet: " << amid);
  CHECK(facts > 0);
}
