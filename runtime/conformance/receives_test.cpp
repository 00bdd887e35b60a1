// SPDX-License-Identifier: Apache-2.0
// The ways of receiving beyond the plain one: look first, take later, drop, give up, one buffer for many messages.
#include "runtime/conformance/harness.hpp"

using namespace exanet::conformance;

namespace {

fi_msg_tagged tagged_receive(iovec* iov, fi_addr_t from, std::uint64_t tag, void* context) {
  fi_msg_tagged m{};
  m.msg_iov = iov;
  m.iov_count = iov ? 1 : 0;
  m.addr = from;
  m.tag = tag;
  m.context = context;
  return m;
}

// Peeks until the message is there: in virtual time a message takes its while.
fi_cq_tagged_entry peek_until_found(Node& n, std::uint64_t tag, std::uint64_t flags, void* context) {
  for (;;) {
    const fi_msg_tagged m = tagged_receive(nullptr, n.other(), tag, context);
    n.post([&] { return fi_trecvmsg(n.ep, &m, FI_PEEK | flags); });
    fi_cq_tagged_entry entry{};
    ssize_t got;
    while ((got = fi_cq_read(n.cq, &entry, 1)) == -FI_EAGAIN) {
    }
    if (got == 1) return entry;
    fi_cq_err_entry error{};
    EXPECT_EQ(fi_cq_readerr(n.cq, &error, 0), 1);
    EXPECT_EQ(error.err, FI_ENOMSG);
    EXPECT(error.op_context == context);
  }
}

}  // namespace

TEST_CASE("peek reports a message and leaves it") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : {std::size_t{20}, std::size_t{3000}}) {
      auto data = pattern(bytes, 1);
      int context;
      if (n.rank == 0) {
        n.post([&] { return fi_tsenddata(n.ep, data.data(), bytes, nullptr, 77, n.other(), 5, &context); });
        n.wait(&context);
        continue;
      }
      const auto seen = peek_until_found(n, 5, 0, &context);
      EXPECT_EQ(seen.len, bytes);
      EXPECT_EQ(seen.tag, 5u);
      EXPECT_EQ(seen.data, 77u);
      std::vector<unsigned char> in(bytes);
      n.post([&] { return fi_trecv(n.ep, in.data(), bytes, nullptr, n.other(), 5, 0, &context); });
      EXPECT_EQ(n.wait(&context).len, bytes);
      EXPECT(in == data);
    }
  });
}

TEST_CASE("a claimed message is kept for the receive with the same context, past later receives") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : {std::size_t{20}, std::size_t{3000}}) {
      auto first = pattern(bytes, 1), second = pattern(bytes, 2);
      int context, context2;
      if (n.rank == 0) {
        n.post([&] { return fi_tsend(n.ep, first.data(), bytes, nullptr, n.other(), 5, &context); });
        n.post([&] { return fi_tsend(n.ep, second.data(), bytes, nullptr, n.other(), 5, &context2); });
        n.next();
        n.next();
        continue;
      }
      peek_until_found(n, 5, FI_CLAIM, &context);
      std::vector<unsigned char> in(bytes);
      n.post([&] { return fi_trecv(n.ep, in.data(), bytes, nullptr, n.other(), 5, 0, &context2); });
      n.wait(&context2);
      EXPECT(in == second);
      iovec iov{in.data(), bytes};
      const fi_msg_tagged m = tagged_receive(&iov, n.other(), 5, &context);
      n.post([&] { return fi_trecvmsg(n.ep, &m, FI_CLAIM); });
      n.wait(&context);
      EXPECT(in == first);
    }
  });
}

TEST_CASE("discarded messages are gone, and their senders go on") {
  run_ranks(2, [](Node& n) {
    for (const std::size_t bytes : {std::size_t{20}, std::size_t{3000}}) {
      auto data = pattern(bytes, 1);
      int context, last;
      if (n.rank == 0) {
        for (int i = 0; i < 2; ++i) {
          n.post([&] { return fi_tsend(n.ep, data.data(), bytes, nullptr, n.other(), 5, &context); });
          n.wait(&context);
        }
        n.barrier();
        n.barrier();
        continue;
      }
      peek_until_found(n, 5, FI_DISCARD, &context);
      peek_until_found(n, 5, FI_CLAIM, &context);
      const fi_msg_tagged m = tagged_receive(nullptr, n.other(), 5, &context);
      n.post([&] { return fi_trecvmsg(n.ep, &m, FI_CLAIM | FI_DISCARD); });
      n.wait(&context);
      n.barrier();
      const fi_msg_tagged none = tagged_receive(nullptr, n.other(), 5, &last);
      n.post([&] { return fi_trecvmsg(n.ep, &none, FI_PEEK); });
      const auto error = n.next_error();
      EXPECT(error.op_context == &last);
      EXPECT_EQ(error.err, FI_ENOMSG);
      n.barrier();
    }
  });
}

TEST_CASE("a receive can be canceled as long as nothing matched it") {
  run_ranks(2, [](Node& n) {
    int in[2] = {}, contexts[2], other;
    if (n.rank == 1) {
      EXPECT_EQ(fi_cancel(&n.ep->fid, &other), -FI_ENOENT);
      n.post([&] { return fi_trecv(n.ep, &in[0], sizeof in[0], nullptr, n.other(), 1, 0, &contexts[0]); });
      n.post([&] { return fi_trecv(n.ep, &in[1], sizeof in[1], nullptr, n.other(), 1, 0, &contexts[1]); });
      EXPECT_OK(fi_cancel(&n.ep->fid, &contexts[0]));
      const auto error = n.next_error();
      EXPECT_EQ(error.err, FI_ECANCELED);
      EXPECT(error.op_context == &contexts[0]);
      n.barrier();
      n.wait(&contexts[1]);
      EXPECT_EQ(in[1], 42);
    } else {
      n.barrier();
      const int value = 42;
      n.post([&] { return fi_tinject(n.ep, &value, sizeof value, n.other(), 1); });
    }
  });
}

TEST_CASE("one multi-receive buffer takes messages one behind the other and is given back when it is nearly full") {
  run_ranks(2, [](Node& n) {
    constexpr std::size_t kBuffer = 4096, kLeast = 700, kBytes = 700;
    constexpr int kMessages = 6;
    int contexts[2];
    if (n.rank == 0) {
      n.barrier();
      for (int i = 0; i < kMessages; ++i) {
        auto data = pattern(kBytes, static_cast<unsigned>(i));
        n.post([&] { return fi_send(n.ep, data.data(), kBytes, nullptr, n.other(), &contexts[0]); });
        n.wait(&contexts[0]);
      }
      return;
    }
    EXPECT_OK(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &kLeast, sizeof kLeast));
    std::size_t least = 0, size = sizeof least;
    EXPECT_OK(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &size));
    EXPECT_EQ(least, kLeast);
    std::vector<unsigned char> buffers[2] = {std::vector<unsigned char>(kBuffer), std::vector<unsigned char>(kBuffer)};
    for (int b = 0; b < 2; ++b) {
      const iovec iov{buffers[b].data(), kBuffer};
      fi_msg m{};
      m.msg_iov = &iov;
      m.iov_count = 1;
      m.addr = FI_ADDR_UNSPEC;
      m.context = &contexts[b];
      n.post([&] { return fi_recvmsg(n.ep, &m, FI_MULTI_RECV | FI_COMPLETION); });
    }
    n.barrier();
    // Five messages leave 596 bytes, too little for the sixth, which goes into the second buffer.
    int released = 0;
    for (int i = 0; i < kMessages || released == 0;) {
      const auto done = n.next();
      if (done.flags & FI_MULTI_RECV) {
        EXPECT(done.op_context == &contexts[0]);
        ++released;
      }
      if (!(done.flags & FI_RECV)) continue;
      const int b = i < 5 ? 0 : 1;
      EXPECT(done.op_context == &contexts[b]);
      EXPECT_EQ(done.len, kBytes);
      EXPECT(done.buf == buffers[b].data() + kBytes * static_cast<std::size_t>(i % 5));
      EXPECT(std::memcmp(done.buf, pattern(kBytes, static_cast<unsigned>(i)).data(), kBytes) == 0);
      ++i;
    }
    EXPECT_EQ(released, 1);
    EXPECT_OK(fi_cancel(&n.ep->fid, &contexts[1]));
    const auto error = n.next_error();
    EXPECT_EQ(error.err, FI_ECANCELED);
    EXPECT_EQ(error.flags & FI_MULTI_RECV, FI_MULTI_RECV);
  });
}
