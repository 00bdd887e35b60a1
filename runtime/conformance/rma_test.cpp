// SPDX-License-Identifier: Apache-2.0
// Does remote memory access move the right bytes, and only where the target has allowed it?
#include "runtime/conformance/harness.hpp"

using namespace exanet::conformance;

namespace {

constexpr std::uint64_t kWindowKey = 17;
constexpr std::size_t kTransferSizes[] = {1, 8, 32, 33, 256, 4096, 4097, 65536, 1u << 20};

}  // namespace

TEST_CASE("put and get of every size, by offset") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : kTransferSizes) {
      std::vector<unsigned char> window(bytes + 64, 0xee);
      fid_mr* mr = n.expose(window.data(), window.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, kWindowKey);
      n.barrier();
      if (n.rank == 0) {
        const auto out = pattern(bytes, 4);
        std::vector<unsigned char> back(bytes);
        int put, get;
        n.post([&] { return fi_write(n.ep, out.data(), bytes, nullptr, n.other(), 32, kWindowKey, &put); });
        auto done = n.wait(&put);
        EXPECT_EQ(done.flags, FI_RMA | FI_WRITE);
        n.post([&] { return fi_read(n.ep, back.data(), bytes, nullptr, n.other(), 32, kWindowKey, &get); });
        done = n.wait(&get);
        EXPECT_EQ(done.flags, FI_RMA | FI_READ);
        EXPECT(back == out);
      }
      n.barrier();
      if (n.rank == 1) {
        EXPECT(std::memcmp(window.data() + 32, pattern(bytes, 4).data(), bytes) == 0);
        EXPECT_EQ(window[31], 0xee);
        EXPECT_EQ(window[32 + bytes], 0xee);
      }
      EXPECT_OK(fi_close(&mr->fid));
      n.barrier();
    }
  });
}

TEST_CASE("counters that are bound once the endpoint is enabled count what is posted from then on") {
  Options o;
  o.selective = FI_SELECTIVE_COMPLETION;
  run_ranks(2, o, [](Node& n) {
    std::vector<unsigned char> window(64, 0xee);
    fid_mr* mr = n.expose(window.data(), window.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, kKey);
    const std::uint64_t before = 1, value = 42;
    std::uint64_t back = 0;
    n.barrier();
    n.post([&] { return fi_inject_write(n.ep, &before, sizeof before, n.other(), 0, kKey); });
    fi_cntr_attr attr{};
    fid_cntr*& puts = n.writes;
    fid_cntr*& gets = n.receives;
    EXPECT_OK(fi_cntr_open(n.domain, &attr, &puts, nullptr));
    EXPECT_OK(fi_cntr_open(n.domain, &attr, &gets, nullptr));
    EXPECT_OK(fi_ep_bind(n.ep, &puts->fid, FI_WRITE));
    EXPECT_OK(fi_ep_bind(n.ep, &gets->fid, FI_READ));
    n.barrier();
    for (std::uint64_t i = 1; i <= 3; ++i) {
      n.post([&] { return fi_write(n.ep, &value, sizeof value, nullptr, n.other(), 8 * i, kKey, nullptr); });
      EXPECT_OK(fi_cntr_wait(puts, i, -1));
    }
    n.post([&] { return fi_read(n.ep, &back, sizeof back, nullptr, n.other(), 24, kKey, nullptr); });
    EXPECT_OK(fi_cntr_wait(gets, 1, -1));
    EXPECT_EQ(back, value);
    EXPECT_EQ(fi_cntr_read(puts), 3u);
    EXPECT_EQ(fi_ep_bind(n.ep, &n.cq->fid, FI_TRANSMIT), -FI_EOPBADSTATE);
    n.barrier();
    EXPECT_OK(fi_close(&mr->fid));
  });
}

TEST_CASE("a loop that reads a counter, its errors and a queue takes no longer than the write that it waits for") {
  Options o;
  o.selective = FI_SELECTIVE_COMPLETION;
  o.counters = true;
  run_ranks(2, o, [](Node& n) {
    exanet_ni* ni = nullptr;
    EXPECT_OK(exanet_open(&ni));
    std::uint64_t window[2] = {}, value = 7;
    fid_mr* mr = n.expose(window, sizeof window, FI_REMOTE_WRITE, kKey);
    n.barrier();
    if (n.rank == 0) {
      const auto write = [&](auto wait) {
        const std::uint64_t begin = exanet_clock_ps(ni);
        n.post([&] { return fi_write(n.ep, &value, sizeof value, nullptr, n.other(), 8, kKey, nullptr); });
        wait();
        return exanet_clock_ps(ni) - begin;
      };
      const std::uint64_t waited = write([&] { EXPECT_OK(fi_cntr_wait(n.writes, 1, -1)); });
      for (std::uint64_t i = 2; i < 5; ++i) {
        const std::uint64_t polled = write([&] {
          for (std::uint64_t done = 0; done < i;) {
            done = fi_cntr_read(n.writes);
            EXPECT_EQ(fi_cntr_readerr(n.writes), 0u);
            EXPECT_EQ(fi_cq_read(n.cq, nullptr, 0), -FI_EAGAIN);
          }
        });
        EXPECT_EQ(polled, waited);
      }
    }
    n.barrier();
    EXPECT_OK(fi_close(&mr->fid));
  });
}

TEST_CASE("put and get by the target's virtual addresses and keys of the provider's choice") {
  Options basic;
  basic.mr_mode = FI_MR_BASIC;
  run_ranks(2, basic, [](Node& n) {
    EXPECT_EQ(n.info->domain_attr->mr_mode, FI_MR_BASIC);
    std::uint64_t window[8] = {};
    fid_mr* mr = n.expose(window, sizeof window, FI_REMOTE_READ | FI_REMOTE_WRITE, 0);
    std::uint64_t mine[2] = {reinterpret_cast<std::uintptr_t>(window), fi_mr_key(mr)}, theirs[2] = {};
    int context;
    n.post([&] { return fi_tinject(n.ep, mine, sizeof mine, n.other(), 1); });
    n.post([&] { return fi_trecv(n.ep, theirs, sizeof theirs, nullptr, n.other(), 1, 0, &context); });
    n.wait(&context);
    const std::uint64_t value = 1000 + static_cast<unsigned>(n.rank);
    n.post(
        [&] { return fi_write(n.ep, &value, sizeof value, nullptr, n.other(), theirs[0] + 24, theirs[1], &context); });
    n.wait(&context);
    n.barrier();
    EXPECT_EQ(window[3], 1001u - static_cast<unsigned>(n.rank));
    EXPECT_OK(fi_close(&mr->fid));
  });
}

TEST_CASE("what the target did not allow fails at the initiator and touches nothing") {
  run_ranks(2, [](Node& n) {
    std::vector<unsigned char> readable(64, 1), writable(64, 2), hidden(64, 3);
    fid_mr* r = n.expose(readable.data(), 64, FI_REMOTE_READ, 1);
    fid_mr* w = n.expose(writable.data(), 64, FI_REMOTE_WRITE, 2);
    fid_mr* h = n.expose(hidden.data(), 64, FI_SEND | FI_RECV, 3);
    n.barrier();
    if (n.rank == 0) {
      std::vector<unsigned char> local(64, 9);
      int context;
      const auto refused = [&](ssize_t (*call)(Node&, void*, std::uint64_t, std::uint64_t, void*), std::uint64_t at,
                               std::uint64_t key) {
        n.post([&] { return call(n, local.data(), at, key, &context); });
        const auto error = n.next_error();
        EXPECT_EQ(error.err, FI_EACCES);
        EXPECT(error.op_context == &context);
      };
      const auto put = [](Node& m, void* buf, std::uint64_t at, std::uint64_t key, void* c) {
        return fi_write(m.ep, buf, 16, nullptr, m.other(), at, key, c);
      };
      const auto get = [](Node& m, void* buf, std::uint64_t at, std::uint64_t key, void* c) {
        return fi_read(m.ep, buf, 16, nullptr, m.other(), at, key, c);
      };
      const auto add = [](Node& m, void* buf, std::uint64_t at, std::uint64_t key, void* c) {
        return fi_atomic(m.ep, buf, 2, nullptr, m.other(), at, key, FI_UINT64, FI_SUM, c);
      };
      refused(put, 0, 1);        // read-only
      refused(add, 0, 1);
      refused(get, 0, 2);        // write-only
      refused(put, 49, 2);       // one byte beyond the end
      refused(put, ~0ull, 2);    // far beyond, wrapping round
      refused(put, 0, 3);        // registered for local use
      refused(get, 0, 3);
      refused(put, 0, 99);       // no such key
      refused(get, 0, 99);
      for (const unsigned char c : local) EXPECT_EQ(c, 9);
      n.post([&] { return fi_write(n.ep, local.data(), 16, nullptr, n.other(), 48, 2, &context); });  // just inside
      n.wait(&context);
    }
    n.barrier();
    if (n.rank == 1) {
      for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(readable[static_cast<std::size_t>(i)], 1);
        EXPECT_EQ(writable[static_cast<std::size_t>(i)], i < 48 ? 2 : 9);
        EXPECT_EQ(hidden[static_cast<std::size_t>(i)], 3);
      }
    }
    for (fid_mr* mr : {r, w, h}) EXPECT_OK(fi_close(&mr->fid));
  });
}

TEST_CASE("a silent put that is refused is still reported") {
  Options selective;
  selective.selective = FI_SELECTIVE_COMPLETION;
  run_ranks(2, selective, [](Node& n) {
    if (n.rank == 0) {
      const int value = 1;
      n.post([&] { return fi_inject_write(n.ep, &value, sizeof value, n.other(), 0, 12345); });
      const auto error = n.next_error();
      EXPECT_EQ(error.err, FI_EACCES);
      EXPECT(error.op_context == nullptr);
    }
    n.barrier();
  });
}

TEST_CASE("a key is taken until its region is closed") {
  run_ranks(1, [](Node& n) {
    int a = 0, b = 0;
    fid_mr* first = n.expose(&a, sizeof a, FI_REMOTE_READ, 5);
    fid_mr* second = nullptr;
    EXPECT_EQ(fi_mr_key(first), 5u);
    EXPECT_EQ(fi_mr_reg(n.domain, &b, sizeof b, FI_REMOTE_READ, 0, 5, 0, &second, nullptr), -FI_ENOKEY);
    EXPECT_EQ(fi_close(&n.domain->fid), -FI_EBUSY);
    EXPECT_OK(fi_close(&first->fid));
    second = n.expose(&b, sizeof b, FI_REMOTE_READ, 5);
    EXPECT_OK(fi_close(&second->fid));
  });
}

TEST_CASE("a put with remote data notifies the target") {
  run_ranks(2, [](Node& n) {
    std::uint64_t window = 0;
    fid_mr* mr = n.expose(&window, sizeof window, FI_REMOTE_WRITE, kWindowKey);
    n.barrier();
    const std::uint64_t value = 4711;
    int context;
    if (n.rank == 0) {
      n.post(
          [&] { return fi_writedata(n.ep, &value, sizeof value, nullptr, 123, n.other(), 0, kWindowKey, &context); });
      n.wait(&context);
    } else {
      fi_addr_t source;
      const auto done = n.next(&source);
      EXPECT_EQ(done.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
      EXPECT_EQ(done.data, 123u);
      EXPECT(done.op_context == nullptr);
      EXPECT_EQ(window, value);
    }
    n.barrier();
    EXPECT_OK(fi_close(&mr->fid));
  });
}

TEST_CASE("message forms, gathered and injected puts, and a rank's own memory") {
  run_ranks(2, [](Node& n) {
    std::vector<unsigned char> window(256);
    fid_mr* mr = n.expose(window.data(), window.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, kWindowKey);
    n.barrier();
    auto out = pattern(96, 7);
    std::vector<unsigned char> in(96);
    int context;
    const iovec pieces[3] = {{out.data(), 10}, {out.data() + 10, 30}, {out.data() + 40, 56}};
    const iovec into[2] = {{in.data(), 50}, {in.data() + 50, 46}};
    const fi_rma_iov remote{100, 96, kWindowKey};
    fi_msg_rma m{};
    m.msg_iov = pieces;
    m.iov_count = 3;
    m.addr = n.peer(n.rank);
    m.rma_iov = &remote;
    m.rma_iov_count = 1;
    m.context = &context;
    n.post([&] { return fi_writemsg(n.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
    n.wait(&context);
    EXPECT(std::memcmp(window.data() + 100, out.data(), 96) == 0);
    m.msg_iov = into;
    m.iov_count = 2;
    n.post([&] { return fi_readmsg(n.ep, &m, FI_COMPLETION); });
    n.wait(&context);
    EXPECT(in == out);
    const fi_rma_iov too_long{100, 97, kWindowKey};
    m.rma_iov = &too_long;
    EXPECT_EQ(fi_readmsg(n.ep, &m, FI_COMPLETION), -FI_EINVAL);
    const std::vector<unsigned char> big(n.info->tx_attr->inject_size + 1);
    EXPECT_EQ(fi_inject_write(n.ep, big.data(), big.size(), n.other(), 0, kWindowKey), -FI_EINVAL);
    n.barrier();
    EXPECT_OK(fi_close(&mr->fid));
  });
}
