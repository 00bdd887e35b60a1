// SPDX-License-Identifier: Apache-2.0
// What data centres send: requests and replies, storage, incast, and flows of the sizes that were measured there.
//
// Requests are answered by the receiver's interface at once. Whom a rank asks is drawn from the job's seed, the rank and the round alone.
#include <array>
#include <cmath>
#include <span>

#include "core/engine/random.hpp"
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

// Each fourth rank is a storage server; the others read blocks of `bytes` from random servers (seven times out of ten: a common mix of ours) or
// write them there.
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

struct SizePoint {
  double bytes, percent;  // so many per cent of all flows are at most so long
};

// Distributions as the artefact of HPCC (Li and others, SIGCOMM 2019) tabulates them. Web search: Alizadeh and others, "DCTCP" (2010). Hadoop:
// Roy and others, "Inside the social network's network" (2015). Storage: Alibaba's, published with that artefact (2019).
constexpr SizePoint kWebSearch[] = {{0, 0},       {1e4, 15}, {2e4, 20}, {3e4, 30}, {5e4, 40}, {8e4, 53},
                                    {2e5, 60},    {1e6, 70}, {2e6, 80}, {5e6, 90}, {1e7, 97}, {3e7, 100}};
constexpr SizePoint kHadoop[] = {{0, 0},      {100, 1},   {200, 2},   {300, 5},   {350, 15},  {400, 20},  {500, 30},
                                 {600, 40},   {700, 50},  {1000, 60}, {2000, 67}, {7000, 70}, {3e4, 72},  {5e4, 82},
                                 {8e4, 87},   {1.2e5, 90}, {3e5, 95}, {1e6, 97.5}, {2e6, 99}, {1e7, 100}};
constexpr SizePoint kAliStorage[] = {{0, 0},         {4000, 22.93},  {8000, 69.21},    {16000, 80.61}, {32000, 90.47},
                                     {64000, 93.53}, {128000, 96.77}, {256000, 97.53}, {2e6, 100}};

// Flows to random others, of sizes by a distribution (linear between its points), after pauses drawn from an exponential distribution: open,
// nobody waits for them.
class Flows final : public Service {
 public:
  Flows(const ProgramSpec& spec, std::span<const SizePoint> sizes) : Service(spec), sizes_(sizes) {}
  void sends(std::uint32_t rank, std::uint64_t round, std::uint32_t, std::vector<Sending>& out) const override {
    Random random = draw(rank, round);
    const std::uint32_t to = other(rank, random);
    out.push_back({to, size(random.unit() * 100), 0, false});
  }
  Time pause(std::uint32_t rank, std::uint64_t round, std::uint32_t) const override {
    Random random = draw(rank, ~round);
    return Time::ps(static_cast<std::int64_t>(random.exponential(static_cast<double>(spec_.pause.ps()))));
  }

 private:
  std::uint64_t size(double percent) const {
    std::size_t i = 1;
    while (i + 1 < sizes_.size() && sizes_[i].percent < percent) ++i;
    const SizePoint &below = sizes_[i - 1], &above = sizes_[i];
    const double share = (percent - below.percent) / (above.percent - below.percent);
    return static_cast<std::uint64_t>(std::ceil(below.bytes + share * (above.bytes - below.bytes)));
  }

  std::span<const SizePoint> sizes_;
};

}  // namespace

std::unique_ptr<Program> make_incast_job(const ProgramSpec& s) { return std::make_unique<Incast>(s); }
std::unique_ptr<Program> make_request_reply(const ProgramSpec& s) { return std::make_unique<RequestReply>(s); }
std::unique_ptr<Program> make_storage(const ProgramSpec& s) { return std::make_unique<Storage>(s); }
std::unique_ptr<Program> make_web_search(const ProgramSpec& s) { return std::make_unique<Flows>(s, kWebSearch); }
std::unique_ptr<Program> make_hadoop(const ProgramSpec& s) { return std::make_unique<Flows>(s, kHadoop); }
std::unique_ptr<Program> make_ali_storage(const ProgramSpec& s) { return std::make_unique<Flows>(s, kAliStorage); }

}  // namespace exanet
