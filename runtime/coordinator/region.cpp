// SPDX-License-Identifier: Apache-2.0
// Makes, opens and checks the shared region (region.hpp), and copies to and from other processes' memory.
//
// Limit: a process may read and write another one's memory only where the kernel lets it; ranks allow it to the
// simulator (lib/region.c).
#include "runtime/coordinator/region.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <system_error>

namespace exanet {
namespace {

std::size_t round_up(std::size_t v, std::size_t to) { return (v + to - 1) / to * to; }

}  // namespace

Region::Region(std::uint32_t ranks) {
  fd_ = ::memfd_create("exanet", MFD_CLOEXEC);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make the shared region");
  path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
  const std::size_t due = sizeof(exn_region);
  const std::size_t slots = round_up(due + ranks * sizeof(std::uint32_t), 4096);
  const std::size_t bytes = slots + std::size_t{ranks} * sizeof(exn_rank);
  void* map = MAP_FAILED;
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) == 0)
    map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) {
    const int error = errno;
    ::close(fd_);
    throw std::system_error(error, std::generic_category(),
                            "cannot map the shared region of " + std::to_string(bytes) + " bytes");
  }
  region_ = static_cast<exn_region*>(map);
  region_->version = EXN_VERSION;
  region_->ranks = ranks;
  region_->bytes = bytes;
  region_->simulator_pid = static_cast<std::uint32_t>(::getpid());
  region_->due_offset = static_cast<std::uint32_t>(due);
  region_->rank_offset = static_cast<std::uint32_t>(slots);
  region_->magic = EXN_MAGIC;
  bytes_ = bytes;
  find_parts();
}

Region::Region(const std::string& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status{};
  void* map = MAP_FAILED;
  if (file >= 0 && ::fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) >= sizeof(exn_region))
    map = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  if (file >= 0) ::close(file);
  if (map == MAP_FAILED) throw std::system_error(error, std::generic_category(), "cannot open the shared region");
  region_ = static_cast<exn_region*>(map);
  bytes_ = static_cast<std::size_t>(status.st_size);
  if (region_->magic != EXN_MAGIC || region_->version != EXN_VERSION || region_->bytes != bytes_) {
    ::munmap(region_, bytes_);
    throw std::invalid_argument("the shared region is of another version of ExaNet");
  }
  find_parts();
}

void Region::find_parts() {
  ranks_ = exn_rank_slot(region_, 0);
  due_ = exn_due(region_);
  ranks_count_ = region_->ranks;
}

Region::~Region() {
  unlink();
  ::munmap(region_, bytes_);
}

void Region::unlink() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool read_process(std::uint32_t pid, std::uint64_t addr, std::byte* to, std::size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(addr), bytes};
  return bytes == 0 ||
         ::process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool write_process(std::uint32_t pid, std::uint64_t addr, const std::byte* from, std::size_t bytes) {
  const iovec local{const_cast<std::byte*>(from), bytes}, remote{reinterpret_cast<void*>(addr), bytes};
  return bytes == 0 ||
         ::process_vm_writev(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

void futex_wake(std::uint32_t* word, int most) { ::syscall(SYS_futex, word, FUTEX_WAKE, most, nullptr, nullptr, 0); }

bool futex_wait(std::uint32_t* word, std::uint32_t value, std::int64_t timeout_ns) {
  const timespec timeout{timeout_ns / 1000000000, timeout_ns % 1000000000};
  return ::syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

}  // namespace exanet
