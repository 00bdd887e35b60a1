// SPDX-License-Identifier: Apache-2.0
// Does a run report what is at the ports in the cycles that can be counted by hand? tests/unit/test_interface.py holds
// it to the Verilated interfaces.
#include "core/nic/transfers/interface_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace exanet;

namespace {

InterfaceRunConfig config() {
  InterfaceRunConfig config;
  config.line_cycles = 20;
  config.messages.memory_answer = config.transfers.memory_read = config.transfers.memory_answer = 20;
  config.transfers.begins = 1024;
  config.mailbox = 3;
  return config;
}
Cycle first(const std::vector<PortEvent>& events, PortEvent::What what, NodeId node) {
  const auto found = std::find_if(events.begin(), events.end(),
                                  [&](const PortEvent& event) { return event.what == what && event.node == node; });
  return found == events.end() ? -1 : found->cycle;
}

}  // namespace

TEST_CASE("interface run: a message of 16 bytes, from the store to a free slot") {
  const std::vector<HandedOver> one{{2000, 0, true, 0, {1, 16, 3, 0, 0}, {}}};
  const auto events = run_interfaces(config(), one, 3000);
  CHECK(events.size() == 6);  // two packets, an entry, a slot
  CHECK(first(events, PortEvent::What::kHeaderIn, 0) == 2010);
  CHECK(first(events, PortEvent::What::kFooterOut, 1) == 2048);
  CHECK(first(events, PortEvent::What::kEntry, 1) == 2056);
  CHECK(first(events, PortEvent::What::kSlot, 0) == 2121);
  CHECK(run_interfaces(config(), one, 2060).size() == 3);  // nothing from its end on: the answer is under way
}

TEST_CASE("interface run: a page that is not in the tables is reported, and a write of it is not made") {
  InterfaceRunConfig translated = config();
  translated.transfers.translate = true;
  translated.root = 0x7000;
  TransferStore write{1, 0x1000, 0x2000, 64, true, 0};
  const auto none = run_interfaces(translated, {{2000, 0, false, 0, {}, write}}, 20'000);
  CHECK(first(none, PortEvent::What::kWrite, 1) == -1);
  const auto physical = run_interfaces(config(), {{2000, 0, false, 0, {}, write}}, 20'000);
  CHECK(first(physical, PortEvent::What::kWrite, 1) > 2080);
}
