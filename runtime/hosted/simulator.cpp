// SPDX-License-Identifier: Apache-2.0
// Simulates a run in the process that hosts its packed ranks (simulator.h).
//
// Model: the order comes in a file in memory, and the record of the run replaces it there. The region says where the
// simulator is, so that who watches over the run reads the record, or simulates itself when this process cannot.
//
// Limit: an exception ends the run, not the host: nothing is thrown out of here.
#include "runtime/hosted/simulator.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/coordinator/order.hpp"

namespace exanet {
namespace {

class File {
 public:
  explicit File(const char* path) : fd_(::open(path, O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "cannot open the request");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::vector<std::byte> read() const {
    struct stat status{};
    if (::fstat(fd_, &status) != 0) throw std::system_error(errno, std::generic_category(), "cannot read the request");
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (got <= 0) throw std::runtime_error("cannot read the request");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  void replace(const std::vector<std::byte>& bytes) const {
    bool whole = ::ftruncate(fd_, 0) == 0;
    for (std::size_t done = 0; whole && done < bytes.size();) {
      const ssize_t put = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      whole = put > 0;
      done += whole ? static_cast<std::size_t>(put) : 0;
    }
    if (!whole) throw std::system_error(errno, std::generic_category(), "cannot write the record of the run");
  }

 private:
  int fd_;
};

void report(Region& region, std::uint32_t where) {
  __atomic_store_n(&region->where, where, __ATOMIC_RELEASE);
  futex_wake(&region->where, INT_MAX);
}

void simulate(Region& region, const char* order_path, const exn_simulator_calls* calls) {
  std::unique_ptr<File> file;
  std::unique_ptr<Coordinator> coordinator;
  try {
    file = std::make_unique<File>(order_path);
    const std::vector<std::byte> bytes = file->read();
    const Order order = order_of(bytes.data(), bytes.size());
    coordinator = std::make_unique<Coordinator>(region, order.machine, order.placement, order.options, calls);
  } catch (const std::exception&) {
    return report(region, EXN_APART);
  }
  report(region, EXN_HOSTED);
  try {
    coordinator->run();
    RunRecord record = coordinator->record();
    file->replace(to_bytes(record));
  } catch (const std::exception& error) {
    Control(region).stop(std::string("the simulator failed; this is a defect of exanet: ") + error.what());
    file->replace({});
  }
  report(region, EXN_ENDED_THERE);
}

}  // namespace
}  // namespace exanet

extern "C" __attribute__((visibility("default"))) void exn_simulate(const char* region, const char* order,
                                                                    const exn_simulator_calls* calls) {
  try {
    exanet::Region opened{std::string(region)};
    exanet::simulate(opened, order, calls);
  } catch (const std::exception&) {  // what a region that cannot be opened means the host finds out itself
  }
}
