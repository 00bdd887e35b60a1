// SPDX-License-Identifier: Apache-2.0
// Does a transfer read or write what its domain may not? Nodes with several domains, whose pages are there, read-only
// or not at all, and are revoked and put back meanwhile; transfers with addresses of their own domain and of others,
// across pages, some with fences. Each domain's memory holds bytes that say whose they are.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "gateware/ni/tb/ni_equality.hpp"
#include "gateware/ni/tb/ni_network.hpp"
#include "gateware/ni/tb/transfer_traffic.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kDomains = 4, kPages = 24;  // of each domain, with sources and targets among them
constexpr std::uint64_t kTables = 0x70'0000'0000, kFrames = 0x50'0000'0000, kEndFrames = 0x60'0000'0000;

std::uint64_t base_of(unsigned domain) { return kOwn + kWidePage * 16 * domain; }
std::uint64_t frame_of(unsigned domain, unsigned page) {
  return kFrames + kPage * (64 * domain + (page * 7 + domain) % 64);
}
std::uint8_t tag_of(unsigned domain) { return static_cast<std::uint8_t>((domain + 1) << 5); }

class Protection {
 public:
  Protection(std::uint64_t seed, unsigned operations)
      : random_(seed),
        net_(2 + 2 * (seed % 2), {.memory = {.latency_cycles = seed % 3 == 0 ? 100u : 20u},
                                  .tries = 0,
                                  .block_timeout = seed % 5 == 0 ? 0u : 1u,
                                  .fault_tries = static_cast<unsigned>(seed / 2 % 3),
                                  .translate = true}),
        left_(operations),
        nodes_(net_.size()) {
    for (std::size_t n = 0; n < net_.size(); ++n) {
      AxiMemory& memory = *net_.node(n).memory;
      tables_.emplace_back(kTables, [&memory](std::uint64_t at, std::uint64_t entry) { set_word(memory, at, entry); });
      for (unsigned c = 0; c < kContexts; ++c) net_.open_context(n, c, c % kDomains);
      for (unsigned d = 0; d < kDomains; ++d) {
        net_.open_domain(n, d, tables_[n].root(d));
        tables_[n].map(d, kEnds, kEndFrames + kLargePage * d, kLargePage, true);
        for (unsigned p = 0; p < kPages; ++p) {
          for (std::uint64_t i = 0; i < kPage; ++i)
            memory.set(frame_of(d, p) + i, static_cast<std::uint8_t>(tag_of(d) | (random_() & 31)));
          change(n, d, p);
          nodes_[n].pages[d][p].used = nodes_[n].pages[d][p].state;
        }
      }
      net_.node(n).dma->on_read = [this, n](std::uint64_t address) { check(n, address, kReadable); };
      net_.node(n).dma->on_burst = [this, n](const WrittenBeat& beat) { check(n, beat.address, kWritable); };
    }
    net_.run_until_stored();
    run();
  }

  unsigned whole = 0, refused = 0, revocations = 0;
  std::uint64_t lines_read = 0, lines_written = 0, longest = 0;  // longest: cycles of an invalidation

 private:
  enum State { kNone, kReadable, kWritable };
  struct Page {
    State state = kNone, used = kNone;  // as the tables say; the most that may be used until an invalidation is over
    std::uint64_t changed = 0;
  };
  struct Operation {
    unsigned domain, token;
    bool read, fence;
    std::size_t from, to;
    std::uint64_t source, target, word;
    std::uint32_t length;
    std::uint64_t begun;
  };
  struct Node {
    Page pages[kDomains][kPages];
    std::vector<Operation> open;
    unsigned tokens = 0, invalidations = 0;
  };

  unsigned pick(std::uint64_t n) { return static_cast<unsigned>(random_() % n); }

  void change(std::size_t n, unsigned d, unsigned p) {
    Page& page = nodes_[n].pages[d][p];
    page.state = static_cast<State>(std::min(pick(6), 2u));
    page.changed = net_.cycle();
    page.used = std::max(page.used, page.state);
    if (page.state == kNone)
      tables_[n].unmap(d, base_of(d) + kPage * p, kPage);
    else
      tables_[n].map(d, base_of(d) + kPage * p, frame_of(d, p), kPage, page.state == kWritable);
  }
  // The interface touches this address: some domain's page that may be used like that, or the words that report ends.
  void check(std::size_t n, std::uint64_t address, State wanted) {
    ++(wanted == kReadable ? lines_read : lines_written);
    if (wanted == kWritable && address >= kEndFrames && address < kEndFrames + kLargePage * kDomains) return;
    for (unsigned d = 0; d < kDomains; ++d)
      for (unsigned p = 0; p < kPages; ++p)
        if (address / kPage * kPage == frame_of(d, p)) {
          CHECK(nodes_[n].pages[d][p].used >= wanted);
          return;
        }
    FAIL_CHECK("node " << n << " touches " << std::hex << address);
  }
  // What the tables say of bytes of a domain: whether all may be used, and whether some have changed since.
  bool may(std::size_t n, unsigned d, std::uint64_t begin, std::uint32_t length, State wanted, std::uint64_t since,
           bool& changed) {
    bool all = true;
    for (std::uint64_t at = begin / kPage * kPage; at < begin + length; at += kPage) {
      const std::uint64_t p = (at - base_of(d)) / kPage;
      if (at < base_of(d) || p >= kPages) {
        all = false;
        continue;
      }
      all &= nodes_[n].pages[d][p].state >= wanted;
      changed |= nodes_[n].pages[d][p].changed >= since;
    }
    return all;
  }

  void offer(std::size_t n) {
    Node& node = nodes_[n];
    if (left_ == 0 || node.open.size() >= 40 || net_.node(n).stores.size() > 6 || pick(40) != 0) return;
    --left_;
    const unsigned context = pick(kContexts);
    Operation o{};
    o.domain = context % kDomains;
    o.token = node.tokens++ % 4096;
    o.read = pick(2) == 0;
    const std::size_t other = pick(net_.size());
    o.from = o.read ? other : n;
    o.to = o.read ? n : other;
    o.length = 1 + (pick(3) == 0 ? pick(9000) : pick(600));
    // Now and then another domain's addresses.
    o.source = base_of(pick(10) == 0 ? pick(kDomains) : o.domain) + pick(kPages * kPage - 10'000);
    o.target = base_of(pick(10) == 0 ? pick(kDomains) : o.domain) + pick(kPages * kPage - 10'000);
    o.word = (base_of(pick(10) == 0 ? pick(kDomains) : o.domain) + pick(kPages * kPage)) / 8 * 8;
    o.fence = !o.read && pick(2) == 0;
    o.begun = net_.cycle();
    set_word(*net_.node(n).memory, kEndFrames + kLargePage * o.domain + 8 * o.token, 0);
    const std::uint32_t dcid = net_.node(other).dcid;
    spec::Transfer transfer = o.read ? read_of(o.target, o.source, o.length, dcid, o.token)
                                     : transfer_of(o.source, o.target, o.length, dcid, o.token);
    if (o.fence) {
      transfer.set_fence(1);
      net_.fence(n, context, fence_of(o.word, 0x0101'0101'0101'0101 * tag_of(o.domain)));
    }
    net_.transfer(n, context, transfer);
    node.open.push_back(o);
  }
  void look(std::size_t n) {
    std::erase_if(nodes_[n].open, [&](const Operation& o) {
      const std::uint64_t word = word_of(*net_.node(n).memory, kEndFrames + kLargePage * o.domain + 8 * o.token);
      if ((word & 1) == 0) return false;
      const auto failure = static_cast<spec::NackReason>(word >> 4 & 15);
      bool changed = false;
      const bool good = may(o.from, o.domain, o.source, o.length, kReadable, o.begun, changed) &
                        may(o.to, o.domain, o.target, o.length, kWritable, o.begun, changed) &
                        (!o.fence || may(o.to, o.domain, o.word, 8, kWritable, o.begun, changed));
      if (!changed) CHECK(good == (failure == spec::NackReason::kNone));
      if (failure != spec::NackReason::kNone)
        CHECK((failure == spec::NackReason::kUnmapped || failure == spec::NackReason::kReadOnly));
      ++(failure == spec::NackReason::kNone ? whole : refused);
      return true;
    });
  }
  // Some pages change; when the invalidation is over, what the tables said before is not used any more.
  void revoke(std::size_t n) {
    ++revocations;
    for (unsigned i = 0; i < 6; ++i) change(n, pick(kDomains), pick(kPages));
    net_.invalidate(n);
    const std::uint32_t wanted = ++nodes_[n].invalidations;
    // It waits for up to 16 packets to get into the network, and so for receivers that walk to a page for each of
    // theirs.
    const std::uint64_t begun = net_.cycle();
    while (net_.page_counts(n)[3] != wanted) REQUIRE(net_.cycle() - begun < 200'000);
    longest = std::max(longest, net_.cycle() - begun);
    for (auto& domain : nodes_[n].pages)
      for (Page& page : domain) page.used = page.state;
  }
  void run() {
    for (std::uint64_t idle = 0;
         left_ != 0 || std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return !n.open.empty(); });
         ++idle) {
      REQUIRE(idle < 30'000'000);
      for (std::size_t n = 0; n < net_.size(); ++n) offer(n);
      net_.step();
      for (std::size_t n = 0; n < net_.size() && net_.cycle() % 16 == 0; ++n) {
        look(n);
        if (left_ != 0 && pick(400) == 0) revoke(n);
      }
      if (net_.cycle() % 64 == 0)
        for (std::size_t n = 0; n < net_.size(); ++n) net_.take_fault(n);
    }
    unsigned wrong = 0;
    for (std::size_t n = 0; n < net_.size(); ++n)
      for (unsigned d = 0; d < kDomains; ++d)
        for (unsigned p = 0; p < kPages; ++p)
          for (std::uint64_t i = 0; i < kPage; ++i)
            wrong += (net_.node(n).memory->get(frame_of(d, p) + i) & 0xe0) != tag_of(d);
    CHECK(wrong == 0);
  }

  std::mt19937_64 random_;
  NiNetwork net_;
  unsigned left_;
  std::vector<Node> nodes_;
  std::deque<PageTables> tables_;
};

}  // namespace

// EXANET_PROTECTION operations, for a campaign, on seeds from EXANET_PROTECTION_SEED on.
TEST_CASE("pages: no transfer reads or writes what its domain may not, and each reports what has become of it") {
  const std::uint64_t operations = given("EXANET_PROTECTION", in_full() ? 600 : 200);
  std::uint64_t seed = given("EXANET_PROTECTION_SEED", 1), done = 0, whole = 0, refused = 0, revocations = 0, read = 0,
                written = 0, longest = 0;
  for (; done < operations; done += 200, ++seed) {
    CAPTURE(seed);
    const Protection p(seed, 200);
    whole += p.whole, refused += p.refused, revocations += p.revocations;
    read += p.lines_read, written += p.lines_written, longest = std::max(longest, p.longest);
  }
  CHECK(whole + refused == done);
  CHECK(whole > done / 20);
  CHECK(refused > done / 20);
  MESSAGE("transfers " << done << ": whole " << whole << ", refused " << refused << "; revocations " << revocations
                       << " of at most " << longest << " cycles, reads of memory " << read << ", writes " << written
                       << ", seeds up to " << seed - 1);
}
