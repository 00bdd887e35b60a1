// SPDX-License-Identifier: Apache-2.0
// Does every broadcast that programs can take reach all buffers, from any root, with ranks that are processes? They ask
// the simulator for their steps and carry them out as under an MPI library, whose messages are the interface's own
// here. Extensions' broadcasts, too.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/collectives/registry.hpp"
#include "runtime/coordinator/forked_ranks.hpp"

extern "C" {
#include "runtime/collectives/steps.h"
#include "runtime/record/library.h"
}

using namespace exanet;
using testing::Machine;

namespace {

// The MPI library of a child: a communicator of `members`, counts of bytes.
exanet_ni* interface_of_child = nullptr;
std::uint16_t endpoint = 0;
std::vector<std::uint32_t> members;

int isend(const void* buffer, long count, long, int to, int tag, long, void*) {
  return exanet_send(interface_of_child, endpoint, exanet_address(members[static_cast<std::size_t>(to)], 0),
                     static_cast<std::uint64_t>(tag), buffer, static_cast<std::size_t>(count), 0, EXANET_TAGGED, 1);
}
int ireceive(void* buffer, long count, long, int from, int tag, long, void*) {
  return exanet_recv(interface_of_child, endpoint, exanet_address(members[static_cast<std::size_t>(from)], 0),
                     static_cast<std::uint64_t>(tag), 0, buffer, static_cast<std::size_t>(count), 0, EXANET_TAGGED, 1);
}
int wait_for(int count, void*, void*) {
  int result = 0;
  for (int done = 0; done < count; ++done) {
    exanet_completion c{};
    if (exanet_wait(interface_of_child, &c, 1, UINT64_MAX) != 1) return 1;
    if (result == 0) result = c.status;
  }
  return result;
}
int blocking_send(const void* buffer, long count, long type, int to, int tag, long comm) {
  const int result = isend(buffer, count, type, to, tag, comm, nullptr);
  return result != 0 ? result : wait_for(1, nullptr, nullptr);
}
int blocking_receive(void* buffer, long count, long type, int from, int tag, long comm, void*) {
  const int result = ireceive(buffer, count, type, from, tag, comm, nullptr);
  return result != 0 ? result : wait_for(1, nullptr, nullptr);
}
const exanet_step_messages kMessages{blocking_send, blocking_receive, isend, ireceive, wait_for};

// Whether the rank has the root's bytes in its buffer.
bool broadcast(std::uint32_t me, std::uint32_t root, std::size_t bytes) {
  const auto ranks = static_cast<std::uint32_t>(members.size());
  std::vector<std::uint32_t> asked(sizeof(exn_tree_question) / sizeof(std::uint32_t) + ranks);
  auto* question = reinterpret_cast<exn_tree_question*>(asked.data());
  question->ranks = ranks;
  question->me = me;
  question->root = root;
  question->is_long = bytes > exanet_eager_max(interface_of_child);
  std::copy(members.begin(), members.end(), question->list);
  exanet_ask_tree(interface_of_child, question);
  std::vector<std::uint8_t> buffer(bytes), wanted(bytes);
  for (std::size_t i = 0; i < bytes; ++i) wanted[i] = static_cast<std::uint8_t>(i * 7 + root + 1);
  if (me == root) buffer = wanted;
  exanet_step_call call{};
  call.by = &kMessages;
  call.buffer = buffer.data();
  call.count = static_cast<long>(bytes);
  return exanet_carry_out(question, &call) == 0 && buffer == wanted;
}

}  // namespace

TEST_CASE("every broadcast for programs reaches all ranks' buffers") {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (!algorithm.for_programs || algorithm.by != CarriedOutBy::messages) continue;
    for (const std::uint32_t ranks : {2u, 5u, 9u}) {
      INFO(algorithm.name << " of " << ranks << " ranks");
      Machine m(ranks, testing::small_machine(), {0, algorithm.name});
      m.run([&](exanet_ni* ni, std::uint32_t rank) {
        interface_of_child = ni;
        exanet_mpi.handle_bytes = 4;
        for (std::uint32_t i = 0; i < ranks; ++i)
          members.push_back(ranks - 1 - i);  // the communicator has another order
        if (exanet_ep_open(ni, EXANET_EP_MESSAGE, &endpoint) != 0) return 1;
        exanet_start(ni);
        for (const std::uint32_t root : {0u, ranks / 2, ranks - 1})
          for (const std::size_t bytes : {std::size_t{24}, exanet_eager_max(ni) + 1})
            if (!broadcast(ranks - 1 - rank, root, bytes)) return 2;
        exanet_finish(ni);
        return 0;
      });
      CHECK(m.control.reason() == "");
      CHECK(m.statuses == std::vector<int>(ranks, 0));
    }
  }
}
