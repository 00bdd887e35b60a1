// SPDX-License-Identifier: Apache-2.0
// Harness of the tests of coordinator and user library: a machine whose ranks are forked children, each running a
// function of the test on libexanet.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/routing/make_topology.hpp"
#include "exanet/exanet.h"
#include "runtime/coordinator/coordinator.hpp"

extern "C" {
#include "runtime/lib/internal.h"
}

namespace exanet::testing {

inline constexpr std::uint64_t kForEver = UINT64_MAX;  // as exanet_wait() takes it

inline MachineConfig small_machine() {
  MachineConfig m;
  m.topology = {"mesh", {2, 2}, {}};
  m.fabric.router.cycle = Time::ps(6400);
  LinkConfig link;
  link.word_time = Time::ps(6400);
  link.latency = Time::ps(260000);
  m.fabric.links = {link, link};
  NiConfig& ni = m.ni;
  ni.library_send = Time::ns(101);
  ni.library_receive = Time::ns(83);
  ni.mpi_send = Time::ns(211);
  ni.mpi_receive = Time::ns(197);
  ni.store_word = Time::ps(25600);
  ni.packetizer = Time::ns(31);
  ni.mailbox = Time::ns(53);
  ni.mailbox_word = Time::ps(6400);
  ni.mailbox_read = Time::ps(13300);
  ni.dma_start = Time::ns(97);
  ni.dma_completion = Time::ns(41);
  ni.memory_read = Time::ns(121);
  ni.memory_write = Time::ns(61);
  ni.translation = Time::ns(17);
  ni.atomic = Time::ns(29);
  ni.test_step = Time::ns(100);
  return m;
}

// Reports of ranks: memory that the test and its children share.
struct Report {
  std::uint64_t values[64][256];
};

class Machine {
 public:
  using Program = std::function<int(exanet_ni*, std::uint32_t rank)>;

  explicit Machine(std::uint32_t ranks, const MachineConfig& config = small_machine(),
                   const Coordinator::Options& options = {})
      : region(ranks), coordinator(region, config, place(ranks, config), options) {
    report = static_cast<Report*>(
        ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  ~Machine() { ::munmap(report, sizeof(Report)); }

  // Runs `program` on every rank until all have ended; returns how long that took. A program's result is its exit
  // status; what hangs is stopped after `limit_s`.
  double run(const Program& program, int limit_s = 60) {
    const auto start = std::chrono::steady_clock::now();
    path = region.path();
    std::vector<pid_t> children;
    for (std::uint32_t r = 0; r < coordinator.ranks(); ++r) children.push_back(start_rank(r, program));
    std::thread guard([&] { watch(children, limit_s); });
    coordinator.run();
    ended = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    guard.join();
    region.unlink();
    return ended;
  }
  bool region_exists() const { return ::access(path.c_str(), F_OK) == 0; }

  Region region;
  Control control{region};
  Coordinator coordinator;
  Report* report;
  std::string path;
  std::vector<int> statuses;
  double ended = 0;

 private:
  static std::vector<NodeId> place(std::uint32_t ranks, const MachineConfig& config) {
    const std::uint32_t nodes = make_topology(config.topology)->node_count();
    std::vector<NodeId> placement;
    for (std::uint32_t r = 0; r < ranks; ++r) placement.push_back(r % nodes);
    return placement;
  }

  pid_t start_rank(std::uint32_t rank, const Program& program) {
    // An ordinary fork would make the child one that is no rank.
    const pid_t parent = ::getpid(), child = ::_Fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(99);
    ::setenv("EXANET_NI", path.c_str(), 1);
    ::setenv("EXANET_RANK", std::to_string(rank).c_str(), 1);
    exanet_ni* ni = nullptr;
    if (exanet_open(&ni) != 0) ::_exit(98);
    ::_exit(program(ni, rank));  // nothing of the test's own may run in a child
  }

  void watch(const std::vector<pid_t>& children, int limit_s) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(limit_s);
    statuses.assign(children.size(), INT32_MIN);
    for (std::size_t left = children.size(); left > 0;) {
      for (std::size_t r = 0; r < children.size(); ++r) {
        int status = 0;
        if (statuses[r] != INT32_MIN || ::waitpid(children[r], &status, WNOHANG) != children[r]) continue;
        statuses[r] = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        --left;
        control.rank_exited(static_cast<RankId>(r), statuses[r]);
      }
      if (std::chrono::steady_clock::now() > limit) {
        control.stop("the test's time is up");
        for (std::size_t r = 0; r < children.size(); ++r)
          if (statuses[r] == INT32_MIN) ::kill(children[r], SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
};

}  // namespace exanet::testing
