// SPDX-License-Identifier: Apache-2.0
// Runs small programs as ranks of a simulated machine, each a process that calls the provider's own entry point: what
// libfabric would do, without libfabric. A rank reports its first failure over a pipe and ends; the test fails with
// that text.
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exanet/exanet.h"
#include "runtime/coordinator/coordinator.hpp"

extern "C" struct fi_provider* fi_prov_ini(void);

namespace exanet::conformance {

// In a rank: the value must be what is expected, or the rank fails with file, line and both values.
[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}
template <typename A, typename B>
void expect_equal(const A& got, const B& wanted, const char* text, const char* file, int line) {
  if (!(got == static_cast<A>(wanted))) {
    std::string values;
    if constexpr (std::is_arithmetic_v<A>)
      values = ": got " + std::to_string(got) + ", expected " + std::to_string(static_cast<A>(wanted));
    fail(file, line, text + values);
  }
}
#define EXPECT(condition)                                                          \
  do {                                                                             \
    if (!(condition)) ::exanet::conformance::fail(__FILE__, __LINE__, #condition); \
  } while (0)
#define EXPECT_EQ(got, wanted) \
  ::exanet::conformance::expect_equal((got), (wanted), #got " == " #wanted, __FILE__, __LINE__)
#define EXPECT_OK(call) EXPECT_EQ(static_cast<long>(call), 0L)

// Four boards in a mesh, with round figures near the prototype's: what is asked here is behaviour, not time.
inline MachineConfig machine() {
  MachineConfig m;
  m.topology = {"mesh", {2, 2}};
  m.fabric.router.cycle = Time::ps(6400);
  LinkConfig link;
  link.word_time = Time::ps(6400);
  link.pause_every = 32;
  link.latency = Time::ps(286900);
  m.fabric.links = {link};
  m.ni.library_send = m.ni.library_receive = Time::ps(100000);
  m.ni.store_word = Time::ps(25600);
  m.ni.packetizer = Time::ps(20000);
  m.ni.mailbox = Time::ps(50000);
  m.ni.mailbox_word = Time::ps(6400);
  m.ni.mailbox_read = Time::ps(13300);
  m.ni.dma_start = m.ni.dma_completion = m.ni.memory_read = m.ni.memory_write = Time::ps(50000);
  m.ni.translation = Time::ps(20000);
  m.ni.atomic = Time::ps(30000);
  m.ni.test_step = Time::ps(100000);
  return m;
}

struct Report {
  int status;
  std::string text;
};

inline Report run_rank(int n, const std::string& region, int rank, int pipe_fd,
                       const std::function<void(int, int)>& program) {
  setenv("EXANET_NI", region.c_str(), 1);
  setenv("EXANET_RANK", std::to_string(rank).c_str(), 1);
  std::string text;
  try {
    program(rank, n);
  } catch (const std::exception& e) {
    text = e.what();
  }
  if (!text.empty() && write(pipe_fd, text.data(), text.size()) < 0) return {2, text};
  return {text.empty() ? 0 : 1, text};
}

// Waits for `pid` and reports it to the simulator; kills it when it does not end.
inline std::string reap(Control& control, RankId rank, pid_t pid, int pipe_fd) {
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(pipe_fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  waitpid(pid, &status, 0);
  const int how = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  control.rank_exited(rank, how);
  if (text.empty() && how != 0)
    text = how < 0 ? "killed by signal " + std::to_string(-how) : "exit status " + std::to_string(how);
  return text.empty() ? text : "rank " + std::to_string(rank) + ": " + text;
}

// Every endpoint must exist before anyone is talked to. Ranks of a real run learn that from their launcher; here from a
// shared counter.
class MeetingPoint {
 public:
  MeetingPoint() : page_(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~MeetingPoint() { munmap(page_, sizeof(int)); }
  void meet(int n) {
    int* count = static_cast<int*>(page_);
    __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < n) sched_yield();
  }

 private:
  void* page_;
};

// The ranks are forked before the coordinator's thread exists, and with _Fork(): an ordinary fork would make the child
// one that is no rank. `failure`, if given, becomes what has failed first on the network.
inline std::string run_ranks_once(int n, const std::function<void(int, int)>& program,
                                  const MachineConfig& config = machine(), std::string* failure = nullptr) {
  std::vector<NodeId> placement;
  for (int r = 0; r < n; ++r) placement.push_back(static_cast<NodeId>(r % 4));
  Region region(static_cast<std::uint32_t>(n));
  Control control(region);
  Coordinator coordinator(region, config, placement, {});
  std::vector<pid_t> pids;
  std::vector<int> pipes;
  for (int r = 0; r < n; ++r) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t pid = _Fork();
    if (pid == 0) {
      alarm(300);  // a rank that hangs is killed, and named
      close(ends[0]);
      for (const int other : pipes) close(other);
      _exit(run_rank(n, region.path(), r, ends[1], program).status);
    }
    close(ends[1]);
    pids.push_back(pid);
    pipes.push_back(ends[0]);
  }
  std::thread simulator([&] { coordinator.run(); });
  std::vector<std::thread> reapers;
  std::vector<std::string> texts(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) {
    const auto i = static_cast<std::size_t>(r);
    reapers.emplace_back([&, i] { texts[i] = reap(control, static_cast<RankId>(i), pids[i], pipes[i]); });
  }
  for (std::thread& reaper : reapers) reaper.join();
  simulator.join();
  for (const int end : pipes) close(end);
  std::string all;
  for (const std::string& text : texts) {
    if (!text.empty()) all += text + "\n";
  }
  if (all.empty()) all = control.reason();
  if (failure != nullptr) *failure = control.failure();
  return all;
}

// -- a rank's provider objects ----------------------------------------------------------------------------------------

struct Options {
  std::uint64_t caps = 0;  // 0: everything
  fi_threading threading = FI_THREAD_DOMAIN;
  fi_cq_format format = FI_CQ_FORMAT_TAGGED;
  fi_av_type av_type = FI_AV_TABLE;
  int mr_mode = 0;
  std::uint64_t selective = 0;  // FI_SELECTIVE_COMPLETION
  bool counters = false;
  std::size_t cq_size = 0;
  std::uint64_t tx_op_flags = 0;
  std::size_t tx_size = 0;
};

class Node {
 public:
  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* av = nullptr;
  fid_cq* cq = nullptr;
  fid_ep* ep = nullptr;
  fid_cntr* sends = nullptr;  // with Options::counters
  fid_cntr* receives = nullptr;
  fid_cntr* writes = nullptr;
  fid_cntr* remote_writes = nullptr;
  int rank, size;

  Node(int rank_, int size_, const Options& o = {}) : rank(rank_), size(size_) {
    info = get_info(o);
    fi_fabric_attr wanted = *info->fabric_attr;
    EXPECT_OK(fi_prov_ini()->fabric(&wanted, &fabric, nullptr));
    EXPECT_OK(fi_domain(fabric, info, &domain, nullptr));
    fi_av_attr av_attr{};
    av_attr.type = o.av_type;
    EXPECT_OK(fi_av_open(domain, &av_attr, &av, nullptr));
    std::vector<exanet_addr> names;
    for (int r = 0; r < size; ++r) names.push_back(exanet_address(static_cast<std::uint32_t>(r), 0));
    peers.resize(names.size());
    EXPECT_EQ(fi_av_insert(av, names.data(), names.size(), peers.data(), 0, nullptr), size);
    fi_cq_attr cq_attr{};
    cq_attr.format = o.format;
    cq_attr.size = o.cq_size;
    cq_attr.wait_obj = FI_WAIT_UNSPEC;
    EXPECT_OK(fi_cq_open(domain, &cq_attr, &cq, nullptr));
    EXPECT_OK(fi_endpoint(domain, info, &ep, nullptr));
    EXPECT_OK(fi_ep_bind(ep, &av->fid, 0));
    EXPECT_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | o.selective));
    if (o.counters) bind_counters();
    EXPECT_OK(fi_enable(ep));
  }

  // Ends a rank's use of the provider in order; a leak or a busy object shows here.
  void close() {
    EXPECT_OK(fi_close(&ep->fid));
    for (fid_cntr* counter : {sends, receives, writes, remote_writes}) {
      if (counter) EXPECT_OK(fi_close(&counter->fid));
    }
    EXPECT_OK(fi_close(&cq->fid));
    EXPECT_OK(fi_close(&av->fid));
    EXPECT_OK(fi_close(&domain->fid));
    EXPECT_OK(fi_close(&fabric->fid));
    free_info(info);
    info = nullptr;
  }

  fi_addr_t peer(int r) const { return peers[static_cast<std::size_t>(r)]; }
  fi_addr_t other() const { return peer(1 - rank); }

  // The next completion, those that a barrier came across first; an error entry fails the rank.
  fi_cq_tagged_entry next(fi_addr_t* source = nullptr) {
    Completion done;
    if (set_aside_.empty()) {
      done = read();
    } else {
      done = set_aside_.front();
      set_aside_.pop_front();
    }
    if (source) *source = done.source;
    return done.entry;
  }
  // The next completion, which must be an error.
  fi_cq_err_entry next_error() {
    fi_cq_err_entry error{};
    fi_cq_tagged_entry entry{};
    ssize_t got;
    while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN) {
    }
    if (got == 1) fail(__FILE__, __LINE__, "a success where an error was due, flags " + std::to_string(entry.flags));
    EXPECT_EQ(got, -FI_EAVAIL);
    EXPECT_EQ(fi_cq_readerr(cq, &error, 0), 1);
    return error;
  }
  // Completions until the one with this context; others are dropped.
  fi_cq_tagged_entry wait(const void* context) {
    for (;;) {
      const fi_cq_tagged_entry entry = next();
      if (entry.op_context == context) return entry;
    }
  }
  // Retries a call that says -FI_EAGAIN, driving progress as a caller must.
  template <typename Call>
  void post(Call call) {
    ssize_t rc;
    while ((rc = call()) == -FI_EAGAIN) {
      const ssize_t got = fi_cq_read(cq, nullptr, 0);
      EXPECT(got == -FI_EAGAIN || got == 0);
    }
    EXPECT_OK(rc);
  }

  // Tagged, and out of the way of what tests use. A rank that has left the barrier may already send: what completes
  // meanwhile is set aside for next().
  void barrier() {
    const std::uint64_t tag = 0xba00000000000000ull + round_++;
    char in[64];
    int context;
    for (int r = 0; r < size; ++r) {
      if (r != rank) post([&] { return fi_tinject(ep, nullptr, 0, peer(r), tag + 256 * static_cast<unsigned>(rank)); });
    }
    for (int r = 0; r < size; ++r) {
      if (r == rank) continue;
      fi_msg_tagged m{};
      iovec iov{in, sizeof in};
      m.msg_iov = &iov;
      m.iov_count = 1;
      m.addr = peer(r);
      m.tag = tag + 256 * static_cast<unsigned>(r);
      m.context = &context;
      post([&] { return fi_trecvmsg(ep, &m, FI_COMPLETION); });
      for (Completion done = read(); done.entry.op_context != &context; done = read()) set_aside_.push_back(done);
    }
  }

  fid_mr* expose(void* buf, std::size_t len, std::uint64_t access, std::uint64_t key) {
    fid_mr* mr = nullptr;
    EXPECT_OK(fi_mr_reg(domain, buf, len, access, 0, key, 0, &mr, nullptr));
    return mr;
  }

  static fi_info* get_info(const Options& o) {
    fi_info hints{};
    fi_domain_attr domain_attr{};
    fi_tx_attr tx{};
    fi_rx_attr rx{};
    fi_ep_attr ep_attr{};
    ep_attr.type = FI_EP_RDM;
    domain_attr.threading = o.threading;
    domain_attr.av_type = o.av_type;
    domain_attr.mr_mode = o.mr_mode;
    tx.op_flags = o.tx_op_flags;
    tx.size = o.tx_size;
    hints.caps = o.caps;
    hints.tx_attr = &tx;
    hints.rx_attr = &rx;
    hints.ep_attr = &ep_attr;
    hints.domain_attr = &domain_attr;
    fi_info* info = nullptr;
    EXPECT_OK(fi_prov_ini()->getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, &hints, &info));
    return info;
  }

  static void free_info(fi_info* info) {
    std::free(info->domain_attr->name);
    std::free(info->fabric_attr->name);
    for (void* part :
         {static_cast<void*>(info->src_addr), static_cast<void*>(info->dest_addr), static_cast<void*>(info->tx_attr),
          static_cast<void*>(info->rx_attr), static_cast<void*>(info->ep_attr), static_cast<void*>(info->domain_attr),
          static_cast<void*>(info->fabric_attr), static_cast<void*>(info)})
      std::free(part);
  }

 private:
  struct Completion {
    fi_cq_tagged_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
  };
  std::vector<fi_addr_t> peers;
  unsigned round_ = 0;
  std::deque<Completion> set_aside_;

  Completion read() {
    Completion done;
    ssize_t got;
    while ((got = fi_cq_readfrom(cq, &done.entry, 1, &done.source)) == -FI_EAGAIN) {
    }
    if (got == -FI_EAVAIL) fail(__FILE__, __LINE__, "unexpected error completion " + std::to_string(next_error().err));
    EXPECT_EQ(got, 1);
    return done;
  }

  void bind_counters() {
    fi_cntr_attr attr{};
    const std::pair<fid_cntr**, std::uint64_t> all[] = {
        {&sends, FI_SEND}, {&receives, FI_RECV}, {&writes, FI_WRITE}, {&remote_writes, FI_REMOTE_WRITE}};
    for (const auto& [counter, flag] : all) {
      EXPECT_OK(fi_cntr_open(domain, &attr, counter, nullptr));
      EXPECT_OK(fi_ep_bind(ep, &(*counter)->fid, flag));
    }
  }
};

// Runs `program` on n ranks, once while time stands still (as in MPI_Init) and once in virtual time.
inline void run_ranks(int n, const Options& options, const std::function<void(Node&)>& program) {
  for (const bool timed : {false, true}) {
    CAPTURE(timed);
    MeetingPoint start;
    CHECK_EQ(run_ranks_once(n,
                            [&](int rank, int size) {
                              exanet_ni* ni = nullptr;
                              EXPECT_OK(exanet_open(&ni));
                              auto node = std::make_unique<Node>(rank, size, options);
                              start.meet(size);
                              if (timed) EXPECT_OK(exanet_start(ni));
                              program(*node);
                              if (timed) EXPECT_OK(exanet_finish(ni));
                              node->close();
                            }),
             "");
  }
}
inline void run_ranks(int n, const std::function<void(Node&)>& program) { run_ranks(n, Options{}, program); }

inline std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 31 + seed * 17 + (i >> 8));
  return data;
}

}  // namespace exanet::conformance
