// SPDX-License-Identifier: Apache-2.0
// While time stands still: during MPI_Init and after MPI_Finalize, when ranks talk to their launcher as much as to each
// other and run in real time. Descriptors are served as they come and completions are handed over at once.
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

// Packets still in flight and late events end in their own time; not where interfaces may retransmit to a dead one for
// ever.
void Coordinator::run_out() {
  while (deaths_.empty() && !events_.empty() && !stopping()) events_.run_one();
}

// One pass over all ranks. True when something happened.
bool Coordinator::serve_free() {
  bool any = false, found = true;
  // Ranks also talk past the simulator: one may use an address or a key that another has just published. What came
  // before such a descriptor was in its ring before it; so look round until nobody has anything, and only then execute.
  while (found && !stopping()) {
    found = false;
    for (RankId r = 0; r < ranks(); ++r) found |= drain(r);
    any |= found;
  }
  run_out();
  for (RankId r = 0; r < ranks(); ++r) {
    Rank& rank = ranks_[r];
    if (rank.completions.empty()) continue;
    const std::size_t before = rank.completions.size();
    push_until(r, Time::never());
    if (rank.completions.size() == before) continue;
    any = true;
    __atomic_store_n(&region_.rank(r).wake, 1, __ATOMIC_RELEASE);
    wake(&region_.rank(r).wake);
  }
  return any;
}

// Until all ranks are in `until_state` (EXN_ABSENT: never) or have left.
void Coordinator::run_free(std::uint32_t until_state) {
  engine_.set_zero_cost(true);
  while (!stopping()) {
    __atomic_store_n(&region_->simulator_wake, EXN_AWAKE, __ATOMIC_SEQ_CST);
    if (serve_free()) continue;
    std::uint32_t there = 0;
    for (RankId r = 0; r < ranks(); ++r) {
      const std::uint32_t state = __atomic_load_n(&region_.rank(r).state, __ATOMIC_ACQUIRE);
      there += until_state != EXN_ABSENT && state == until_state;
    }
    const std::uint32_t exited = control_.exited();
    if (exited == ranks() || all_have_left()) return;
    if (there == ranks()) {
      // The last descriptors may have been written between the pass above and the state that was seen.
      while (serve_free()) {
      }
      return;
    }
    if (there > 0 && exited > 0) {
      stop("a rank exited before virtual time began, while others wait for it");
      return;
    }
    sleep(5'000'000);
  }
}

}  // namespace exanet
