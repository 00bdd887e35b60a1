// SPDX-License-Identifier: Apache-2.0
// A memory at an AXI4 write port of 128 bits: it answers a burst a fixed time after its last beat, in order; ready
// falls at random where that is wanted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <unordered_map>
#include <vector>

#include "gateware/tb/expect.hpp"

namespace exanet::gateware {

using Line = std::array<std::uint8_t, 16>;

struct MemoryConfig {
  unsigned latency_cycles =
      20;  // from the cycle that takes a burst's last beat or, if that is later, its address to that of its answer
  double stalls = 0;  // share of cycles in which it takes no address, and no beat
  unsigned reads = 0;  // of a DmaPort, that it takes before it has given the first of them whole; 0: any number
  std::uint64_t seed = 1;
};

// A beat as it was taken. `address` is the beat's own.
struct WrittenBeat {
  std::uint64_t cycle, address;
  Line data;
  bool last;
};

// The write channels of a port: bursts in order, each answered when its time has come.
class AxiWrites {
 public:
  explicit AxiWrites(unsigned latency_cycles) : latency_cycles_(latency_cycles) {}

  void address(std::uint64_t address, unsigned beats) {
    expect(address / 4096 == (address + 16 * beats - 1) / 4096, "a burst crosses 4 KiB");
    bursts_.push_back({address, beats});
  }
  template <typename Words>
  void beat(const Words& words, unsigned strobe, bool last) {
    Beat& beat = beats_.emplace_back();
    for (unsigned i = 0; i < 16; ++i) beat.data[i] = static_cast<std::uint8_t>(words[i / 4] >> 8 * (i % 4));
    beat.strobe = strobe;
    beat.last = last;
  }
  // What has come with its address goes to memory, a line each; a burst of which some line is refused does so from
  // there on.
  template <typename Memory, typename See>
  void write(std::uint64_t cycle, Memory& memory, See see) {
    for (; !beats_.empty() && !bursts_.empty(); beats_.pop_front()) {
      const Beat& beat = beats_.front();
      const std::uint64_t address = bursts_.front().address + 16 * at_++;
      failed_ = failed_ || memory.refuses(address);
      for (unsigned i = 0; i < 16 && !failed_; ++i)
        if (beat.strobe >> i & 1) memory.set(address + i, beat.data[i]);
      see(WrittenBeat{cycle, address, beat.data, beat.last});
      expect(beat.last == (at_ == bursts_.front().beats), "a burst has another number of beats than its address says");
      if (!beat.last) continue;
      // A slave's error and that of the decoder, in turn.
      const std::uint8_t error = failed_ ? static_cast<std::uint8_t>(refused_++ % 2 == 0 ? 3 : 2) : std::uint8_t{0};
      answers_.push_back({cycle + latency_cycles_, error, address});
      bursts_.pop_front();
      at_ = 0, failed_ = false;
    }
  }
  template <typename Valid, typename Response>
  void answer(std::uint64_t cycle, Valid& valid, Response& response) const {
    valid = !answers_.empty() && answers_.front().cycle <= cycle;
    response = valid ? answers_.front().response : 0;
  }
  void answered() { answers_.pop_front(); }
  // Bursts that end in the range and have no answer yet.
  std::size_t unanswered(std::uint64_t begin, std::uint64_t end) const {
    return static_cast<std::size_t>(std::count_if(
        answers_.begin(), answers_.end(), [&](const Answer& a) { return a.last_line >= begin && a.last_line < end; }));
  }

 private:
  struct Burst {
    std::uint64_t address;
    unsigned beats;
  };
  struct Beat {
    Line data;
    unsigned strobe;
    bool last;
  };
  struct Answer {
    std::uint64_t cycle;
    std::uint8_t response;  // of AXI
    std::uint64_t last_line;
  };

  unsigned latency_cycles_;
  std::deque<Burst> bursts_;
  std::deque<Beat> beats_;
  std::deque<Answer> answers_;
  std::uint64_t at_ = 0, refused_ = 0;
  bool failed_ = false;
};

class AxiMemory {
 public:
  explicit AxiMemory(MemoryConfig config) : config_(config), random_(config.seed) {}

  std::function<bool(std::uint64_t address)> refuses = [](std::uint64_t) {
    return false;
  };  // answers with an error, writes nothing
  std::vector<WrittenBeat> beats;

  std::function<Line(std::uint64_t line)> unwritten = [](std::uint64_t) { return Line{}; };  // what it holds else

  Line line(std::uint64_t address) const {
    const auto found = lines_.find(address / 16);
    return found == lines_.end() ? unwritten(address / 16 * 16) : found->second;
  }
  void set(std::uint64_t address, std::uint8_t value) { lines_[address / 16][address % 16] = value; }
  std::uint8_t get(std::uint64_t address) const { return line(address)[address % 16]; }
  std::size_t lines() const { return lines_.size(); }
  // Lines that were ever written, in the range.
  std::size_t lines_within(std::uint64_t begin, std::uint64_t end) const {
    std::size_t count = 0;
    for (const auto& [at, data] : lines_) count += at * 16 >= begin && at * 16 < end;
    return count;
  }

  std::size_t nonzero_within(std::uint64_t begin, std::uint64_t end) const {
    std::size_t count = 0;
    for (const auto& [at, data] : lines_) count += at * 16 >= begin && at * 16 < end && data != Line{};
    return count;
  }

  // Inputs of the port in this cycle, from what was there before it.
  template <typename Model>
  void drive(Model& model, std::uint64_t cycle) {
    model.m_axi_awready = !stalled();
    model.m_axi_wready = !stalled();
    writes_.answer(cycle, model.m_axi_bvalid, model.m_axi_bresp);
  }

  // What was taken in this cycle; with the clock low, behind drive.
  template <typename Model>
  void sample(const Model& model, std::uint64_t cycle) {
    if (model.m_axi_bvalid && model.m_axi_bready) writes_.answered();
    if (model.m_axi_awvalid && model.m_axi_awready) writes_.address(model.m_axi_awaddr, model.m_axi_awlen + 1u);
    if (model.m_axi_wvalid && model.m_axi_wready) writes_.beat(model.m_axi_wdata, strobe_of(model), model.m_axi_wlast);
    writes_.write(cycle, *this, [&](const WrittenBeat& beat) { beats.push_back(beat); });
  }

 private:
  // Mailboxes write whole beats.
  template <typename Model>
  static unsigned strobe_of(const Model& model) {
    if constexpr (requires { model.m_axi_wstrb; }) return model.m_axi_wstrb;
    return 0xffff;
  }
  bool stalled() { return config_.stalls > 0 && std::uniform_real_distribution<>{}(random_) < config_.stalls; }

  MemoryConfig config_;
  std::mt19937_64 random_;
  std::unordered_map<std::uint64_t, Line> lines_;
  AxiWrites writes_{config_.latency_cycles};
};

}  // namespace exanet::gateware
