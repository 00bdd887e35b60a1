// SPDX-License-Identifier: Apache-2.0
// Does what fails on the network come out of the provider: an error entry with libfabric's errno and a text, counted as
// an error, at each rank that waits?
#include "core/network/lossy_harness.hpp"
#include "runtime/conformance/harness.hpp"

using namespace exanet;
using namespace exanet::conformance;

namespace {

// An eager message of 20 bytes beside its envelope, the last packets of 1000 bytes by rendezvous and of 777 by RDMA,
// and an atomic's operand.
constexpr std::size_t kEager = 20, kRendezvous = 1000, kRdma = 777;
bool loses(const Packet& packet) {
  return packet.payload_bytes == 32 + kEager || packet.payload_bytes == kRendezvous % 256 ||
         packet.payload_bytes == kRdma % 256 || packet.payload_bytes == 8;
}

// Two ranks in virtual time on a machine that loses these packets. Returns what the run says has failed first.
std::string run_losing(const Options& options, const std::function<void(Node&)>& program) {
  MachineConfig losing = machine();
  losing.network = exanet::testing::lossy(loses);
  std::string failure;
  MeetingPoint start;
  CHECK_EQ(run_ranks_once(
               2,
               [&](int rank, int size) {
                 exanet_ni* ni = nullptr;
                 EXPECT_OK(exanet_open(&ni));
                 auto node = std::make_unique<Node>(rank, size, options);
                 start.meet(size);
                 EXPECT_OK(exanet_start(ni));
                 program(*node);
                 EXPECT_OK(exanet_finish(ni));
                 node->close();
               },
               losing, &failure),
           "");
  return failure;
}

void expect_lost(Node& n, const void* context) {
  const fi_cq_err_entry error = n.next_error();
  EXPECT(error.op_context == context);
  EXPECT_EQ(error.err, FI_EIO);
  char text[160];
  EXPECT(std::strstr(fi_cq_strerror(n.cq, error.prov_errno, error.err_data, text, sizeof text), "was lost") != nullptr);
}

void exchange_and_lose(Node& n, std::size_t bytes, std::uint64_t flags) {
  std::vector<unsigned char> out = pattern(bytes, 1), in(bytes);
  int context;
  if (n.rank == 0) {
    fi_msg_tagged m{};
    iovec iov{out.data(), out.size()};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = n.other();
    m.tag = 9;
    m.context = &context;
    n.post([&] { return fi_tsendmsg(n.ep, &m, FI_COMPLETION | flags); });
    expect_lost(n, &context);
    EXPECT_EQ(fi_cntr_readerr(n.sends), 1u);
  } else {
    n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, n.other(), 9, 0, &context); });
    expect_lost(n, &context);
    EXPECT_EQ(fi_cntr_readerr(n.receives), 1u);
    EXPECT(in != out);
  }
  n.barrier();  // the endpoint goes on
}

}  // namespace

TEST_CASE("a message that is lost fails at both ranks") {
  Options options;
  options.counters = true;
  const std::string eager = run_losing(options, [](Node& n) { exchange_and_lose(n, kEager, FI_DELIVERY_COMPLETE); });
  CHECK(eager.find(": send to rank 1, 20 bytes, failed: a packet of it was lost") != std::string::npos);
  CHECK(eager.rfind("rank 0 on node 0 at ", 0) == 0);
  const std::string long_one = run_losing(options, [](Node& n) { exchange_and_lose(n, kRendezvous, 0); });
  CHECK(long_one.find(": receive from rank 0, 1000 bytes, failed: a packet of it was lost") != std::string::npos);
  CHECK(long_one.rfind("rank 1 on node 1 at ", 0) == 0);
}

TEST_CASE("one-sided operations that are lost fail at their initiator") {
  Options options;
  options.counters = true;
  const std::string failure = run_losing(options, [](Node& n) {
    std::vector<unsigned char> window(kRdma), own = pattern(kRdma, 1);
    std::uint64_t operand = 1;
    fid_mr* mr = n.expose(window.data(), window.size(), FI_REMOTE_WRITE | FI_REMOTE_READ, 1);
    int context;
    n.barrier();
    if (n.rank == 0) {
      n.post([&] { return fi_write(n.ep, own.data(), own.size(), nullptr, n.other(), 0, 1, &context); });
      expect_lost(n, &context);
      EXPECT_EQ(fi_cntr_readerr(n.writes), 1u);
      n.post([&] { return fi_read(n.ep, own.data(), own.size(), nullptr, n.other(), 0, 1, &context); });
      expect_lost(n, &context);
      n.post([&] { return fi_atomic(n.ep, &operand, 1, nullptr, n.other(), 0, 1, FI_UINT64, FI_SUM, &context); });
      expect_lost(n, &context);
      EXPECT(own == pattern(kRdma, 1));
    }
    n.barrier();
    EXPECT_OK(fi_close(&mr->fid));
  });
  CHECK(failure.find(": put to rank 1, 777 bytes, failed: ") != std::string::npos);
}
