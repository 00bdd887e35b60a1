// SPDX-License-Identifier: Apache-2.0
// Traffic of data centres: requests and replies, storage, incast, and flows of the sizes that were measured there.
//
// Requests are answered by the receiver's interface at once. Whom a rank asks is drawn from the job's seed, the rank
// and the round alone.
#include "core/engine/random.hpp"
#include "core/workload/flow_sizes.hpp"
#include "core/workload/program.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kRequestBytes = 64;  // a request, or an acknowledgement: a cache line

// One step a round; nobody waits for what is not a reply.
class Service : public Program {
 public:
  using Program::Program;
  std::uint32_t steps() const override { return 1; }
  std::uint32_t receives(std::uint32_t, std::uint64_t, std::uint32_t) const override { return 0; }
  bool answered_by_interface() const override { return true; }

 protected:
  Random draw(std::uint32_t rank, std::uint64_t round) const {
    Random of_rank(spec_.seed, rank);
    return Random(of_rank.next(), round);
  }
  std::uint32_t other(std::uint32_t rank, Random& random) const {
    const std::uint32_t found = random.below(spec_.ranks - 1);
    return found < rank ? found : found + 1;
  }
};

// All others send to rank 0, which acknowledges.
class Incast final : public Service {
 public:
  using Service::Service;
  void sends(std::uint32_t rank, std::uint64_t, std::uint32_t, std::vector<Sending>& out) const override {
    if (rank > 0) out.push_back({0, spec_.bytes, kRequestBytes});
  }
};

// Everybody asks a random other for `bytes`.
class RequestReply final : public Service {
 public:
  using Service::Service;
  void sends(std::uint32_t rank, std::uint64_t round, std::uint32_t, std::vector<Sending>& out) const override {
    Random random = draw(rank, round);
    out.push_back({other(rank, random), kRequestBytes, spec_.bytes});
  }
};

// Each fourth rank is a storage server; the others read blocks of `bytes` from random servers (seven times out of ten:
// a common mix of ours) or write them there.
class Storage final : public Service {
 public:
  using Service::Service;
  void sends(std::uint32_t rank, std::uint64_t round, std::uint32_t, std::vector<Sending>& out) const override {
    if (rank % kEach == 0) return;
    Random random = draw(rank, round);
    const std::uint32_t server = kEach * random.below((spec_.ranks + kEach - 1) / kEach);
    const bool reads = random.below(10) < 7;
    out.push_back({server, reads ? kRequestBytes : spec_.bytes, reads ? spec_.bytes : kRequestBytes});
  }

 private:
  static constexpr std::uint32_t kEach = 4;
};

// Flows to random others, of sizes by a distribution, after gaps drawn from an exponential distribution: open,
// nobody waits for them.
class Flows final : public Service {
 public:
  Flows(const ProgramSpec& spec, const char* sizes) : Service(spec), sizes_(flow_sizes(sizes)) {}
  void sends(std::uint32_t rank, std::uint64_t round, std::uint32_t, std::vector<Sending>& out) const override {
    Random random = draw(rank, round);
    const std::uint32_t to = other(rank, random);
    out.push_back({to, sizes_.at(random.unit() * 100), 0, false});
  }
  Time compute_gap(std::uint32_t rank, std::uint64_t round, std::uint32_t) const override {
    Random random = draw(rank, ~round);
    return Time::ps(static_cast<std::int64_t>(random.exponential(static_cast<double>(spec_.compute_gap.ps()))));
  }

 private:
  const FlowSizes& sizes_;
};

std::unique_ptr<Program> make_incast(const ProgramSpec& s) { return std::make_unique<Incast>(s); }
std::unique_ptr<Program> make_request_reply(const ProgramSpec& s) { return std::make_unique<RequestReply>(s); }
std::unique_ptr<Program> make_storage(const ProgramSpec& s) { return std::make_unique<Storage>(s); }
std::unique_ptr<Program> make_web_search(const ProgramSpec& s) { return std::make_unique<Flows>(s, "web-search"); }
std::unique_ptr<Program> make_hadoop(const ProgramSpec& s) { return std::make_unique<Flows>(s, "hadoop"); }
std::unique_ptr<Program> make_ali_storage(const ProgramSpec& s) { return std::make_unique<Flows>(s, "ali-storage"); }

}  // namespace

namespace programs {

std::vector<ProgramKind> services() {
  return {
      {"incast", "`bytes` to rank 0, which acknowledges", make_incast},
      {"request-reply", "64 bytes to a random other, whose interface answers with `bytes`", make_request_reply},
      {"storage", "three of four ranks: a read (70 %) or a write of `bytes` at a random one of the others",
       make_storage},
      {"web-search", "a flow to a random other after a pause, of a size of DCTCP's web search; nobody waits",
       make_web_search},
      {"hadoop", "a flow to a random other after a pause, of a size of Facebook's Hadoop; nobody waits", make_hadoop},
      {"ali-storage", "a flow to a random other after a pause, of a size of Alibaba's storage; nobody waits",
       make_ali_storage},
  };
}

}  // namespace programs

}  // namespace exanet
