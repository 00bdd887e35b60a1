// SPDX-License-Identifier: Apache-2.0
// A memory at an AXI4 write port of 128 bits: it answers a burst a fixed time after its last beat, in order; ready falls at random where that is wanted.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <unordered_map>
#include <vector>

namespace exanet::gateware {

using Line = std::array<std::uint8_t, 16>;

struct MemoryConfig {
  unsigned latency_cycles =
      20;  // from the cycle that takes a burst's last beat or, if that is later, its address to that of its answer
  double stalls = 0;  // share of cycles in which it takes no address, and no beat
  std::uint64_t seed = 1;
};

// A beat as it was taken. `address` is the beat's own.
struct WrittenBeat {
  std::uint64_t cycle, address;
  Line data;
  bool last;
};

class AxiMemory {
 public:
  explicit AxiMemory(MemoryConfig config) : config_(config), random_(config.seed) {}

  std::function<bool(std::uint64_t address)> refuses = [](std::uint64_t) {
    return false;
  };  // answers with an error, writes nothing
  std::vector<WrittenBeat> beats;
  std::uint64_t bursts = 0;

  Line line(std::uint64_t address) const {
    const auto found = lines_.find(address / 16);
    return found == lines_.end() ? Line{} : found->second;
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

  // Inputs of the port in this cycle, from what was there before it.
  template <typename Model>
  void drive(Model& model, std::uint64_t cycle) {
    model.m_axi_awready = !stalled();
    model.m_axi_wready = !stalled();
    const bool due = !answers_.empty() && answers_.front().cycle <= cycle;
    model.m_axi_bvalid = due;
    model.m_axi_bresp = due && answers_.front().failed ? 2 : 0;
  }

  // What was taken in this cycle; with the clock low, behind drive.
  template <typename Model>
  void sample(const Model& model, std::uint64_t cycle) {
    if (model.m_axi_bvalid && model.m_axi_bready) answers_.pop_front();
    if (model.m_axi_awvalid && model.m_axi_awready) addresses_.push_back(model.m_axi_awaddr);
    if (model.m_axi_wvalid && model.m_axi_wready) {
      WrittenBeat beat{cycle, 0, {}, model.m_axi_wlast != 0};
      for (unsigned i = 0; i < 16; ++i)
        beat.data[i] = static_cast<std::uint8_t>(model.m_axi_wdata[i / 4] >> 8 * (i % 4));
      waiting_.push_back(beat);
    }
    while (!waiting_.empty() && !addresses_.empty()) write(cycle);
  }

 private:
  struct Answer {
    std::uint64_t cycle;
    bool failed;
  };

  bool stalled() { return config_.stalls > 0 && std::uniform_real_distribution<>{}(random_) < config_.stalls; }

  void write(std::uint64_t cycle) {
    WrittenBeat beat = waiting_.front();
    waiting_.pop_front();
    beat.address = addresses_.front() + 16 * at_++;
    failed_ = failed_ || refuses(beat.address);
    if (!failed_) lines_[beat.address / 16] = beat.data;
    beats.push_back(beat);
    if (!beat.last) return;
    answers_.push_back({cycle + config_.latency_cycles, failed_});
    addresses_.pop_front();
    at_ = 0, failed_ = false;
    ++bursts;
  }

  MemoryConfig config_;
  std::mt19937_64 random_;
  std::unordered_map<std::uint64_t, Line> lines_;
  std::deque<std::uint64_t> addresses_;
  std::deque<WrittenBeat> waiting_;
  std::deque<Answer> answers_;
  std::uint64_t at_ = 0;
  bool failed_ = false;
};

}  // namespace exanet::gateware
