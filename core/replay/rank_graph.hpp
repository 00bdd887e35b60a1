// SPDX-License-Identifier: Apache-2.0
// A graph of operations of one rank (a schedule of GOAL's): messages and computing, each of which begins when those
// that it requires have ended or begun.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/stream.hpp"

namespace exanet {

class RankGraph {
 public:
  RankGraph(Activities& activities, Library& library, RankId rank)
      : activities_(activities), library_(library), rank_(rank) {}

  // The next operation of the graph, and how long it computes on this machine; `context` is of MPI_COMM_WORLD's tags.
  // Returns what is wrong with it, "" if nothing is.
  std::string add(const TraceRecord& operation, Time computes, std::uint32_t context);
  bool empty() const { return operations_.empty(); }

  // As LibraryUser::resume(), until all operations have ended: then nothing, and the graph is empty.
  std::optional<Time> run();
  // It goes on when something comes, and not by itself.
  bool waits() const { return !empty() && computing_ == kNone && messages_.empty() && computes_.empty(); }
  double share_done() const { return 1 - static_cast<double>(left_) / static_cast<double>(operations_.size()); }
  std::string where() const;  // the first operation that has not ended

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  enum class State : std::uint8_t { waits, begun, ended };
  struct Operation {
    std::uint8_t code = 0;
    State state = State::waits;
    bool any_tag = false;
    std::uint32_t missing = 0;  // operations that it still requires
    RankId peer = 0;
    std::uint64_t tag = 0, bytes = 0;
    Time computes;
  };
  struct Edge {
    std::uint32_t from, to;
    bool beside;  // the start of `from` is required, not its end
  };

  void prepare();
  void satisfied(std::uint32_t operation, bool beside);
  void begin(std::uint32_t operation);
  void end(std::uint32_t operation);
  std::uint32_t next();

  Activities& activities_;
  Library& library_;
  const RankId rank_;
  std::vector<Operation> operations_;
  std::vector<Edge> edges_;  // by `from` once prepare() has been called
  std::vector<std::uint32_t> first_edge_;  // of each operation; and the number of all
  std::deque<std::uint32_t> messages_, computes_;  // that may begin, in the order in which they came to that
  std::vector<std::uint32_t> of_activity_;  // operations by their activities
  std::vector<std::uint32_t> ended_;
  std::uint32_t computing_ = kNone;
  std::size_t left_ = 0;
  bool prepared_ = false;
};

}  // namespace exanet
