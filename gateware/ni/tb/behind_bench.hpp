// SPDX-License-Identifier: Apache-2.0
// Verilated nodes whose processes keep messages behind transfers. Each message carries a token, by which the mailboxes
// say what came.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "gateware/ni/tb/transfer_traffic.hpp"

namespace exanet::gateware {

using Reason = spec::NackReason;
using Tokens = std::vector<std::uint64_t>;

inline constexpr unsigned kSlots = 4;  // of a context
inline constexpr unsigned kAllFree = 0xf;
// Mailboxes of each node: of kDomain, of the domain behind it, of nobody, and of kDomain with one entry.
inline constexpr unsigned kMailbox = 3, kOthersMailbox = 4, kClosedMailbox = 5, kSmallMailbox = 6;
inline constexpr unsigned kLogEntries = 12;
// Memory refuses what is here: bytes that are read, bytes that are written, words of ends.
inline constexpr std::uint64_t kRefusesOwn = 0x1f'0000'0000, kRefusesTarget = 0x2f'0000'0000,
                               kRefusesWord = 0x3f'0000'0000;
inline constexpr std::uint64_t kRegion = 0x1'0000'0000;  // of each of these, and of each mailbox

inline std::uint64_t ring_of(unsigned mailbox) { return 0x60'0000'0000 + kRegion * mailbox; }
inline unsigned code_of(Reason reason) { return static_cast<unsigned>(reason); }

struct TokenMessage {
  std::uint64_t token = 0;
  std::size_t to = 1;
  unsigned mailbox = kMailbox, length = 16;
  bool behind = true;
};

inline spec::Transfer naming(spec::Transfer transfer, unsigned slot) {
  transfer.set_message(1);
  transfer.set_message_slot(slot);
  return transfer;
}

class BehindBench : public NiNetwork {
 public:
  explicit BehindBench(std::size_t nodes = 2, NiNetworkConfig config = {}, bool two_dimensions = false)
      : NiNetwork(nodes, std::move(config), two_dimensions), filled_(nodes), readers_(nodes) {
    const auto refused = [](std::uint64_t address) {
      for (const std::uint64_t region : {kRefusesOwn, kRefusesTarget, kRefusesWord})
        if (address / kRegion == region / kRegion) return true;
      return false;
    };
    for (std::size_t n = 0; n < nodes; ++n) {
      open(n);
      node(n).memory->refuses = node(n).dma->refuses_read = refused;
    }
    run_until_stored();
  }
  // What the kernel writes at the start; slots are filled from the first one on.
  void open(std::size_t n) {
    for (unsigned context = 0; context < kContexts; ++context) open_context(n, context, kDomain);
    open_mailbox(n, kMailbox, kDomain, ring_of(kMailbox), kLogEntries);
    open_mailbox(n, kOthersMailbox, kDomain + 1, ring_of(kOthersMailbox), kLogEntries);
    open_mailbox(n, kSmallMailbox, kDomain, ring_of(kSmallMailbox), 0);
    filled_[n].fill(0);
  }

  // Stores a message, its last store in `cycle`; the slot that it is in, unless it is refused.
  unsigned put(std::size_t n, unsigned context, const TokenMessage& message, std::uint64_t cycle = 0) {
    for (unsigned at = 0; at < message.length; at += 16) {
      Store bytes{0, page(context) + at, {}, 0xffff};
      for (unsigned i = at; i < std::min(at + 16, message.length); ++i) bytes.data[i - at] = byte_at(message.token, i);
      store(n, bytes);
    }
    send(n, context, node(message.to).dcid, message.mailbox, message.length, cycle, message.behind);
    return filled_[n][context]++ % kSlots;
  }
  unsigned next_slot(std::size_t n, unsigned context) const { return filled_[n][context] % kSlots; }

  spec::Transfer write_to(std::size_t to, unsigned token, std::uint32_t length = 64) {
    return transfer_of(kOwn, kTarget, length, node(to).dcid, token);
  }
  spec::Transfer refused_by_memory(std::size_t to, unsigned token) {
    return transfer_of(kRefusesOwn, kTarget, 64, node(to).dcid, token);
  }
  // A transfer that sends the message in this slot, and does nothing else.
  spec::Transfer no_bytes(unsigned slot) {
    spec::Transfer transfer = naming(write_to(0, 0, 0), slot);
    transfer.set_notify(0);
    return transfer;
  }

  // Runs until the transfer of this node has ended, for this reason if it has to fail.
  void until_ended(std::size_t n, unsigned token, Reason reason = Reason::kNone) {
    for (unsigned cycles = 0; end_of(*node(n).memory, token).done() == 0; ++cycles) {
      REQUIRE(cycles < 1'000'000);  // many packets that are lost in a row are sent again ever later
      step();
    }
    CHECK(end_of(*node(n).memory, token).failure() == code_of(reason));
  }
  // Runs until this context has all its slots again.
  void until_free(std::size_t n, unsigned context) {
    for (const std::uint64_t begin = cycle(); status(n, context).free_slots() != kAllFree;)
      REQUIRE(cycle() - begin < 400'000);
  }
  // Runs until the kernel's changes of this node are over.
  void until_changed(std::size_t n) {
    run_until_stored();
    for (const std::uint64_t begin = cycle(); changes(n) != 0;) REQUIRE(cycle() - begin < 400'000);
  }
  // Tokens that have come to a mailbox since the last look.
  Tokens come(std::size_t n, unsigned mailbox = kMailbox) {
    Tokens tokens;
    while (const auto message = reader(n, mailbox).poll(*node(n).memory)) {
      std::uint64_t token = 0;
      const std::size_t length = message->bytes.size();
      for (unsigned i = 0; i < std::min<std::size_t>(8, length); ++i)
        token |= std::uint64_t{message->bytes[i]} << 8 * i;
      unsigned wrong = 0;
      for (unsigned i = 8; i < length; ++i) wrong += message->bytes[i] != byte_at(token, i);
      CHECK(wrong == 0);
      tokens.push_back(token);
    }
    return tokens;
  }
  // Runs until so many have come to a mailbox.
  Tokens until_come(std::size_t n, std::size_t count = 1, unsigned mailbox = kMailbox) {
    Tokens tokens;
    for (unsigned cycles = 0;; ++cycles) {
      const Tokens more = come(n, mailbox);
      tokens.insert(tokens.end(), more.begin(), more.end());
      if (tokens.size() >= count) return tokens;
      REQUIRE(cycles < 400'000);
      step();
    }
  }
  // Runs until as many as these have come, which they have to be.
  void until_these_come(std::size_t n, const Tokens& tokens, unsigned mailbox = kMailbox) {
    const Tokens came = until_come(n, tokens.size(), mailbox);
    CHECK(came == tokens);
  }
  // Gives back the entries of what has come.
  void give_back(std::size_t n, unsigned mailbox = kMailbox) { release(n, 0, mailbox, reader(n, mailbox).place()); }

  // All slots of contexts from this one on are free, and so many messages of each have failed.
  void check_idle(std::size_t n, unsigned failed = 0, unsigned from = 0) {
    for (unsigned context = from; context < kContexts; ++context) {
      const spec::NiStatus status = this->status(n, context);
      CHECK(status.free_slots() == kAllFree);
      CHECK(status.failed() == failed);
    }
  }

 private:
  static std::uint8_t byte_at(std::uint64_t token, unsigned i) {
    return static_cast<std::uint8_t>(i < 8 ? token >> 8 * i : token * 7 + i);
  }
  MailboxReader& reader(std::size_t n, unsigned mailbox) {
    const unsigned log_entries = mailbox == kSmallMailbox ? 0 : kLogEntries;
    return readers_[n].try_emplace(mailbox, ring_of(mailbox), log_entries).first->second;
  }

  std::vector<std::array<unsigned, kContexts>> filled_;  // slots, so far
  std::vector<std::map<unsigned, MailboxReader>> readers_;
};

}  // namespace exanet::gateware
