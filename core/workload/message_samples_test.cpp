// SPDX-License-Identifier: Apache-2.0
// Samples of a run of messages over time: are they sums and means of what the run as a whole says, whatever their
// length, and are shares those of the flows that run at each moment?
#include "core/workload/message_samples.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/workload/message_run.hpp"

using namespace exanet;

namespace {

MessageResult sampled(Time every, double load = 0, const char* nic = "exanet") {
  MessageConfig config;
  config.traffic = "permutation";
  config.message_bytes = 1 << 16;
  config.rounds = load > 0 ? 1 : 3;
  config.load = load;
  config.warm_up = config.measure = Time::us(load > 0 ? 500 : 0);
  config.nic = nic;
  config.sample = every;
  const auto run = make_packet_messages({"torus", {4, 4}}, testing::published_fabric(), config);
  REQUIRE(run->run());
  return run->result();
}

std::map<std::pair<NodeId, NodeId>, std::uint64_t> bytes_of(const MessageSamples& samples) {
  std::map<std::pair<NodeId, NodeId>, std::uint64_t> bytes;
  for (const auto& row : samples.flows) bytes[{row.src, row.dst}] += row.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("samples of messages sum up to the run, and change nothing in it") {
  for (const char* nic : {"exanet", "ideal"}) {
    CAPTURE(nic);
    const MessageResult without = sampled(Time(), 0, nic), with = sampled(Time::us(7), 0, nic);
    CHECK(without.completion_ns == with.completion_ns);
    CHECK(without.events == with.events);
    CHECK_FALSE(without.samples.has_value());
    const MessageSamples& samples = with.samples.value();
    CHECK(samples.interval == Time::us(7));
    std::uint64_t total = 0;
    for (const auto& [ends, bytes] : bytes_of(samples)) {
      CHECK(bytes == 3 << 16);
      total += bytes;
    }
    CHECK(total == std::uint64_t{with.senders} * (3 << 16));
    const std::size_t count = samples.link_use.size() / samples.links;
    CHECK(samples.queued.size() == count * samples.watched);
    CHECK(samples.watched == 16);
    // The last interval, which is not over, has no sample of links and queues.
    CHECK(count == static_cast<std::size_t>(samples.end.ps() / samples.interval.ps()));
    for (std::size_t link = 0; link < samples.links; ++link) {
      double busy_ns = 0;
      for (std::size_t i = 0; i < count; ++i)
        busy_ns += static_cast<double>(samples.link_use[i * samples.links + link]) * 7000;
      CHECK(busy_ns <= with.links[link].use * with.completion_ns + 1);
      CHECK(busy_ns >= with.links[link].use * with.completion_ns - 7000);
    }
  }
}

TEST_CASE("shares of samples are those of the flows that run") {
  const MessageSamples samples = sampled(Time::us(7)).samples.value();
  REQUIRE(samples.shares);
  double due = 0, moved = 0;
  for (const auto& row : samples.flows) {
    due += row.share_bytes;
    moved += static_cast<double>(row.bytes);
    CHECK(row.share_bytes * 8e3 / static_cast<double>(samples.interval.ps()) < 10);  // Gb/s of a link
  }
  CHECK(moved <= due);  // a message also takes its way
  CHECK(moved >= 0.8 * due);
}

TEST_CASE("finer samples become coarser ones where there are too many") {
  const MessageSamples coarse = sampled(Time::us(16)).samples.value(), fine = sampled(Time::ns(5)).samples.value();
  CHECK(fine.interval > Time::ns(5));
  CHECK(fine.interval.ps() % 5000 == 0);
  CHECK(fine.link_use.size() / fine.links <= MessageSampler::kMostSamples);
  CHECK(fine.link_use.size() / fine.links > MessageSampler::kMostSamples / 4);
  CHECK(bytes_of(fine) == bytes_of(coarse));
  double fine_ns = 0, coarse_ns = 0, fine_due = 0, coarse_due = 0;
  for (const float use : fine.link_use)
    fine_ns += static_cast<double>(use) * static_cast<double>(fine.interval.ps()) * 1e-3;
  for (const float use : coarse.link_use) coarse_ns += static_cast<double>(use) * 16'000;
  for (const auto& row : fine.flows) fine_due += row.share_bytes;
  for (const auto& row : coarse.flows) coarse_due += row.share_bytes;
  CHECK(std::abs(fine_ns - coarse_ns) < 0.05 * coarse_ns);
  CHECK(std::abs(fine_due - coarse_due) < 1e-6 * coarse_due);
}

TEST_CASE("messages at a load are sampled from the beginning of the run to its end") {
  const MessageResult result = sampled(Time::us(50), 0.3);
  const MessageSamples& samples = result.samples.value();
  CHECK(samples.end >= Time::us(1000));
  CHECK(samples.flows.front().interval == 0);
  std::uint64_t in_window = 0;
  for (const auto& row : samples.flows) in_window += row.interval >= 10 && row.interval < 20 ? row.bytes : 0;
  CHECK(static_cast<double>(in_window) * 8 / 500e3 == doctest::Approx(result.accepted_gbps).epsilon(1e-6));
}
