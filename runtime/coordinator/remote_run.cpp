// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/remote_run.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace exanet {
namespace {

constexpr std::int64_t kSpinNs = 50'000'000;
constexpr int kChecksAfterStop = 40;  // the other process answers at once, if it lives

}  // namespace

RemoteRun::RemoteRun(const Region& region, Order& order)
    : region_(region), fd_(::memfd_create("exanet-order", MFD_CLOEXEC)) {
  const std::vector<std::byte> bytes = to_bytes(order);
  if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    const int error = errno;
    if (fd_ >= 0) ::close(fd_);
    throw std::system_error(error, std::generic_category(), "cannot write the request to the process of packed ranks");
  }
  path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
}

RemoteRun::~RemoteRun() { ::close(fd_); }

bool RemoteRun::wait(RunRecord& record) {
  const Control control(region_);
  for (int checks = 0; checks < kChecksAfterStop; checks += control.stopping()) {
    const std::uint32_t where = __atomic_load_n(&region_->where, __ATOMIC_ACQUIRE);
    if (where == EXN_APART) return false;
    if (where == EXN_ENDED_THERE) {
      if (!fetch(record)) Control(control).stop("the simulator failed in the host of packed ranks");
      return true;
    }
    futex_wait(&region_->where, where, kSpinNs);
  }
  return true;
}

void RemoteRun::left_alone() {
  std::uint32_t where = EXN_NOWHERE;
  if (!__atomic_compare_exchange_n(&region_->where, &where, EXN_APART, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
      where == EXN_HOSTED)
    Control(region_).stop("the host of packed ranks, and in it the simulator, has ended before its time");
  futex_wake(&region_->where);
}

bool RemoteRun::fetch(RunRecord& record) const {
  const off_t size = ::lseek(fd_, 0, SEEK_END);
  if (size <= 0) return false;
  const auto bytes = static_cast<std::size_t>(size);
  void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) return false;
  RunRecord fetched;
  try {
    fetched = record_of(static_cast<const std::byte*>(map), bytes);
  } catch (const std::exception&) {
    ::munmap(map, bytes);
    return false;
  }
  ::munmap(map, bytes);
  record = std::move(fetched);
  return true;
}

}  // namespace exanet
