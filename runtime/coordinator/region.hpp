// SPDX-License-Identifier: Apache-2.0
// The shared region's life on the simulator's side: memory that ranks, and a simulator in their host, open by its path
// under /proc and that goes with the process that made it, however that ends; and bulk access to ranks' memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "exanet/shm.h"

namespace exanet {

class Region {
 public:
  // Throws std::system_error when the region cannot be made (no space, no permission).
  explicit Region(std::uint32_t ranks);
  // One that another process has made. Throws std::system_error, std::invalid_argument (it is of another version).
  explicit Region(const std::string& path);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  exn_region* operator->() const { return region_; }
  exn_region* get() const { return region_; }
  exn_rank& rank(std::uint32_t r) const { return ranks_[r]; }
  std::uint32_t ranks() const { return ranks_count_; }
  std::uint32_t* due() const { return due_; }
  const std::string& path() const { return path_; }
  void unlink();  // takes the path away; those who have the region keep it

 private:
  void find_parts();

  std::string path_;
  int fd_ = -1;
  // Kept here: what lies in the region itself a rank may have overwritten.
  exn_region* region_ = nullptr;
  exn_rank* ranks_ = nullptr;
  std::uint32_t* due_ = nullptr;
  std::uint32_t ranks_count_ = 0;
  std::size_t bytes_ = 0;
};

// False when the process is gone or the address is not mapped there.
bool read_process(std::uint32_t pid, std::uint64_t addr, std::byte* to, std::size_t bytes);
bool write_process(std::uint32_t pid, std::uint64_t addr, const std::byte* from, std::size_t bytes);

void futex_wake(std::uint32_t* word, int most = 1);
// False on timeout.
bool futex_wait(std::uint32_t* word, std::uint32_t value, std::int64_t timeout_ns);

}  // namespace exanet
