// SPDX-License-Identifier: Apache-2.0
// Do those atomics exist that should, and do they do what their names say, one at a time?
#include <limits>

#include "runtime/conformance/harness.hpp"

using namespace exanet::conformance;

namespace {

constexpr std::uint64_t kKey = 3;

struct Window {
  fid_mr* mr;
  Node& n;
  Window(Node& node, void* at, std::size_t bytes)
      : mr(node.expose(at, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, kKey)), n(node) {
    n.barrier();
  }
  void close() {
    n.barrier();
    EXPECT_OK(fi_close(&mr->fid));
  }
};

template <typename T>
T fetch(Node& n, int target, fi_datatype type, fi_op op, T operand) {
  T old{};
  int context;
  n.post([&] {
    return fi_fetch_atomic(n.ep, &operand, 1, nullptr, &old, nullptr, n.peer(target), 0, kKey, type, op, &context);
  });
  const auto done = n.wait(&context);
  EXPECT_EQ(done.flags, FI_ATOMIC | FI_READ);
  return old;
}

template <typename T>
T compare(Node& n, int target, fi_datatype type, fi_op op, T operand, T against) {
  T old{};
  int context;
  n.post([&] {
    return fi_compare_atomic(n.ep, &operand, 1, nullptr, &against, nullptr, &old, nullptr, n.peer(target), 0, kKey,
                             type, op, &context);
  });
  n.wait(&context);
  return old;
}

// Each operation of `ops` on a value 12 with operand 10, at the other rank; old value, then the new one.
template <typename T>
void check_arithmetic(fi_datatype type, const std::vector<std::pair<fi_op, T>>& ops) {
  run_ranks(2, [&](Node& n) {
    T window = 12;
    Window w(n, &window, sizeof window);
    if (n.rank == 0) {
      for (const auto& [op, expected] : ops) {
        fetch<T>(n, 1, type, FI_ATOMIC_WRITE, 12);
        EXPECT_EQ(fetch<T>(n, 1, type, op, 10), T{12});
        EXPECT_EQ(fetch<T>(n, 1, type, FI_ATOMIC_READ, 0), expected);
      }
    }
    w.close();
  });
}

}  // namespace

TEST_CASE("every pair of operation and type is either offered by all queries or by none") {
  run_ranks(1, [](Node& n) {
    int offered = 0;
    for (int op = 0; op < FI_ATOMIC_OP_LAST + 2; ++op) {
      for (int type = 0; type < FI_DATATYPE_LAST + 2; ++type) {
        const auto t = static_cast<fi_datatype>(type);
        const auto o = static_cast<fi_op>(op);
        std::size_t count = 0;
        const int valid[3] = {fi_atomicvalid(n.ep, t, o, &count), fi_fetch_atomicvalid(n.ep, t, o, &count),
                              fi_compare_atomicvalid(n.ep, t, o, &count)};
        const std::uint64_t flags[3] = {0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC};
        for (int kind = 0; kind < 3; ++kind) {
          fi_atomic_attr attr{};
          const int queried = fi_query_atomic(n.domain, t, o, &attr, flags[kind]);
          EXPECT_EQ(queried, valid[kind]);
          EXPECT(queried == 0 || queried == -FI_EOPNOTSUPP);
          if (queried) continue;
          ++offered;
          EXPECT(attr.count >= 1);
          EXPECT(attr.size >= 1);
          EXPECT(type < FI_DATATYPE_LAST && op < FI_ATOMIC_OP_LAST);
          EXPECT_EQ(kind == 2, op >= FI_CSWAP);
        }
      }
    }
    EXPECT(offered > 300);
    fi_atomic_attr attr{};
    EXPECT_EQ(fi_query_atomic(n.domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED), -FI_EOPNOTSUPP);
    const std::uint64_t one = 1;
    EXPECT_EQ(fi_atomic(n.ep, &one, 1, nullptr, n.peer(0), 0, kKey, FI_UINT64, FI_ATOMIC_READ, nullptr),
              -FI_EOPNOTSUPP);
    EXPECT_EQ(fi_atomic(n.ep, &one, 0, nullptr, n.peer(0), 0, kKey, FI_UINT64, FI_SUM, nullptr), -FI_EINVAL);
    EXPECT_EQ(fi_atomic(n.ep, &one, 1u << 20, nullptr, n.peer(0), 0, kKey, FI_UINT64, FI_SUM, nullptr), -FI_EINVAL);
  });
}

TEST_CASE("arithmetic on integers and floating-point numbers") {
  check_arithmetic<std::int32_t>(FI_INT32, {{FI_MIN, 10},
                                            {FI_MAX, 12},
                                            {FI_SUM, 22},
                                            {FI_PROD, 120},
                                            {FI_LOR, 1},
                                            {FI_LAND, 1},
                                            {FI_BOR, 14},
                                            {FI_BAND, 8},
                                            {FI_LXOR, 0},
                                            {FI_BXOR, 6},
                                            {FI_ATOMIC_WRITE, 10}});
  check_arithmetic<std::uint64_t>(FI_UINT64, {{FI_MIN, 10}, {FI_SUM, 22}, {FI_BXOR, 6}});
  check_arithmetic<std::int8_t>(FI_INT8, {{FI_SUM, 22}, {FI_PROD, 120}});
  check_arithmetic<double>(FI_DOUBLE, {{FI_MIN, 10}, {FI_MAX, 12}, {FI_SUM, 22}, {FI_PROD, 120}});
  check_arithmetic<float>(FI_FLOAT, {{FI_SUM, 22}});
  check_arithmetic<long double>(FI_LONG_DOUBLE, {{FI_SUM, 22}});
}

TEST_CASE("compare and swap") {
  run_ranks(2, [](Node& n) {
    std::int64_t window = 5;
    Window w(n, &window, sizeof window);
    if (n.rank == 0) {
      const auto now = [&] { return fetch<std::int64_t>(n, 1, FI_INT64, FI_ATOMIC_READ, 0); };
      EXPECT_EQ(compare<std::int64_t>(n, 1, FI_INT64, FI_CSWAP, 9, 4), 5);
      EXPECT_EQ(now(), 5);
      EXPECT_EQ(compare<std::int64_t>(n, 1, FI_INT64, FI_CSWAP, 9, 5), 5);
      EXPECT_EQ(now(), 9);
      compare<std::int64_t>(n, 1, FI_INT64, FI_CSWAP_NE, 6, 9);
      EXPECT_EQ(now(), 9);
      // The comparison is of the given value with the target's: "less" swaps when compare < target.
      compare<std::int64_t>(n, 1, FI_INT64, FI_CSWAP_LT, 7, 9);
      EXPECT_EQ(now(), 9);
      compare<std::int64_t>(n, 1, FI_INT64, FI_CSWAP_LT, 7, 8);
      EXPECT_EQ(now(), 7);
      compare<std::int64_t>(n, 1, FI_INT64, FI_MSWAP, 0xff, 0xf0);
      EXPECT_EQ(now(), 0xf7);
    }
    w.close();
  });
}

TEST_CASE("counts add up when all ranks add at once") {
  run_ranks(4, [](Node& n) {
    std::uint64_t window[4] = {};
    Window w(n, window, sizeof window);
    const std::uint64_t ones[4] = {1, 10, 100, 1000};
    constexpr int kTimes = 25;
    int contexts[kTimes];
    for (int& context : contexts) {
      n.post([&] { return fi_atomic(n.ep, ones, 4, nullptr, n.peer(0), 0, kKey, FI_UINT64, FI_SUM, &context); });
    }
    for (int i = 0; i < kTimes; ++i) EXPECT_EQ(n.next().flags, FI_ATOMIC | FI_WRITE);
    n.barrier();
    if (n.rank == 0) {
      for (int i = 0; i < 4; ++i) EXPECT_EQ(window[i], ones[i] * kTimes * 4);
    }
    w.close();
  });
}

TEST_CASE("lists, message forms and injected atomics") {
  run_ranks(2, [](Node& n) {
    std::uint32_t window[6] = {1, 2, 3, 4, 5, 6};
    Window w(n, window, sizeof window);
    if (n.rank == 0) {
      std::uint32_t add[6] = {10, 20, 30, 40, 50, 60}, old[6] = {};
      const fi_ioc operand[2] = {{add, 2}, {add + 2, 4}};
      fi_ioc result[3] = {{old, 1}, {old + 1, 1}, {old + 2, 4}};
      const fi_rma_ioc remote{0, 6, kKey};
      int context;
      fi_msg_atomic m{};
      m.msg_iov = operand;
      m.iov_count = 2;
      m.addr = n.other();
      m.rma_iov = &remote;
      m.rma_iov_count = 1;
      m.datatype = FI_UINT32;
      m.op = FI_SUM;
      m.context = &context;
      n.post([&] { return fi_fetch_atomicmsg(n.ep, &m, result, nullptr, 3, FI_COMPLETION); });
      n.wait(&context);
      for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(old[i], i + 1);
      n.post([&] { return fi_atomicmsg(n.ep, &m, FI_COMPLETION); });
      n.wait(&context);
      n.post([&] { return fi_inject_atomic(n.ep, add, 1, n.other(), 0, kKey, FI_UINT32, FI_SUM); });
      EXPECT_EQ(fetch<std::uint32_t>(n, 1, FI_UINT32, FI_ATOMIC_READ, 0), 31u);
    }
    n.barrier();
    if (n.rank == 1) {
      for (std::uint32_t i = 1; i < 6; ++i) EXPECT_EQ(window[i], (i + 1) + 20 * (i + 1));
    }
    w.close();
  });
}
