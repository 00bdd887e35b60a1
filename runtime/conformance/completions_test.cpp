// SPDX-License-Identifier: Apache-2.0
// Does everything that ends report as it was asked to: queues in each format, counters, quiet operations, full queues,
// threads?
#include <atomic>

#include "runtime/conformance/harness.hpp"

using namespace exanet::conformance;

TEST_CASE("each completion format carries its fields and not a byte more") {
  for (const fi_cq_format format : {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED}) {
    Options options;
    options.format = format;
    constexpr std::size_t sizes[] = {0, sizeof(fi_cq_entry), sizeof(fi_cq_msg_entry), sizeof(fi_cq_data_entry),
                                     sizeof(fi_cq_tagged_entry)};
    const std::size_t size = sizes[format];
    CHECK_EQ(
        run_ranks_once(1,
                       [&](int rank, int count) {
                         Node n(rank, count, options);
                         int value = 5, in = 0, context;
                         n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, n.peer(0), 9, 0, &context); });
                         n.post([&] { return fi_tinject(n.ep, &value, sizeof value, n.peer(0), 9); });
                         unsigned char raw[128];
                         std::memset(raw, 0xee, sizeof raw);
                         while (fi_cq_read(n.cq, raw, 1) != 1) {
                         }
                         fi_cq_tagged_entry entry{};
                         std::memcpy(&entry, raw, size);
                         EXPECT(entry.op_context == &context);
                         if (format >= FI_CQ_FORMAT_MSG) EXPECT_EQ(entry.len, sizeof value);
                         if (format >= FI_CQ_FORMAT_DATA) EXPECT(entry.buf == &in);
                         if (format >= FI_CQ_FORMAT_TAGGED) EXPECT_EQ(entry.tag, 9u);
                         for (std::size_t i = size; i < sizeof raw; ++i) EXPECT_EQ(raw[i], 0xee);
                         EXPECT_EQ(in, 5);
                         n.close();
                       }),
        "");
  }
}

TEST_CASE("with selective completion only what asks for an entry gets one") {
  Options selective;
  selective.selective = FI_SELECTIVE_COMPLETION;
  run_ranks(2, selective, [](Node& n) {
    std::vector<unsigned char> data(2000), in(2000);
    int quiet, loud;
    const iovec iov{data.data(), data.size()};
    fi_msg m{};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = n.other();
    m.context = &loud;
    if (n.rank == 0) {
      n.post([&] { return fi_send(n.ep, data.data(), data.size(), nullptr, n.other(), &quiet); });
      n.post([&] { return fi_sendmsg(n.ep, &m, FI_COMPLETION); });
      EXPECT(n.next().op_context == &loud);
    } else {
      n.post([&] { return fi_recv(n.ep, in.data(), in.size(), nullptr, n.other(), &quiet); });
      n.post([&] { return fi_recvmsg(n.ep, &m, FI_COMPLETION); });
      EXPECT(n.next().op_context == &loud);
    }
    n.barrier();
    EXPECT_EQ(fi_cq_read(n.cq, nullptr, 0), -FI_EAGAIN);
  });
}

TEST_CASE("counters count, injected and quiet operations too") {
  Options counted;
  counted.counters = true;
  counted.selective = FI_SELECTIVE_COMPLETION;
  run_ranks(2, counted, [](Node& n) {
    constexpr std::uint64_t kCount = 20;
    std::uint64_t window = 0;
    fid_mr* mr = n.expose(&window, sizeof window, FI_REMOTE_WRITE, 1);
    n.barrier();
    const std::uint64_t sent = fi_cntr_read(n.sends), received = fi_cntr_read(n.receives);
    std::vector<unsigned char> data(500);
    if (n.rank == 0) {
      for (std::uint64_t i = 0; i < kCount; ++i) {
        n.post([&] {
          return i % 2 ? fi_send(n.ep, data.data(), data.size(), nullptr, n.other(), nullptr)
                       : fi_inject(n.ep, data.data(), 8, n.other());
        });
        n.post([&] { return fi_write(n.ep, &i, sizeof i, nullptr, n.other(), 0, 1, nullptr); });
        EXPECT_OK(fi_cntr_wait(n.writes, i + 1, -1));
      }
      EXPECT_OK(fi_cntr_wait(n.sends, sent + kCount, -1));
      EXPECT_EQ(fi_cntr_read(n.sends), sent + kCount);
      n.post([&] { return fi_write(n.ep, data.data(), 8, nullptr, n.other(), 0, 99, nullptr); });
      EXPECT_EQ(fi_cntr_wait(n.writes, kCount + 1, -1), -FI_EAVAIL);
      EXPECT_EQ(fi_cntr_readerr(n.writes), 1u);
      EXPECT_EQ(n.next_error().err, FI_EACCES);
    } else {
      for (std::uint64_t i = 0; i < kCount; ++i) {
        n.post([&] { return fi_recv(n.ep, data.data(), data.size(), nullptr, n.other(), nullptr); });
      }
      while (fi_cntr_read(n.receives) < received + kCount) {
      }
      EXPECT_OK(fi_cntr_wait(n.remote_writes, kCount, -1));
      EXPECT_EQ(fi_cntr_wait(n.receives, received + kCount + 1, 1), -FI_ETIMEDOUT);
    }
    n.barrier();
    EXPECT_OK(fi_cntr_set(n.writes, 100));
    EXPECT_OK(fi_cntr_add(n.writes, 11));
    EXPECT_EQ(fi_cntr_read(n.writes), 111u);
    EXPECT_OK(fi_close(&mr->fid));
  });
}

TEST_CASE("delivery complete means that the target has it") {
  run_ranks(2, [](Node& n) {
    int value = 3, in = 0, context;
    const iovec iov{&value, sizeof value};
    fi_msg_tagged m{};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = n.other();
    m.tag = 1;
    m.context = &context;
    if (n.rank == 0) {
      n.post([&] { return fi_tsendmsg(n.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
      EXPECT_EQ(n.wait(&context).flags, FI_SEND | FI_TAGGED);
      n.barrier();
    } else {
      n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, n.other(), 1, 0, &context); });
      n.wait(&context);
      EXPECT_EQ(in, 3);
      n.barrier();
    }
  });
}

TEST_CASE("blocking reads wait for a completion, a signal, or their time") {
  run_ranks(2, [](Node& n) {
    fi_cq_tagged_entry entry{};
    int value = 1, context;
    n.barrier();
    EXPECT_EQ(fi_cq_sread(n.cq, &entry, 1, nullptr, 2), -FI_EAGAIN);
    EXPECT_OK(fi_cq_signal(n.cq));
    EXPECT_EQ(fi_cq_sread(n.cq, &entry, 1, nullptr, -1), -FI_EAGAIN);
    if (n.rank == 0) {
      n.post([&] { return fi_tinject(n.ep, &value, sizeof value, n.other(), 1); });
    } else {
      n.post([&] { return fi_trecv(n.ep, &value, sizeof value, nullptr, n.other(), 1, 0, &context); });
      EXPECT_EQ(fi_cq_sread(n.cq, &entry, 1, nullptr, -1), 1);
      EXPECT(entry.op_context == &context);
    }
    n.barrier();
  });
}

TEST_CASE("a full queue says so and loses nothing") {
  Options small;
  small.cq_size = 8;
  small.tx_size = 8;
  run_ranks(2, small, [](Node& n) {
    constexpr int kCount = 100;
    std::vector<int> in(kCount), contexts(kCount);
    if (n.rank == 0) {
      int posted = 0, done = 0, refused = 0;
      std::vector<int> out(kCount);
      fi_cq_tagged_entry entries[4];
      while (done < kCount) {
        while (posted < kCount) {
          const auto i = static_cast<std::size_t>(posted);
          out[i] = posted;
          const ssize_t rc = fi_tsend(n.ep, &out[i], sizeof(int), nullptr, n.other(), 1, &contexts[i]);
          if (rc == -FI_EAGAIN) {
            ++refused;
            break;
          }
          EXPECT_OK(rc);
          ++posted;
          EXPECT(posted - done <= 16);  // eight under way and eight in the queue
        }
        const ssize_t got = fi_cq_read(n.cq, entries, 4);
        if (got > 0) done += static_cast<int>(got);
      }
      EXPECT(refused > 0);
      EXPECT_EQ(done, kCount);
    } else {
      for (int i = 0; i < kCount; ++i) {
        n.post([&] {
          return fi_trecv(n.ep, &in[static_cast<std::size_t>(i)], sizeof(int), nullptr, n.other(), 1, 0, &contexts[0]);
        });
        n.wait(&contexts[0]);
        EXPECT_EQ(in[static_cast<std::size_t>(i)], i);
      }
    }
  });
}

TEST_CASE("four threads of a rank exchange messages through one endpoint") {
  Options threaded;
  threaded.threading = FI_THREAD_SAFE;
  run_ranks(2, threaded, [](Node& n) {
    constexpr int kThreads = 4, kMessages = 50;
    std::atomic<int> completed{0};
    std::vector<std::thread> threads;
    std::vector<std::string> failures(kThreads);
    int in[kThreads][kMessages];
    int tokens[kThreads][2];
    std::atomic<int> outstanding[kThreads];
    for (auto& o : outstanding) o = 0;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        try {
          for (int i = 0; i < kMessages; ++i) {
            const int value = t * 1000 + i;
            ssize_t rc;
            const auto tag = static_cast<std::uint64_t>(t);
            while ((rc = fi_trecv(n.ep, &in[t][i], sizeof(int), nullptr, n.other(), tag, 0, tokens[t])) == -FI_EAGAIN) {
            }
            EXPECT_OK(rc);
            while ((rc = fi_tinject(n.ep, &value, sizeof value, n.other(), tag)) == -FI_EAGAIN) {
            }
            EXPECT_OK(rc);
            ++outstanding[t];
            // Whoever reads a completion books it for its thread.
            while (outstanding[t] > 0) {
              fi_cq_tagged_entry entry{};
              if (fi_cq_read(n.cq, &entry, 1) == 1) --outstanding[entry.tag];
            }
            EXPECT_EQ(in[t][i], value);
            ++completed;
          }
        } catch (const std::exception& e) {
          failures[static_cast<std::size_t>(t)] = e.what();
          outstanding[t] = 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) {
      if (!failure.empty()) throw std::runtime_error(failure);
    }
    EXPECT_EQ(completed.load(), kThreads * kMessages);
  });
}
