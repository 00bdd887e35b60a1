// SPDX-License-Identifier: Apache-2.0
// A run that another process simulates, as who watches over it sees it: the order goes there in a file in memory, and
// the record comes back.
#pragma once

#include <string>

#include "runtime/coordinator/order.hpp"

namespace exanet {

class RemoteRun {
 public:
  // Throws std::system_error when there is no memory for the order.
  RemoteRun(const Region& region, Order& order);
  ~RemoteRun();
  RemoteRun(const RemoteRun&) = delete;
  RemoteRun& operator=(const RemoteRun&) = delete;

  const std::string& path() const { return path_; }

  // Until the other process has simulated the run, or it cannot: false, and nothing has been done. When the run is to
  // stop and that process is gone, `record` stays as it is.
  bool wait(RunRecord& record);
  // The other process has ended, whatever it has done by then. Any thread.
  void left_alone();

 private:
  bool fetch(RunRecord& record) const;

  const Region& region_;
  std::string path_;
  int fd_ = -1;
};

}  // namespace exanet
