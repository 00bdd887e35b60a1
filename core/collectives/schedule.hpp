// SPDX-License-Identifier: Apache-2.0
// A collective operation as one rank carries it out: messages to send and receive, in stages, each of which begins when
// all of the one before is complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/collectives/collective.hpp"

namespace exanet {

struct ScheduledMessage {
  std::uint32_t peer;  // rank in the communicator
  std::uint64_t bytes;  // of what is sent
  bool sends, ends_stage;
  bool copied = false;  // by the network: what is sent, to the group of ranks `peer`; what is received, from its root
  bool reduces = false;  // not a message: a part, and its result, along the tree `peer` of the interfaces
  bool signals = false;  // has no bytes: its sender is ready

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
  void signal(std::uint32_t to) { messages_.push_back({to, 0, true, false, false, false, true}); }
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

}  // namespace exanet
