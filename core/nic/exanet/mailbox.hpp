// SPDX-License-Identifier: Apache-2.0
// The mailboxes: messages are written to the shared cache one after another, so that a short one cannot overtake a long
// one.
#pragma once

#include <vector>

#include "core/nic/exanet/engine.hpp"

namespace exanet {

class Mailbox {
 public:
  Mailbox(NicContext& context, std::size_t nodes) : context_(context), idle_(nodes) {
    on_visible_ = context.events.add_handler(
        [](void* self, Time now, std::uint32_t, std::uint64_t user) {
          NicContext& its = static_cast<Mailbox*>(self)->context_;
          --its.active;
          its.listener.message_completed(user, Status::kOk, now);
        },
        this);
    on_copy_visible_ = context.events.add_handler(
        [](void* self, Time now, std::uint32_t node, std::uint64_t user) {
          NicContext& its = static_cast<Mailbox*>(self)->context_;
          --its.active;
          its.listener.multicast_completed(user, node, Status::kOk, now);
        },
        this);
    on_failed_ = context.events.add_handler(
        [](void* self, Time now, std::uint32_t status, std::uint64_t user) {
          NicContext& its = static_cast<Mailbox*>(self)->context_;
          --its.active;
          its.listener.message_completed(user, static_cast<Status>(status), now);
        },
        this);
  }

  // The message was lost before it came here. Those before it are visible first.
  void fail(NodeId node, std::uint64_t user, Status status, Time now) {
    const Time visible = max(idle_[node], now) + context_.config.mailbox;
    context_.events.schedule(visible, on_failed_, static_cast<std::uint32_t>(status), user);
  }
  // The message's last word is there; of a copy of a multicast message.
  void write(NodeId node, std::uint32_t bytes, std::uint64_t user, Time now, bool copy = false) {
    Time& idle = idle_[node];
    idle = max(idle, now) + context_.config.mailbox_word * context_.router.words(bytes);
    context_.events.schedule(idle + context_.config.mailbox, copy ? on_copy_visible_ : on_visible_, node, user);
  }
  void write_instantly(std::uint64_t user) { context_.events.schedule(context_.events.now(), on_visible_, 0, user); }

 private:
  NicContext& context_;
  std::vector<Time> idle_;  // by node: its writer is free from then on
  std::uint32_t on_visible_ = 0, on_copy_visible_ = 0, on_failed_ = 0;
};

}  // namespace exanet
