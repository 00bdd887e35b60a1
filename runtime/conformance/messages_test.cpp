// SPDX-License-Identifier: Apache-2.0
// Does a message arrive, whole, once, in order, at whoever it is meant for?
#include "runtime/conformance/harness.hpp"

using namespace exanet::conformance;

namespace {

// Around the eager limit (32 bytes), packet and block sizes, and well into rendezvous.
constexpr std::size_t kSizes[] = {0, 1, 31, 32, 33, 64, 255, 256, 257, 4095, 4096, 4097, 65536, 1u << 20};

}  // namespace

TEST_CASE("tagged messages of every size arrive unchanged") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : kSizes) {
      auto out = pattern(bytes, static_cast<unsigned>(n.rank));
      std::vector<unsigned char> in(bytes + 1, 0xee);
      int sent, received;
      n.post([&] { return fi_trecv(n.ep, in.data(), bytes, nullptr, n.other(), bytes, 0, &received); });
      n.post([&] { return fi_tsend(n.ep, out.data(), bytes, nullptr, n.other(), bytes, &sent); });
      for (int i = 0; i < 2; ++i) {
        fi_addr_t source;
        const auto done = n.next(&source);
        EXPECT(done.op_context == &sent || done.op_context == &received);
        if (done.op_context == &sent) {
          EXPECT_EQ(done.flags, FI_SEND | FI_TAGGED);
          continue;
        }
        EXPECT_EQ(done.flags, FI_RECV | FI_TAGGED);
        EXPECT_EQ(done.len, bytes);
        EXPECT_EQ(done.tag, bytes);
        EXPECT_EQ(source, n.other());
      }
      EXPECT_EQ(in[bytes], 0xee);
      in.pop_back();
      EXPECT(in == pattern(bytes, static_cast<unsigned>(1 - n.rank)));
    }
  });
}

TEST_CASE("untagged messages of every size, unexpected when they arrive") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : kSizes) {
      int context;
      if (n.rank == 0) {
        auto out = pattern(bytes, 5);
        n.post([&] { return fi_send(n.ep, out.data(), bytes, nullptr, n.other(), &context); });
        n.barrier();  // overtakes nothing: the receive below is posted after the message has arrived
        n.wait(&context);
      } else {
        n.barrier();
        std::vector<unsigned char> in(bytes);
        n.post([&] { return fi_recv(n.ep, in.data(), bytes, nullptr, FI_ADDR_UNSPEC, &context); });
        const auto done = n.wait(&context);
        EXPECT_EQ(done.flags, FI_RECV | FI_MSG);
        EXPECT_EQ(done.len, bytes);
        EXPECT(in == pattern(bytes, 5));
      }
    }
  });
}

TEST_CASE("short messages do not overtake long ones of the same sender") {
  run_ranks(2, [](Node& n) {
    constexpr int kCount = 64;
    const auto size_of = [](int i) -> std::size_t { return i % 3 == 0 ? 20000 : i % 3 == 1 ? 4 : 200; };
    std::vector<std::vector<unsigned char>> buffers(kCount);
    std::vector<int> contexts(kCount);
    if (n.rank == 0) {
      for (int i = 0; i < kCount; ++i) {
        buffers[static_cast<std::size_t>(i)] = pattern(size_of(i), static_cast<unsigned>(i));
        n.post([&] {
          return fi_tsend(n.ep, buffers[static_cast<std::size_t>(i)].data(), size_of(i), nullptr, n.other(), 7,
                          &contexts[static_cast<std::size_t>(i)]);
        });
      }
      for (int i = 0; i < kCount; ++i) n.next();
    } else {
      for (int i = 0; i < kCount; ++i) {
        auto& in = buffers[static_cast<std::size_t>(i)];
        in.assign(20000, 0);
        n.post([&] {
          return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 7, 0,
                          &contexts[static_cast<std::size_t>(i)]);
        });
        const auto done = n.next();
        EXPECT_EQ(done.len, size_of(i));
        in.resize(done.len);
        EXPECT(in == pattern(size_of(i), static_cast<unsigned>(i)));
      }
    }
  });
}

TEST_CASE("every rank to every rank, itself included") {
  run_ranks(4, [](Node& n) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1024}}) {
      std::vector<std::vector<unsigned char>> in(static_cast<std::size_t>(n.size)),
          out(static_cast<std::size_t>(n.size));
      for (int r = 0; r < n.size; ++r) {
        auto& buffer = in[static_cast<std::size_t>(r)];
        buffer.resize(bytes);
        n.post([&] { return fi_recv(n.ep, buffer.data(), bytes, nullptr, n.peer(r), &buffer); });
      }
      for (int r = 0; r < n.size; ++r) {
        auto& buffer = out[static_cast<std::size_t>(r)];
        buffer = pattern(bytes, static_cast<unsigned>(n.rank * 16 + r));
        n.post([&] { return fi_send(n.ep, buffer.data(), bytes, nullptr, n.peer(r), &buffer); });
      }
      for (int i = 0; i < 2 * n.size; ++i) n.next();
      for (int r = 0; r < n.size; ++r)
        EXPECT(in[static_cast<std::size_t>(r)] == pattern(bytes, static_cast<unsigned>(r * 16 + n.rank)));
      n.barrier();
    }
  });
}

TEST_CASE("ignored tag bits and directed receives choose among messages that wait") {
  run_ranks(3, [](Node& n) {
    int value = n.rank * 100;
    if (n.rank > 0) {
      for (const std::uint64_t tag : {0x10ull, 0x21ull, 0x12ull}) {
        ++value;
        n.post([&] { return fi_tinject(n.ep, &value, sizeof value, n.peer(0), tag); });
      }
      n.barrier();
      return;
    }
    n.barrier();
    const auto receive = [&](fi_addr_t from, std::uint64_t tag, std::uint64_t ignore) {
      int in = -1, context;
      n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, from, tag, ignore, &context); });
      fi_addr_t source;
      const auto done = n.next(&source);
      EXPECT_EQ((done.tag ^ tag) & ~ignore, 0u);
      EXPECT_EQ(source, n.peer(in / 100));
      return in;
    };
    EXPECT_EQ(receive(n.peer(2), 0x12, 0), 203);
    EXPECT_EQ(receive(n.peer(1), 0x20, 0xf), 102);
    EXPECT_EQ(receive(n.peer(2), 0, ~0ull), 201);
    EXPECT_EQ(receive(n.peer(1), 0x10, 0xf), 101);
    EXPECT_EQ(receive(FI_ADDR_UNSPEC, 0x12, 0), 103);
    EXPECT_EQ(receive(FI_ADDR_UNSPEC, 0, ~0ull), 202);
  });
}

TEST_CASE("tagged and untagged messages never match each other") {
  run_ranks(2, [](Node& n) {
    int plain = 1, tagged = 2;
    if (n.rank == 0) {
      n.post([&] { return fi_inject(n.ep, &plain, sizeof plain, n.other()); });
      n.post([&] { return fi_tinject(n.ep, &tagged, sizeof tagged, n.other(), 0); });
      return;
    }
    int in = 0, context;
    n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &context); });
    n.wait(&context);
    EXPECT_EQ(in, 2);
    n.post([&] { return fi_recv(n.ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, &context); });
    n.wait(&context);
    EXPECT_EQ(in, 1);
  });
}

TEST_CASE("a message longer than its buffer is cut and said to be") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{5000}}) {
      auto data = pattern(bytes, 3);
      int context;
      if (n.rank == 0) {
        n.post([&] { return fi_tsend(n.ep, data.data(), bytes, nullptr, n.other(), 1, &context); });
        n.wait(&context);
      } else {
        std::vector<unsigned char> in(bytes, 0xee);
        n.post([&] { return fi_trecv(n.ep, in.data(), bytes / 2, nullptr, n.other(), 1, 0, &context); });
        const auto error = n.next_error();
        EXPECT_EQ(error.err, FI_ETRUNC);
        EXPECT(error.op_context == &context);
        EXPECT_EQ(error.len, bytes / 2);
        EXPECT_EQ(error.olen, bytes - bytes / 2);
        EXPECT_EQ(error.tag, 1u);
        EXPECT(std::memcmp(in.data(), data.data(), bytes / 2) == 0);
        EXPECT_EQ(in[bytes / 2], 0xee);
      }
    }
  });
}

TEST_CASE("remote data travels with a message, injected or not") {
  run_ranks(2, [](Node& n) {
    int value = 11, in = 0, context;
    const std::uint64_t data = 0x1122334455667788ull;
    if (n.rank == 0) {
      n.post([&] { return fi_tsenddata(n.ep, &value, sizeof value, nullptr, data, n.other(), 1, &context); });
      n.wait(&context);
      n.post([&] { return fi_injectdata(n.ep, &value, sizeof value, data + 1, n.other()); });
      n.post([&] { return fi_tinject(n.ep, &value, sizeof value, n.other(), 2); });
      return;
    }
    n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, n.other(), 1, 0, &context); });
    auto done = n.wait(&context);
    EXPECT_EQ(done.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
    EXPECT_EQ(done.data, data);
    n.post([&] { return fi_recv(n.ep, &in, sizeof in, nullptr, n.other(), &context); });
    done = n.wait(&context);
    EXPECT_EQ(done.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
    EXPECT_EQ(done.data, data + 1);
    n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, n.other(), 2, 0, &context); });
    EXPECT_EQ(n.wait(&context).flags, FI_RECV | FI_TAGGED);
  });
}

TEST_CASE("lists of buffers are gathered and scattered") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{9000}}) {
      auto out = pattern(bytes, 9);
      std::vector<unsigned char> in(bytes);
      int context;
      const std::size_t a = bytes / 5, b = bytes / 2;
      auto* base = n.rank == 0 ? out.data() : in.data();
      const iovec parts[3] = {{base, a}, {base + a, b}, {base + a + b, bytes - a - b}};
      if (n.rank == 0)
        n.post([&] { return fi_tsendv(n.ep, parts, nullptr, 3, n.other(), 1, &context); });
      else
        n.post([&] { return fi_trecvv(n.ep, parts, nullptr, 3, n.other(), 1, 0, &context); });
      const auto done = n.wait(&context);
      if (n.rank == 1) {
        EXPECT_EQ(done.len, bytes);
        EXPECT(in == out);
      }
    }
    const iovec many[5] = {};
    EXPECT_EQ(fi_sendv(n.ep, many, nullptr, 5, n.other(), nullptr), -FI_EINVAL);
  });
}
