// SPDX-License-Identifier: Apache-2.0
// Boards of the KARMA bench, one Verilated class for every board, joined by transceivers. exanet/karma drives them
// through this C interface as a processor would: by reading and writing registers over AXI4-Lite.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "Vkarma_board.h"
#include "gateware/link/tb/transceiver.hpp"
#include "verilated.h"

namespace {

using exanet::gateware::Transceiver;
using exanet::gateware::TransceiverConfig;

constexpr unsigned kInter = 2;
constexpr std::uint64_t kAxiTimeout = 1000;  // cycles; a register answers in a few

// One line, from a port of one board to a port of another, and the first words that went over it.
struct Line {
  std::size_t from, to;
  unsigned from_port, to_port;
  Transceiver transceiver;
  std::vector<std::uint64_t> sent_cycles, sent_words;
};

class Bench {
 public:
  explicit Bench(std::size_t boards) {
    for (std::size_t i = 0; i < boards; ++i) {
      auto& board = *boards_.emplace_back(std::make_unique<Vkarma_board>(&context_));
      board.rst_ni = 0;
      board.node_bready = board.node_rready = board.karma_bready = board.karma_rready = 1;
    }
    for (int i = 0; i < 4; ++i) edge();
    for (auto& board : boards_) board->rst_ni = 1;
  }
  ~Bench() {
    for (auto& board : boards_) board->final();
  }

  void connect(std::size_t a, unsigned a_port, std::size_t b, unsigned b_port, const TransceiverConfig& config) {
    lines_.push_back({a, b, a_port, b_port, Transceiver(config), {}, {}});
    lines_.push_back({b, a, b_port, a_port, Transceiver(config), {}, {}});
  }

  // The two register blocks of a board have the same signals under other names.
  template <class Ready, class Done>
  void transfer(Ready&& ready, Done&& done) {
    const std::uint64_t limit = cycle_ + kAxiTimeout;
    for (; !ready(); step())
      if (cycle_ > limit) throw std::runtime_error("a register does not take its address");
    step();
    for (; !done(); step())
      if (cycle_ > limit) throw std::runtime_error("a register does not answer");
    step();
  }

#define EXANET_AXI(prefix)                                                        \
  void write_##prefix(std::size_t n, std::uint32_t address, std::uint32_t data) { \
    Vkarma_board& b = *boards_[n];                                                \
    b.prefix##_awaddr = static_cast<SData>(address);                              \
    b.prefix##_wdata = data;                                                      \
    b.prefix##_wstrb = 0xf;                                                       \
    b.prefix##_awvalid = b.prefix##_wvalid = 1;                                   \
    settle(b);                                                                    \
    bool taken = false;                                                           \
    transfer([&] { return b.prefix##_awready && b.prefix##_wready; },             \
             [&] {                                                                \
               if (!taken) b.prefix##_awvalid = b.prefix##_wvalid = 0;            \
               taken = true;                                                      \
               settle(b);                                                         \
               return b.prefix##_bvalid;                                          \
             });                                                                  \
  }                                                                               \
  std::uint32_t read_##prefix(std::size_t n, std::uint32_t address) {             \
    Vkarma_board& b = *boards_[n];                                                \
    std::uint32_t data = 0;                                                       \
    b.prefix##_araddr = static_cast<SData>(address);                              \
    b.prefix##_arvalid = 1;                                                       \
    settle(b);                                                                    \
    transfer([&] { return b.prefix##_arready; },                                  \
             [&] {                                                                \
               b.prefix##_arvalid = 0;                                            \
               settle(b);                                                         \
               data = b.prefix##_rdata;                                           \
               return b.prefix##_rvalid;                                          \
             });                                                                  \
    return data;                                                                  \
  }
  EXANET_AXI(node)
  EXANET_AXI(karma)
#undef EXANET_AXI

  void run(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles; ++i) step();
  }
  void record(std::size_t words) {
    recorded_ = words;
    for (Line& line : lines_) {
      line.sent_cycles.clear();
      line.sent_words.clear();
    }
  }
  std::uint64_t cycle() const { return cycle_; }
  std::size_t boards() const { return boards_.size(); }
  const Line* line(std::size_t board, unsigned port) const {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [&](const Line& l) { return l.from == board && l.from_port == port; });
    return found == lines_.end() ? nullptr : &*found;
  }

 private:
  static void settle(Vkarma_board& board) {
    board.clk_i = 0;
    board.eval();
  }

  void step() {
    for (auto& board : boards_) {
      settle(*board);
      board->tx_ready_i = 0;
      board->rx_valid_i = 0;
    }
    for (Line& line : lines_) {
      Vkarma_board& from = *boards_[line.from];
      Vkarma_board& to = *boards_[line.to];
      const bool ready = line.transceiver.ready(), offered = from.tx_valid_o >> line.from_port & 1u;
      const std::uint64_t word = from.tx_data_o[line.from_port];
      from.tx_ready_i |= static_cast<CData>(unsigned{ready} << line.from_port);
      if (ready && offered && line.sent_words.size() < recorded_) {
        line.sent_cycles.push_back(cycle_);
        line.sent_words.push_back(word);
      }
      const auto arrived = line.transceiver.step(offered ? std::optional(word) : std::nullopt);
      to.rx_valid_i |= static_cast<CData>(unsigned{arrived.has_value()} << line.to_port);
      to.rx_data_i[line.to_port] = arrived.value_or(0);
    }
    edge();
    ++cycle_;
  }

  void edge() {
    for (auto& board : boards_) settle(*board);
    for (auto& board : boards_) {
      board->clk_i = 1;
      board->eval();
    }
  }

  VerilatedContext context_;
  std::vector<std::unique_ptr<Vkarma_board>> boards_;
  std::vector<Line> lines_;
  std::uint64_t cycle_ = 0;
  std::size_t recorded_ = 0;
};

}  // namespace

#define EXANET_EXPORT extern "C" __attribute__((visibility("default")))

// `lines` holds four numbers for each line: board, port, board, port.
EXANET_EXPORT void* karma_open(unsigned boards, const unsigned* lines, unsigned line_count, unsigned latency_cycles,
                               unsigned pause_every, double bit_error_rate, std::uint64_t seed) {
  auto bench = std::make_unique<Bench>(boards);
  for (unsigned i = 0; i < line_count; ++i, lines += 4) {
    if (lines[0] >= boards || lines[2] >= boards || lines[1] >= kInter || lines[3] >= kInter) return nullptr;
    bench->connect(lines[0], lines[1], lines[2], lines[3],
                   {.latency_cycles = latency_cycles,
                    .pause_every = pause_every,
                    .bit_error_rate = bit_error_rate,
                    .seed = seed + i});
  }
  return bench.release();
}
EXANET_EXPORT void karma_close(void* bench) { delete static_cast<Bench*>(bench); }

// Block 0 is the node's, 1 the bench's. 0: done; 1: no answer.
EXANET_EXPORT int karma_write(void* bench, unsigned board, unsigned block, std::uint32_t address, std::uint32_t data) {
  Bench& b = *static_cast<Bench*>(bench);
  try {
    block == 0 ? b.write_node(board, address, data) : b.write_karma(board, address, data);
    return 0;
  } catch (const std::runtime_error&) {
    return 1;
  }
}
EXANET_EXPORT int karma_read(void* bench, unsigned board, unsigned block, std::uint32_t address, std::uint32_t* data) {
  Bench& b = *static_cast<Bench*>(bench);
  try {
    *data = block == 0 ? b.read_node(board, address) : b.read_karma(board, address);
    return 0;
  } catch (const std::runtime_error&) {
    return 1;
  }
}
EXANET_EXPORT void karma_run(void* bench, std::uint64_t cycles) { static_cast<Bench*>(bench)->run(cycles); }
EXANET_EXPORT std::uint64_t karma_cycle(const void* bench) { return static_cast<const Bench*>(bench)->cycle(); }

// The first words that leave each board from now on are kept.
EXANET_EXPORT void karma_record(void* bench, std::uint64_t words) { static_cast<Bench*>(bench)->record(words); }
// How many were; copies as many as `capacity` of them, and the cycles in which they went.
EXANET_EXPORT std::uint64_t karma_recorded(const void* bench, unsigned board, unsigned port, std::uint64_t* cycles,
                                           std::uint64_t* words, std::uint64_t capacity) {
  const Line* line = static_cast<const Bench*>(bench)->line(board, port);
  if (!line) return 0;
  const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(capacity, line->sent_words.size()));
  std::copy_n(line->sent_cycles.begin(), count, cycles);
  std::copy_n(line->sent_words.begin(), count, words);
  return line->sent_words.size();
}
