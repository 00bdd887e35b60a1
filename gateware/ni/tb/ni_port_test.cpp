// SPDX-License-Identifier: Apache-2.0
// Verilated ni_ports: at the intra-tile ports of a Verilated router, with random frames at random rates, and one alone,
// whose packets are made and taken apart by the C++ of the other tests.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "Vexanet_router.h"
#include "Vni_port.h"
#include "gateware/tb/packet.hpp"
#include "gateware/tb/placement.hpp"
#include "verilated.h"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kInter = 2, kIntra = 3, kSlots = 8, kMaxBytes = 512, kWordBytes = 16;

struct Frame {
  std::vector<std::uint8_t> bytes;
  spec::NiUser user;
  bool operator==(const Frame& other) const { return bytes == other.bytes && user.raw == other.user.raw; }
};

struct Beat {
  Word data{};
  unsigned keep = 0;
  bool last = false;
  spec::NiUser user;
};

// All fields random but those that say where to.
Frame random_frame(std::uint32_t source, std::uint32_t destination, unsigned kind, unsigned bytes,
                   std::mt19937_64& random) {
  Frame frame;
  for (unsigned i = 0; i < bytes; ++i) frame.bytes.push_back(static_cast<std::uint8_t>(random()));
  frame.user.set_dmadd(random());
  frame.user.set_dcid(destination);
  frame.user.set_pdid(random());
  frame.user.set_source_dcid(source);
  frame.user.set_kind(kind);
  frame.user.set_high_priority(random() % 4 == 0);
  frame.user.set_number(random());
  frame.user.set_source_pdid(random());
  frame.user.set_channel(random());
  frame.user.set_block(random());
  frame.user.set_reason(random());
  frame.user.set_last(random());
  frame.user.set_ack_request(random());
  return frame;
}

// Beats of a frame. Bytes that TKEEP leaves out hold noise, and so does TUSER behind the first beat.
std::vector<Beat> beats_of(const Frame& frame, std::mt19937_64& random) {
  std::vector<Beat> beats(std::max<std::size_t>(1, (frame.bytes.size() + kWordBytes - 1) / kWordBytes));
  for (Beat& beat : beats) {
    for (auto& word : beat.data) word = static_cast<std::uint32_t>(random());
    for (auto& word : beat.user.raw) word = static_cast<std::uint32_t>(random());
  }
  for (std::size_t i = 0; i < frame.bytes.size(); ++i) {
    Beat& beat = beats[i / kWordBytes];
    const unsigned at = i % kWordBytes;
    beat.keep |= 1u << at;
    beat.data[at / 4] = (beat.data[at / 4] & ~(0xffu << 8 * (at % 4))) | static_cast<std::uint32_t>(frame.bytes[i])
                                                                             << 8 * (at % 4);
  }
  beats.front().user = frame.user;
  beats.back().last = true;
  return beats;
}

// A master and a slave at one ni_port, each ready or not with a probability. The model's own assertions check the rules
// of its streams.
class Port {
 public:
  Port(VerilatedContext& context, std::uint64_t seed) : model(std::make_unique<Vni_port>(&context)), random_(seed) {
    model->rst_ni = 0;
  }
  ~Port() { model->final(); }

  void push(const Frame& frame) { push(beats_of(frame, random_)); }
  void push(const std::vector<Beat>& beats) { waiting_.insert(waiting_.end(), beats.begin(), beats.end()); }
  bool idle() const { return waiting_.empty(); }

  // What the port does with its clock edge: to be called before it, with the clock low.
  void before(std::uint64_t cycle) {
    taken_ = model->s_axis_tvalid && model->s_axis_tready;
    if (!(model->m_axis_tvalid && model->m_axis_tready)) return;
    Word data;
    for (unsigned i = 0; i < 4; ++i) data[i] = model->m_axis_tdata[i];
    const unsigned keep = model->m_axis_tkeep;
    if (beats == 0) first_cycle = cycle;
    for (unsigned i = 0; i < 6; ++i) {
      bad_beats += beats_now_ > 0 && model->m_axis_tuser[i] != now_.user.raw[i];
      now_.user.raw[i] = model->m_axis_tuser[i];
    }
    ++beats_now_, ++beats;
    bad_beats += (keep & (keep + 1)) != 0 || (!model->m_axis_tlast && keep != 0xffff) || (keep == 0 && beats_now_ != 1);
    for (unsigned i = 0; i < kWordBytes; ++i)
      if (keep >> i & 1) now_.bytes.push_back(static_cast<std::uint8_t>(data[i / 4] >> 8 * (i % 4)));
    if (!model->m_axis_tlast) return;
    arrived.push_back(std::move(now_));
    tail_cycles.push_back(cycle);
    now_ = {};
    beats_now_ = 0;
  }

  // New inputs of the streams, behind the edge.
  void drive(double offers, double takes) {
    if (taken_) {
      waiting_.pop_front();
      model->s_axis_tvalid = 0;
    }
    if (!model->s_axis_tvalid && !waiting_.empty() && chance(offers)) {
      const Beat& beat = waiting_.front();
      model->s_axis_tvalid = 1;
      for (unsigned i = 0; i < 4; ++i) model->s_axis_tdata[i] = beat.data[i];
      model->s_axis_tkeep = static_cast<SData>(beat.keep);
      model->s_axis_tlast = beat.last;
      for (unsigned i = 0; i < 6; ++i) model->s_axis_tuser[i] = beat.user.raw[i];
      model->s_axis_tuser[5] &= 0xffff;  // of 176 bits
    }
    model->m_axis_tready = chance(takes);
  }

  std::unique_ptr<Vni_port> model;
  std::vector<Frame> arrived;
  std::vector<std::uint64_t> tail_cycles;
  std::uint64_t first_cycle = 0, beats = 0;
  unsigned bad_beats = 0;

 private:
  bool chance(double p) { return p >= 1 || std::uniform_real_distribution<>{}(random_) < p; }

  std::mt19937_64 random_;
  std::deque<Beat> waiting_;
  Frame now_;
  unsigned beats_now_ = 0;
  bool taken_ = false;
};

// A router with an ni_port at each intra-tile port; nothing at its links.
class Node {
 public:
  explicit Node(std::uint64_t seed) : router_(&context) {
    const spec::RouterConfig config = two_by_two(0, 0);
    for (unsigned i = 0; i < config.raw.size(); ++i) router_.config_i[i] = config.raw[i];
    for (unsigned i = 0; i < kIntra; ++i) ports.push_back(std::make_unique<Port>(context, seed + i));
    router_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) step(0, 0);
    router_.rst_ni = 1;
    for (auto& port : ports) port->model->rst_ni = 1;
    for (int i = 0; i < 4; ++i) step(0, 0);
    cycle = 0;
  }
  ~Node() { router_.final(); }

  void step(double offers, double takes) {
    for (unsigned i = 0; i < kIntra; ++i) {
      Vni_port& model = *ports[i]->model;
      for (unsigned w = 0; w < 5; ++w) {
        router_.flit_i[kInter + i][w] = model.flit_o[w];
        model.flit_i[w] = router_.flit_o[kInter + i][w];
      }
      model.credit_i = router_.credit_o[kInter + i][0];
      router_.release_i =
          static_cast<CData>((router_.release_i & ~(1u << (kInter + i))) | unsigned{model.release_o} << (kInter + i));
      ports[i]->drive(offers, takes);
    }
    edge(0);
    for (auto& port : ports) port->before(cycle);
    edge(1);
    ++cycle;
  }

  VerilatedContext context;
  std::vector<std::unique_ptr<Port>> ports;
  std::uint64_t cycle = 0;

 private:
  void edge(unsigned level) {
    router_.clk_i = static_cast<CData>(level);
    router_.eval();
    for (auto& port : ports) {
      port->model->clk_i = static_cast<CData>(level);
      port->model->eval();
    }
  }

  Vexanet_router router_;
};

// One ni_port between the sender and the receiver of the other tests.
struct Alone {
  Alone() : port(context, 7) {
    for (int i = 0; i < 4; ++i) step({}, 0, 0);
    port.model->rst_ni = 1;
    for (int i = 0; i < 4; ++i) step({}, 0, 0);
    cycle = 0;
  }

  void step(const spec::Flit& flit, double offers, double takes) {
    for (unsigned w = 0; w < 5; ++w) port.model->flit_i[w] = flit.raw[w];
    spec::Credit credit;
    if (released_) credit.set_headers(1), credit.set_words(words_back_);
    port.model->credit_i = released_ ? credit.raw[0] : 0;
    released_ = false;
    port.drive(offers, takes);
    edge(0);
    port.before(cycle);
    edge(1);
    ++cycle;
    spec::Flit out;
    for (unsigned w = 0; w < 5; ++w) out.raw[w] = port.model->flit_o[w];
    if (out.valid()) {
      if (out.head()) heads.push_back(cycle);
      if (receiver.accept(out, cycle)) {
        released_ = true;
        words_back_ = static_cast<unsigned>(receiver.arrivals.back().packet.payload.size());
      }
    }
    releases += port.model->release_o;
  }
  void edge(unsigned level) {
    port.model->clk_i = static_cast<CData>(level);
    port.model->eval();
  }

  VerilatedContext context;
  Port port;
  Receiver receiver;
  std::vector<std::uint64_t> heads;
  std::uint64_t cycle = 0, releases = 0;

 private:
  bool released_ = false;
  unsigned words_back_ = 0;
};

}  // namespace

TEST_CASE("ni_port: random frames of every length through a router, at random rates") {
  struct Rates {
    double offers, takes;
  };
  for (const auto [offers, takes] : {Rates{1, 1}, Rates{0.5, 1}, Rates{1, 0.4}, Rates{0.7, 0.7}, Rates{0.1, 0.9}}) {
    Node node(static_cast<std::uint64_t>(1000 * offers + 10 * takes));
    std::mt19937_64 random{static_cast<std::uint64_t>(100 * offers + takes)};
    // By where from and where to, in two classes: packets of one class stay in order, a priority packet may pass bulk.
    std::deque<Frame> sent[kIntra][kIntra][2];
    constexpr unsigned kFrames = 700;
    for (unsigned from = 0; from < kIntra; ++from)
      for (unsigned i = 0; i < kFrames; ++i) {
        const unsigned to = static_cast<unsigned>(random() % kIntra);
        const unsigned bytes = i <= kMaxBytes ? (i * 7 + from) % (kMaxBytes + 1) : static_cast<unsigned>(random() % 40);
        const Frame frame = random_frame(from, dcid(0, 0), to, bytes, random);
        node.ports[from]->push(frame);
        sent[from][to][frame.user.high_priority()].push_back(frame);
      }
    std::size_t arrived = 0;
    while (arrived < kIntra * kFrames && node.cycle < 400'000) {
      for (int i = 0; i < 100; ++i) node.step(offers, takes);
      arrived = 0;
      for (const auto& port : node.ports) arrived += port->arrived.size();
    }
    unsigned wrong = 0, bad_beats = 0, dropped = 0, counted = 0;
    for (unsigned to = 0; to < kIntra; ++to) {
      bad_beats += node.ports[to]->bad_beats;
      dropped += node.ports[to]->model->dropped_o + node.ports[to]->model->refused_o;
      counted += node.ports[to]->model->received_o + node.ports[to]->model->sent_o;
      for (const Frame& frame : node.ports[to]->arrived) {
        const auto from = frame.user.source_dcid();
        REQUIRE(from < kIntra);
        auto& expected = sent[from][to][frame.user.high_priority()];
        wrong += expected.empty() || !(expected.front() == frame);
        if (!expected.empty()) expected.pop_front();
      }
    }
    MESSAGE("master offers " << offers << ", slave takes " << takes << ": " << arrived << " frames in " << node.cycle
                             << " cycles");
    CHECK(arrived == kIntra * kFrames);
    CHECK(wrong == 0);
    CHECK(bad_beats == 0);
    CHECK(dropped == 0);
    CHECK(counted == 2 * kIntra * kFrames);
  }
}

TEST_CASE("ni_port: what a packet costs in cycles, each way, and how long it stays") {
  for (const unsigned bytes : {0u, 1u, 16u, 17u, 64u, 512u}) {
    const unsigned words = (bytes + kWordBytes - 1) / kWordBytes;
    Alone alone;
    std::mt19937_64 random{bytes};
    constexpr unsigned kFrames = 60;
    Sender sender(4096, 64);
    for (unsigned i = 0; i < kFrames; ++i) {
      Frame frame = random_frame(1, 2, 0, bytes, random);
      frame.user.set_high_priority(0);
      alone.port.push(frame);
      sender.push(make_packet(1, 2, 0, bytes, i, random));
    }
    std::uint64_t sent_words = 0, offered = UINT64_MAX, tail_in = 0;
    for (unsigned i = 0; i < kFrames * 36 + 50; ++i) {
      // As the router: so many packets as there are slots.
      const bool between = sent_words % (words + 2) == 0;
      spec::Flit flit;
      if (!between || sent_words / (words + 2) - alone.releases < kSlots) flit = sender.next(alone.cycle);
      if (flit.valid()) {
        ++sent_words;
        if (flit.tail() && tail_in == 0) tail_in = alone.cycle;
        if (flit.tail()) {
          spec::Credit space;
          space.set_words(words);
          space.set_headers(1);
          sender.credit(space);
        }
      }
      const std::uint64_t now = alone.cycle;
      alone.step(flit, 1, 1);
      if (offered == UINT64_MAX && alone.port.model->s_axis_tvalid) offered = now;
    }
    REQUIRE(alone.receiver.arrivals.size() == kFrames);
    REQUIRE(alone.port.arrived.size() == kFrames);
    for (const Arrival& arrival : alone.receiver.arrivals) CHECK(arrival.sound);
    const auto out = static_cast<double>(alone.heads[50] - alone.heads[10]) / 40;
    const auto in = static_cast<double>(alone.port.tail_cycles[50] - alone.port.tail_cycles[10]) / 40;
    MESSAGE(bytes << " B: a packet in " << out << " cycles into the router, in " << in
                  << " out of it; first beat to header " << alone.heads[0] - offered << ", footer to first beat "
                  << alone.port.first_cycle - tail_in);
    CHECK(out == words + 2);
    CHECK(in == words + 2);
    CHECK(alone.heads[0] - offered == std::max(1u, words) - 1 + 3);
    CHECK(alone.port.first_cycle - tail_in == (words == 0 ? 3 : 4));
    CHECK(alone.port.model->dropped_o == 0);
  }
}

TEST_CASE("ni_port: a frame that is no packet is refused and counted, and those beside it go on") {
  Alone alone;
  std::mt19937_64 random{3};
  const auto beats = [&](std::size_t bytes) {
    return beats_of(random_frame(1, 2, 0, static_cast<unsigned>(bytes), random), random);
  };
  std::vector<std::vector<Beat>> bad;
  bad.push_back(beats(513));
  bad.push_back(beats(1500));
  bad.push_back(beats(48)), bad.back()[1].keep = 0x7fff;  // bytes behind a hole
  bad.push_back(beats(48)), bad.back()[2].keep = 0xfffe;
  bad.push_back(beats(16)), bad.back()[0].keep = 0x0ff0;
  std::vector<Frame> good;
  for (unsigned round = 0; round < 20; ++round)
    for (const auto& frame : bad) {
      alone.port.push(frame);
      good.push_back(random_frame(1, 2, 0, static_cast<unsigned>(random() % 513), random));
      auto sound = beats_of(good.back(), random);
      // Beats without data may stand anywhere.
      if (round % 4 == 1) sound.back().last = false, sound.push_back({{}, 0, true, {}});
      if (round % 4 == 2)
        sound.insert(sound.begin() + static_cast<long>(sound.size() / 2), {{}, 0, false, good.back().user});
      alone.port.push(sound);
    }
  for (unsigned i = 0; i < 9000; ++i) alone.step({}, 0.9, 1);
  CHECK(alone.port.idle());
  CHECK(alone.port.model->refused_o == 20 * bad.size());
  CHECK(alone.port.model->sent_o == good.size());
  REQUIRE(alone.receiver.arrivals.size() == good.size());
  unsigned wrong = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    const Arrival& arrival = alone.receiver.arrivals[i];
    const spec::Header& header = arrival.packet.header;
    const spec::Footer& footer = arrival.packet.footer;
    const spec::NiUser& user = good[i].user;
    wrong += !arrival.sound || header.length() != good[i].bytes.size() || header.dmadd() != user.dmadd() ||
             header.dcid() != user.dcid() || header.pdid() != user.pdid() ||
             header.source_dcid() != user.source_dcid() || header.kind() != user.kind() ||
             header.high_priority() != user.high_priority() || header.multicast() != user.multicast() ||
             footer.number() != user.number() || footer.source_pdid() != user.source_pdid() ||
             footer.channel() != user.channel() || footer.block() != user.block() || footer.reason() != user.reason() ||
             footer.last() != user.last() || footer.ack_request() != user.ack_request();
    for (std::size_t k = 0; k < 16 * arrival.packet.payload.size(); ++k) {
      const unsigned byte = arrival.packet.payload[k / 16][k % 16 / 4] >> 8 * (k % 4) & 0xff;
      wrong += byte != (k < good[i].bytes.size() ? good[i].bytes[k] : 0);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("ni_port: a damaged packet is dropped and counted, its slot released, and no beat of it is seen") {
  Alone alone;
  std::mt19937_64 random{4};
  std::vector<Packet> sound;
  unsigned bad = 0, kinds[6] = {};
  std::uint64_t packets = 0;
  std::deque<spec::Flit> words;
  for (unsigned i = 0; i < 600; ++i) {
    Packet packet = make_packet(1, 2, 0, static_cast<unsigned>(random() % 513), i, random);
    const unsigned how = static_cast<unsigned>(random() % 12);
    bool damaged = true;
    if (how == 0)
      packet.header.raw[random() % 4] ^= 1u << random() % 32;
    else if (how == 1 && !packet.payload.empty())
      packet.payload[random() % packet.payload.size()][random() % 4] ^= 1u << random() % 32;
    else if (how == 2)
      packet.footer.raw[random() % 4] ^= 1u << random() % 32;  // any bit of it, `error` too
    else if (how == 3)
      packet.footer.set_error(1);
    else if (how == 4 && !packet.payload.empty())
      packet.payload.pop_back();
    else if (how == 5)
      packet.payload.push_back({});  // more than its header says, also than the buffer's space for it
    else
      damaged = false;
    if (damaged)
      ++bad, ++kinds[how];
    else
      sound.push_back(packet);
    words.push_back(make_flit(packet.header.raw, 0, true, false));
    for (const Word& word : packet.payload) words.push_back(make_flit(word, 0, false, false));
    words.push_back(make_flit(packet.footer.raw, 0, false, true));
  }
  for (const unsigned count : kinds) REQUIRE(count > 10);
  while (alone.cycle < 60'000 &&
         (!words.empty() || alone.releases < packets || alone.port.arrived.size() < sound.size())) {
    spec::Flit flit;
    if (!words.empty() && (!words.front().head() || packets - alone.releases < kSlots)) {
      flit = words.front();
      words.pop_front();
      packets += flit.head();
    }
    alone.step(flit, 1, 0.8);
  }
  for (int i = 0; i < 50; ++i) alone.step({}, 1, 1);
  CHECK(words.empty());
  CHECK(alone.releases == 600);
  CHECK(alone.port.model->dropped_o == bad);
  CHECK(alone.port.model->received_o == sound.size());
  CHECK(alone.port.bad_beats == 0);
  REQUIRE(alone.port.arrived.size() == sound.size());
  unsigned wrong = 0;
  for (std::size_t i = 0; i < sound.size(); ++i) {
    const Frame& frame = alone.port.arrived[i];
    wrong += frame.bytes.size() != sound[i].header.length() || frame.user.number() != sound[i].footer.number() ||
             frame.user.dmadd() != sound[i].header.dmadd() || frame.user.channel() != sound[i].footer.channel();
    for (std::size_t k = 0; k < frame.bytes.size(); ++k)
      wrong += frame.bytes[k] != (sound[i].payload[k / 16][k % 16 / 4] >> 8 * (k % 4) & 0xff);
  }
  CHECK(wrong == 0);
  MESSAGE(bad << " of 600 packets damaged, all dropped");
}
