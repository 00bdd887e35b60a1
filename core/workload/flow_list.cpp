// SPDX-License-Identifier: Apache-2.0
// Reads lists of flows as text. Limits: a flow follows flows of any place but its own; a cycle of such waits is
// refused.
#include "core/workload/flow_list.hpp"

#include <charconv>
#include <vector>

#include "core/config/error.hpp"

namespace exanet {

namespace {

constexpr std::string_view kName = "flows:";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40, kLatestPs = std::uint64_t{1} << 62;

[[noreturn]] void fail(std::size_t flow, const std::string& what) {
  throw ConfigError("pattern",
                    "flow " + std::to_string(flow) + " of the list: " + what + ": give a file of flows, flows:FILE");
}

// The next number of `text`, and what stands behind it; at most `most`.
std::uint64_t take_number(std::string_view& text, std::uint64_t most, std::size_t flow, const char* what) {
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > most) fail(flow, std::string(what) + " is missing or too large");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

void read_flow(std::string_view text, const Topology& topology, MessagePlan& plan) {
  const std::size_t number = plan.messages.size();
  const auto endpoint = [&](const char* what) {
    const std::uint64_t node = take_number(text, topology.endpoint_count() - 1, number, what);
    if (!topology.alive(static_cast<NodeId>(node))) fail(number, "endpoint " + std::to_string(node) + " has failed");
    return static_cast<NodeId>(node);
  };
  MessagePlan::Message message{};
  message.src = endpoint("the source");
  message.dst = endpoint("the destination");
  if (message.src == message.dst) fail(number, "it goes from an endpoint to itself");
  message.bytes = take_number(text, kMostBytes, number, "the size");
  if (message.bytes == 0) fail(number, "it has no bytes");
  message.start = Time::ps(static_cast<std::int64_t>(take_number(text, kLatestPs, number, "the start")));
  plan.messages.push_back(message);
  while (!text.empty()) {
    const auto earlier = static_cast<std::uint32_t>(take_number(text, UINT32_MAX, number, "a flow before it"));
    const bool sent = !text.empty() && text.front() == 's';
    if (sent) text.remove_prefix(1);
    plan.after.push_back({static_cast<std::uint32_t>(number), earlier, sent});
  }
}

// Each wait is for a flow of the list, and all flows begin in the end.
void check_waits(const MessagePlan& plan) {
  std::vector<std::uint32_t> waits(plan.messages.size()), free;
  std::vector<std::vector<std::uint32_t>> followers(plan.messages.size());
  for (const MessagePlan::After& after : plan.after) {
    if (after.earlier >= plan.messages.size()) fail(after.message, "it follows a flow that is not there");
    ++waits[after.message];
    followers[after.earlier].push_back(after.message);
  }
  for (std::uint32_t m = 0; m < waits.size(); ++m)
    if (waits[m] == 0) free.push_back(m);
  std::size_t begun = 0;
  for (; !free.empty(); ++begun) {
    const std::uint32_t m = free.back();
    free.pop_back();
    for (const std::uint32_t next : followers[m])
      if (--waits[next] == 0) free.push_back(next);
  }
  if (begun == plan.messages.size()) return;
  std::size_t stuck = 0;
  while (waits[stuck] == 0) ++stuck;
  fail(stuck, "it follows itself, by others, and never begins");
}

}  // namespace

bool is_flow_list(std::string_view traffic) { return traffic.starts_with(kName); }

MessagePlan read_flow_list(std::string_view traffic, const Topology& topology) {
  traffic.remove_prefix(kName.size());
  if (traffic.size() < 2 || traffic.front() != '[' || traffic.back() != ']')
    throw ConfigError("pattern", "a list of flows comes from a file: give flows:FILE");
  traffic = traffic.substr(1, traffic.size() - 2);
  MessagePlan plan;
  while (!traffic.empty()) {
    const std::size_t end = traffic.find(';');
    read_flow(traffic.substr(0, end), topology, plan);
    traffic.remove_prefix(end == std::string_view::npos ? traffic.size() : end + 1);
  }
  if (plan.messages.empty()) throw ConfigError("pattern", "the list has no flows: give a file with some");
  check_waits(plan);
  return plan;
}

}  // namespace exanet
