// SPDX-License-Identifier: Apache-2.0
// A collective operation as one rank carries it out: messages to send and receive, in stages, each of which begins when all of the one before is complete.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace exanet {

struct ScheduledMessage {
  std::uint32_t peer;  // rank in the communicator
  std::uint64_t bytes;  // of what is sent
  bool sends, ends_stage;
  bool copied = false;  // by the network: what is sent, to the group of ranks `peer`; what is received, from its root
  bool reduces = false;  // not a message: a part, and its result, along the tree `peer` of the interfaces
  bool tells = false;  // has no bytes: its sender is ready

  bool to_group() const { return copied && sends; }
};

class Schedule {
 public:
  void send(std::uint32_t to, std::uint64_t bytes) { messages_.push_back({to, bytes, true, false}); }
  void send_to_group(std::uint32_t group, std::uint64_t bytes) {
    messages_.push_back({group, bytes, true, false, true});
  }
  void receive_copy(std::uint32_t root) { messages_.push_back({root, 0, false, false, true}); }
  // That this rank is ready, and that another is.
  void tell(std::uint32_t to) { messages_.push_back({to, 0, true, false, false, false, true}); }
  void hear(std::uint32_t from) { messages_.push_back({from, 0, false, false, false, false, true}); }
  void reduce(std::uint32_t tree, std::uint64_t bytes) { messages_.push_back({tree, bytes, false, true, false, true}); }
  void receive(std::uint32_t from) { messages_.push_back({from, 0, false, false}); }
  // Steps that follow wait for those before.
  void stage() {
    if (!messages_.empty()) messages_.back().ends_stage = true;
  }
  // Both at once, and nothing else.
  void exchange(std::uint32_t to, std::uint64_t bytes, std::uint32_t from) {
    receive(from);
    send(to, bytes);
    stage();
  }
  void send_alone(std::uint32_t to, std::uint64_t bytes) {
    send(to, bytes);
    stage();
  }
  void receive_alone(std::uint32_t from) {
    receive(from);
    stage();
  }
  // Takes the stages of another, whose ranks are called otherwise here.
  template <typename Name>
  void append(const Schedule& other, Name name) {
    for (ScheduledMessage message : other.messages_) {
      if (!message.to_group() && !message.reduces) message.peer = name(message.peer);
      messages_.push_back(message);
    }
  }
  std::uint32_t stages() const {
    return static_cast<std::uint32_t>(
        std::count_if(messages_.begin(), messages_.end(), [](const auto& m) { return m.ends_stage; }));
  }
  void clear() { messages_.clear(); }
  const std::vector<ScheduledMessage>& messages() const { return messages_; }

 private:
  std::vector<ScheduledMessage> messages_;
};

class RankPlaces;

// A collective as a rank that takes part knows it. Sizes are in bytes; of collectives with a size for each rank those are listed.
struct CollectiveCall {
  std::uint32_t ranks = 1, me = 0, root = 0;
  bool built_in = true, commutative = true, in_place = false;
  std::uint64_t element_bytes = 1;
  std::uint64_t bytes = 0;  // the vector, or a rank's block
  std::vector<std::uint64_t> sent, received;  // by rank
  const std::vector<std::uint64_t>* members = nullptr;  // world ranks; nullptr: all of them, by their numbers
  RankPlaces* places = nullptr;  // where they are in the network, if that is known

  std::uint32_t after(std::uint32_t steps) const {
    return static_cast<std::uint32_t>((std::uint64_t{me} + steps) % ranks);
  }
  std::uint32_t before(std::uint32_t steps) const {
    return static_cast<std::uint32_t>((std::uint64_t{me} + ranks - steps % ranks) % ranks);
  }
  std::uint32_t relative() const { return (me + ranks - root) % ranks; }  // to the root
  std::uint32_t absolute(std::uint32_t relative) const { return (relative + root) % ranks; }
  std::uint64_t elements() const { return element_bytes == 0 ? bytes : bytes / element_bytes; }
  // For each rank of the power of two up to all.
  bool has_an_element_each() const { return elements() >= std::bit_floor(ranks); }
  // Bytes of the blocks of all ranks.
  std::uint64_t in_all() const {
    return received.empty() ? bytes * ranks : std::accumulate(received.begin(), received.end(), std::uint64_t{0});
  }
};

}  // namespace exanet
