// SPDX-License-Identifier: Apache-2.0
// Random transfers between Verilated nodes, with what must become of each: all bytes at their target, none beside them,
// none again once their owner has been reported, and one end, which says why where memory or nobody at all was in the
// way.
#pragma once

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gateware/ni/tb/ni_network.hpp"
#include "gateware/tb/long.hpp"

namespace exanet::gateware {

inline constexpr unsigned kDomain = 5;
// Where a node has what it sends, what it is sent, the words that report the ends, and those behind what it is sent.
inline constexpr std::uint64_t kOwn = 0x10'0000'0000, kTarget = 0x20'0000'0000, kEnds = 0x30'0000'0000,
                               kFences = 0x40'0000'0000;

inline spec::Transfer transfer_of(std::uint64_t own, std::uint64_t target, std::uint32_t length, std::uint32_t dcid,
                                  unsigned token) {
  spec::Transfer transfer;
  transfer.set_own(own);
  transfer.set_target(target);
  transfer.set_length(length);
  transfer.set_dcid(dcid);
  transfer.set_end_word(kEnds / 8 + token);
  transfer.set_notify(1);
  transfer.set_token(token);
  return transfer;
}

// Of another node's memory at `target` to the own one.
inline spec::Transfer read_of(std::uint64_t own, std::uint64_t target, std::uint32_t length, std::uint32_t dcid,
                              unsigned token) {
  spec::Transfer transfer = transfer_of(own, target, length, dcid, token);
  transfer.set_read(1);
  return transfer;
}

// Addresses as offsets, and a length: corners of each, and some that are drawn.
struct TransferCase {
  std::uint64_t own, target;
  std::uint32_t length;
};
inline std::vector<TransferCase> transfer_cases(std::uint64_t seed) {
  std::vector<TransferCase> cases;
  for (const std::uint32_t length : {4096u, 0u, 1u, 15u, 16u, 17u, 64u, 511u, 512u, 513u, 4095u, 4097u, 16384u, 20000u})
    for (const auto& [own, target] : {std::pair{0u, 0u}, {1u, 0u}, {0u, 1u}, {15u, 3u}, {4095u, 511u}, {2049u, 4081u}})
      cases.push_back({own, target, length});
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < (in_full() ? 1000u : 60u); ++i)
    cases.push_back({random() % 8192, random() % 8192, static_cast<std::uint32_t>(random() % 6000)});
  return cases;
}

// A fence at a word of its own, with a value of its own.
inline spec::TransferFence fence_of(std::uint64_t word, std::uint64_t value) {
  spec::TransferFence fence;
  fence.set_word(word / 8);
  fence.set_value(value);
  return fence;
}

inline std::uint64_t word_of(const AxiMemory& memory, std::uint64_t address) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) word |= std::uint64_t{memory.get(address + i)} << 8 * i;
  return word;
}

inline spec::TransferEnd end_of(const AxiMemory& memory, unsigned token) {
  const Line line = memory.line(kEnds + 8 * std::uint64_t{token});
  spec::TransferEnd end;
  for (unsigned i = 0; i < 8; ++i) end.raw[i / 4] |= std::uint32_t{line[8 * (token % 2) + i]} << 8 * (i % 4);
  return end;
}

// What a node's memory holds at an address of its own region: no two nodes have the same there.
inline std::uint8_t value_at(std::size_t node, std::uint64_t address) {
  std::uint64_t h = (address + 1) * 0x9e3779b97f4a7c15 + node * 0xbf58476d1ce4e5b9;
  h ^= h >> 29;
  h *= 0x94d049bb133111eb;
  return static_cast<std::uint8_t>((h >> 56) | 1);  // not what memory holds where nothing was written
}

inline void fill(NiNetwork& network, std::size_t node, std::uint64_t address, std::uint32_t length) {
  for (std::uint64_t i = 0; i < length; ++i) network.node(node).memory->set(address + i, value_at(node, address + i));
}

// Whether the target's bytes are the source's, and those around them untouched.
inline void check_written(NiNetwork& network, std::size_t from, std::uint64_t own, std::size_t to, std::uint64_t target,
                          std::uint32_t length) {
  const AxiMemory& memory = *network.node(to).memory;
  unsigned wrong = 0;
  for (std::uint64_t i = 0; i < length; ++i) wrong += memory.get(target + i) != value_at(from, own + i);
  CHECK(wrong == 0);
  for (std::uint64_t i = 1; i <= 64; ++i)
    wrong += memory.get(target - i) != 0 || memory.get(target + length + i - 1) != 0;
  CHECK(wrong == 0);
}

inline void open_all(NiNetwork& network) {
  for (std::size_t n = 0; n < network.size(); ++n)
    for (unsigned c = 0; c < kContexts; ++c) network.open_context(n, c, kDomain);
  network.run_until_stored();
}

// Cycles from a transfer's last store to the first read of memory, alone, in each phase of the sender's turns: steps of
// three cycles, and every sixteenth a look for what is to be sent again.
inline std::vector<std::uint64_t> first_reads(NiNetwork& network) {
  constexpr std::uint64_t kPhases = 48, kQuiet = 10 * kPhases;
  std::vector<std::uint64_t> found;
  for (std::uint64_t phase = 0; phase < kPhases; ++phase) {
    const std::uint64_t begin = network.cycle() / kPhases * kPhases + kQuiet + phase;
    const std::size_t stores = network.node(0).taken.size();
    network.node(0).dma->first_read = 0;
    network.transfer(0, 1, transfer_of(kOwn, kTarget, 64, network.node(1).dcid, 1), begin);
    while (network.cycle() < begin + kQuiet) network.step();
    found.push_back(network.node(0).dma->first_read - network.node(0).taken[stores + 1]);
  }
  return found;
}

struct TransferTrafficConfig {
  std::uint64_t seed = 1;
  unsigned transfers = 100;  // of each node
  double rate = 0.02;  // transfers that a node offers in a cycle
  std::uint32_t most_bytes = 6000;
  unsigned refused_one_in =
      0;  // whose own or target memory, or that of the fence, refuses, or whose node does not exist
  unsigned reads_of_ten = 0;
};

class TransferTraffic {
 public:
  TransferTraffic(NiNetwork& network, TransferTrafficConfig config)
      : network_(network),
        config_(config),
        random_(config.seed),
        left_(network.size(), config.transfers),
        under_way_(network.size()),
        transfers_(network.size()) {
    open_all(network);
    for (std::size_t n = 0; n < network.size(); ++n) {
      network.node(n).memory->refuses = [](std::uint64_t address) {
        return (address >= kRefuses && address < kEnds) || address >= kRefusesFences;
      };
      network.node(n).dma->on_burst = [this, n](const WrittenBeat& end) {
        if (end.address >= kFences && end.address < kRefusesFences) fenced(n, end.address);
      };
      network.node(n).dma->refuses_read = [](std::uint64_t address) { return address >= kRefuses; };
    }
  }

  void run(std::uint64_t most_cycles) {
    const std::uint64_t begin = network_.cycle();
    while (!done()) {
      if (network_.cycle() - begin >= most_cycles) {
        FAIL("transfers are under way after " << most_cycles << " cycles");
        return;
      }
      step();
    }
    network_.run(2000);
    for (std::size_t n = 0; n < transfers_.size(); ++n) {
      CHECK(network_.node(n).bad_answers == 0);
      unsigned wrong = 0;
      for (const Transfer& t : transfers_[n]) {
        const AxiMemory& memory = *network_.node(t.to).memory;
        for (std::uint64_t i = 0; i < t.length && t.ended && given_back(t); ++i)
          wrong += memory.get(t.target + i) != kOwners;
        for (std::uint64_t i = 1; i <= 32; ++i)
          wrong += memory.get(t.target - i) != 0 || memory.get(t.target + t.length + i - 1) != 0;
      }
      CHECK(wrong == 0);
    }
  }
  void step() {
    for (std::size_t n = 0; n < transfers_.size(); ++n) offer(n);
    network_.step();
    if (network_.cycle() % 16 == 0)
      for (std::size_t n = 0; n < transfers_.size(); ++n) look(n);
  }
  bool done() const {
    for (std::size_t n = 0; n < transfers_.size(); ++n)
      if (left_[n] != 0 || under_way_[n] != 0) return false;
    return true;
  }

  std::uint64_t whole = 0, refused = 0, silent = 0, fences = 0, reads = 0;

 private:
  static constexpr std::uint64_t kRefuses = 0x28'0000'0000, kRefusesFences = 0x48'0000'0000;
  static constexpr std::uint8_t kOwners = 0xee;  // what a target's owner puts there once it has come
  enum class Obstacle { kNone, kOwn, kTarget, kNobody, kFence };
  // Bytes from one node's memory to another's; that of the second one asks for it, if it is a read.
  struct Transfer {
    std::uint64_t own = 0, target = 0;
    std::uint32_t length = 0;
    std::size_t from = 0, to = 0;
    bool read = false;
    unsigned word = 0;
    Obstacle obstacle = Obstacle::kNone;
    bool ended = false, good = false, silent = false;
    bool fence = false;
    unsigned fences = 0;  // that came
  };

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  // Nothing more comes: also behind the end of a read that has failed, but for one that nobody has answered.
  static bool given_back(const Transfer& t) { return t.good || (t.read && !t.silent); }

  void offer(std::size_t n) {
    if (left_[n] == 0 || under_way_[n] >= kChannels - network_.config().kept_channels ||
        network_.node(n).stores.size() > 8)
      return;
    if (std::uniform_real_distribution<>{}(random_) >= config_.rate) return;
    --left_[n];
    ++under_way_[n];
    Transfer t;
    t.word = static_cast<unsigned>(transfers_[n].size());
    t.length = pick(4) == 0 ? pick(65) : pick(config_.most_bytes + 1);
    t.read = pick(10) < config_.reads_of_ten;
    const std::size_t other = pick(static_cast<unsigned>(transfers_.size()));
    t.from = t.read ? other : n;
    t.to = t.read ? n : other;
    reads += t.read;
    const std::uint64_t place = 0x10000 * (0x1000 * n + t.word);
    t.own = kOwn + place + pick(8192);
    t.target = kTarget + place + 64 + pick(8192);
    std::uint32_t dcid = network_.node(other).dcid;
    t.fence = !t.read && pick(2) == 0;
    if (config_.refused_one_in != 0 && pick(config_.refused_one_in) == 0 && t.length != 0)
      t.obstacle = static_cast<Obstacle>(1 + pick(t.fence ? 4 : 3));
    if (t.obstacle == Obstacle::kOwn) t.own += kRefuses - kOwn + 0x10'0000'0000;
    if (t.obstacle == Obstacle::kTarget) t.target += kRefuses - kTarget;
    if (t.obstacle == Obstacle::kNobody) dcid = 7;  // beyond four nodes: routers discard it
    fill(network_, t.from, t.own, t.length);
    spec::Transfer transfer = t.read ? read_of(t.target, t.own, t.length, dcid, t.word)
                                     : transfer_of(t.own, t.target, t.length, dcid, t.word);
    const unsigned context = pick(kContexts);
    if (t.fence) {
      transfer.set_fence(1);
      network_.fence(n, context,
                     fence_of((t.obstacle == Obstacle::kFence ? kRefusesFences : kFences) + 0x10'0000 * n + 16 * t.word,
                              value_of(n, t.word)));
    }
    network_.transfer(n, context, transfer);
    open_[n].push_back(t.word);
    transfers_[n].push_back(t);
  }

  static std::uint64_t value_of(std::size_t n, unsigned token) { return ~(std::uint64_t{token} << 32 | n); }

  // A fence has been written at this node: once, and all that is before it has been answered by memory.
  void fenced(std::size_t node, std::uint64_t word) {
    const std::size_t n = (word - kFences) / 0x10'0000;
    Transfer& t = transfers_[n][(word - kFences) % 0x10'0000 / 16];
    const AxiMemory& memory = *network_.node(node).memory;
    CHECK(t.fence);
    CHECK(++t.fences == 1);
    CHECK(t.to == node);
    CHECK((!t.ended || t.silent));  // what nobody answered may come later
    CHECK(word_of(memory, word) == value_of(n, t.word));
    CHECK(word_of(memory, word + 8) == 0);
    unsigned wrong = 0;
    for (std::uint64_t i = 0; i < t.length; ++i) wrong += memory.get(t.target + i) != value_at(t.from, t.own + i);
    CHECK(wrong == 0);
    CHECK(network_.node(node).dma->unanswered(t.target / 16 * 16, t.target + t.length) == 0);
    ++fences;
  }

  void look(std::size_t n) {
    auto& open = open_[n];
    for (std::size_t i = 0; i < open.size();) {
      Transfer& t = transfers_[n][open[i]];
      const auto end = end_of(*network_.node(n).memory, t.word);
      if (end.done() == 0) {
        ++i;
        continue;
      }
      CHECK(end.token() == t.word);
      ended(t, static_cast<spec::NackReason>(end.failure()));
      --under_way_[n];
      open[i] = open.back();
      open.pop_back();
    }
  }

  void ended(Transfer& t, spec::NackReason failure) {
    using Reason = spec::NackReason;
    t.ended = true;
    t.good = failure == Reason::kNone;
    if (t.good) CHECK(t.fences == t.fence);
    if (failure == Reason::kMemory) CHECK(t.fences == 0);
    if (failure == Reason::kSilent) {
      ++silent;
      t.silent = true;
      CHECK((t.obstacle == Obstacle::kNobody || may_be_silent));
    } else if (t.obstacle == Obstacle::kNone) {
      ++whole;
      CHECK(failure == Reason::kNone);
    } else {
      ++refused;
      CHECK(failure == Reason::kMemory);
      CHECK(t.obstacle != Obstacle::kNobody);
    }
    AxiMemory& memory = *network_.node(t.to).memory;
    unsigned wrong = 0;
    for (std::uint64_t i = 0; i < t.length; ++i) {
      const std::uint8_t byte = memory.get(t.target + i);
      wrong += byte != value_at(t.from, t.own + i) && (t.good || byte != 0);
      if (given_back(t)) memory.set(t.target + i, kOwners);
    }
    CHECK(wrong == 0);
  }

 public:
  bool may_be_silent = false;

 private:
  NiNetwork& network_;
  TransferTrafficConfig config_;
  std::mt19937_64 random_;
  std::vector<unsigned> left_, under_way_;
  std::vector<std::vector<Transfer>> transfers_;
  std::map<std::size_t, std::vector<unsigned>> open_;
};

}  // namespace exanet::gateware
