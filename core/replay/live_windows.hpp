// SPDX-License-Identifier: Apache-2.0
// One-sided calls of a live rank: what a replay makes of them (windows.hpp), with contents.
//
// Contract: begin() takes a call, over() is asked until it is true, and what comes back lies in the program's memory
// then. Contents of a put are read when it begins, or, of a long one of one piece, until it is complete.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/replay/communicators.hpp"
#include "core/replay/live_call.h"
#include "core/replay/windows.hpp"

namespace exanet {

// Accesses under way of all ranks: what they bring, and where it goes.
class LiveAccesses final : public AccessContents {
 public:
  LiveAccesses(Host& memory, Library& library) : memory_(memory), library_(library) {}

  // Takes what is sent; the number of it.
  std::uint32_t begin(RankId rank, const exanet_live_call& call);
  void reached(std::uint32_t contents) override;
  void returned(std::uint32_t contents) override;
  // Of a transfer by the interface: one piece of memory that is read, or written to; and its end.
  std::uint64_t place(std::uint32_t contents) { return reinterpret_cast<std::uint64_t>(at(contents).data.data()); }
  void transferred(std::uint32_t contents);
  // The number of a window among all; `window`: as all its members call it.
  std::uint64_t number_of(std::uint64_t window) { return numbers_.emplace(window, numbers_.size()).first->second; }

  ActiveMessages words;

 private:
  using Blocks = std::vector<exanet_live_block>;
  struct Access {
    RankId origin = 0, target = 0;
    std::uint32_t code = 0, operation = 0, type = 0;
    std::vector<std::byte> data, compared;  // data: what is sent, then what comes back
    Blocks result, there;
  };

  Access& at(std::uint32_t contents) { return all_[contents - 1]; }
  void read(RankId rank, const Blocks& blocks, std::vector<std::byte>& to);
  void write(RankId rank, const Blocks& blocks, const std::vector<std::byte>& from);
  static Blocks blocks_of(const exanet_live_memory& memory);

  Host& memory_;
  Library& library_;
  std::vector<Access> all_;
  std::vector<std::uint32_t> free_;
  std::map<std::uint64_t, std::uint64_t> numbers_;
};

class LiveWindows {
 public:
  LiveWindows(Activities& activities, Communicators& communicators, LiveAccesses& accesses, RankId rank)
      : activities_(activities),
        communicators_(communicators),
        accesses_(accesses),
        windows_(activities, accesses.words, rank, &accesses),
        rank_(rank) {}

  // Why the call cannot be: "" of one that has begun. Activities that it waits for are the caller's to release.
  std::string begin(const exanet_live_call& call, std::vector<std::uint32_t>& waited);
  bool over(std::vector<std::uint32_t>& waited);
  bool heard() { return windows_.heard(record_); }
  // Of MPI_Win_test: all have said that they have completed, if not all of it is here yet. It must be true then.
  bool will_hear() const { return call_->code == EXANET_TRACE_Win_test && windows_.will_hear(record_); }
  bool any() const { return !barriers_.empty(); }  // that has been made
  // Of an access that has a request.
  std::uint32_t activity() const { return activity_; }
  // Whatever has come back by now is put into its place.
  void take_results();

 private:
  struct Transfer {
    std::uint32_t activity, contents;
  };

  std::string make(const exanet_live_call& call);
  void access();
  std::uint32_t barrier();

  Activities& activities_;
  Communicators& communicators_;
  LiveAccesses& accesses_;
  RankWindows windows_;
  const RankId rank_;
  const exanet_live_call* call_ = nullptr;
  TraceRecord record_;
  bool began_ = false;  // the call is at its first step
  std::uint32_t activity_ = 0;
  std::vector<Transfer> transfers_;  // with contents of their own
  struct Barriers {
    std::uint64_t window = 0, begun = 0;  // window: its number among all
  };
  std::map<std::uint32_t, Barriers> barriers_;  // by the rank's own numbers
};

bool is_live_one_sided(std::uint32_t code);
bool is_live_access_with_request(std::uint32_t code);

}  // namespace exanet
