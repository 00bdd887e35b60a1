// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/control.hpp"

#include <algorithm>
#include <cstring>

namespace exanet {
namespace {

enum Reporting : std::uint32_t { kUnreported, kReporting, kReported };

}  // namespace

void Control::stop(const std::string& reason) {
  std::uint32_t unreported = kUnreported;
  if (__atomic_compare_exchange_n(&region_->reporting, &unreported, kReporting, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    const std::size_t bytes = std::min(reason.size(), sizeof region_->reason - 1);
    std::memcpy(region_->reason, reason.data(), bytes);
    region_->reason[bytes] = '\0';
    __atomic_store_n(&region_->reporting, kReported, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&region_->stopping, 1, __ATOMIC_RELEASE);
  call();
}

std::string Control::reason() const {
  if (__atomic_load_n(&region_->reporting, __ATOMIC_ACQUIRE) != kReported) return {};
  return {region_->reason, ::strnlen(region_->reason, sizeof region_->reason)};
}

void Control::failed(const std::string& what) {
  if (region_->failures == 0) {
    const std::size_t bytes = std::min(what.size(), sizeof region_->failure - 1);
    std::memcpy(region_->failure, what.data(), bytes);
    region_->failure[bytes] = '\0';
  }
  __atomic_fetch_add(&region_->failures, 1, __ATOMIC_RELEASE);
}

std::string Control::failure() const {
  if (__atomic_load_n(&region_->failures, __ATOMIC_ACQUIRE) == 0) return {};
  return {region_->failure, ::strnlen(region_->failure, sizeof region_->failure)};
}

void Control::rank_exited(std::uint32_t rank, int status) {
  if (rank >= region_.ranks() || __atomic_exchange_n(&region_.rank(rank).has_exited, 1, __ATOMIC_ACQ_REL) != 0) return;
  __atomic_fetch_add(&region_->exited, 1, __ATOMIC_ACQ_REL);
  const std::string who = "rank " + std::to_string(rank);
  const std::uint32_t aborted = region_.rank(rank).abort_code;
  if (aborted)
    stop(who + " called MPI_Abort(" + std::to_string(static_cast<int>(aborted - 1)) + ")");
  else if (status < 0)
    stop(who + " was killed by signal " + std::to_string(-status));
  else if (status > 0)
    stop(who + " exited with code " + std::to_string(status));
  else if (__atomic_load_n(&region_->phase, __ATOMIC_ACQUIRE) == EXN_VIRTUAL)
    stop(who + " exited without MPI_Finalize");
  call();
}

void Control::call() {
  if (exn_call_simulator(region_.get())) futex_wake(&region_->simulator_wake);
}

Control::Progress Control::progress() const {
  const auto seen = [](const std::uint64_t& count) { return __atomic_load_n(&count, __ATOMIC_RELAXED); };
  Progress p{Time::ps(static_cast<std::int64_t>(seen(region_->now_ps))),
             seen(region_->messages),
             seen(region_->packets),
             seen(region_->events),
             __atomic_load_n(&region_->phase, __ATOMIC_ACQUIRE),
             0,
             exited()};
  for (std::uint32_t r = 0; r < region_.ranks(); ++r)
    p.attached += __atomic_load_n(&region_.rank(r).pid, __ATOMIC_RELAXED) != 0;
  return p;
}

}  // namespace exanet
