// SPDX-License-Identifier: Apache-2.0
// The Python face of network interfaces in the gateware's cycles: what is at their ports when messages and transfers
// are handed over.
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/nic/transfers/interface_run.hpp"
#include "core/routing/make_topology.hpp"
#include "exanet/bindings/convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

template <typename T>
T given(const nb::dict& from, const char* key) {
  return nb::cast<T>(from[key]);
}

HandedOver handed_over(const nb::dict& from) {
  HandedOver operation{};
  operation.cycle = given<Cycle>(from, "cycle");
  operation.node = given<NodeId>(from, "node");
  operation.is_message = given<std::string>(from, "kind") == "message";
  const auto to = given<NodeId>(from, "to");
  const auto bytes = given<std::uint32_t>(from, "bytes");
  const auto domain = given<std::uint16_t>(from, "domain");
  if (operation.is_message) {
    operation.context = given<std::uint32_t>(from, "context");
    operation.message = {to, static_cast<std::uint8_t>(bytes), given<std::uint16_t>(from, "mailbox"), domain,
                         0,  given<bool>(from, "behind")};
    return operation;
  }
  TransferStore& transfer = operation.transfer;
  transfer.dst = to;
  transfer.own = given<std::uint64_t>(from, "own");
  transfer.target = given<std::uint64_t>(from, "target");
  transfer.length = bytes;
  transfer.notify = given<bool>(from, "notify");
  transfer.fence = given<bool>(from, "fence");
  transfer.fence_word = given<std::uint64_t>(from, "fence_word");
  transfer.end_word = given<std::uint64_t>(from, "end_word");
  transfer.domain = domain;
  transfer.read = given<bool>(from, "read");
  transfer.message = given<bool>(from, "message");
  transfer.message_slot = 4 * given<std::uint32_t>(from, "context") + given<std::uint32_t>(from, "message_slot");
  return operation;
}

}  // namespace

void bind_interfaces(nb::module_& m) {
  m.def(
      "run_interfaces",
      [](const nb::dict& machine, const nb::dict& tables, const nb::list& operations, Cycle end) {
        InterfaceRunConfig config;
        config.nodes = given<std::size_t>(machine, "nodes");
        config.line_cycles = given<unsigned>(machine, "line_cycles");
        config.messages.contexts = given<std::uint32_t>(machine, "contexts");
        config.messages.begins = given<Cycle>(machine, "messages_begin");
        config.transfers.channels = given<std::uint32_t>(machine, "channels");
        config.transfers.begins = given<Cycle>(machine, "transfers_begin");
        config.messages.timeout = config.transfers.timeout = given<std::uint32_t>(machine, "timeout");
        config.messages.tries = config.transfers.tries = given<std::uint32_t>(machine, "tries");
        config.transfers.kept_channels = given<std::uint32_t>(machine, "kept_channels");
        config.transfers.translate = given<bool>(machine, "translate");
        const auto memory = given<Cycle>(machine, "memory_cycles");
        config.messages.memory_answer = config.transfers.memory_answer = config.transfers.memory_read = memory;
        config.mailbox = given<std::uint32_t>(machine, "mailbox");
        config.domain = given<std::uint32_t>(machine, "domain");
        config.entries = given<std::uint32_t>(machine, "entries");
        config.root = given<std::uint64_t>(machine, "root");
        for (const auto& [at, entry] : tables) {
          const auto place = nb::cast<nb::tuple>(at);
          config.tables[{nb::cast<NodeId>(place[0]), nb::cast<std::uint64_t>(place[1])}] =
              nb::cast<std::uint64_t>(entry);
        }
        std::vector<HandedOver> handed;
        for (const nb::handle operation : operations) handed.push_back(handed_over(nb::cast<nb::dict>(operation)));
        nb::list found;
        static constexpr const char* kNames[] = {"header_in", "footer_out", "entry", "write", "slot"};
        for (const PortEvent& event : run_interfaces(config, handed, end))
          found.append(
              nb::make_tuple(event.cycle, kNames[static_cast<std::size_t>(event.what)], event.node, event.place));
        return found;
      },
      "machine"_a, "tables"_a, "operations"_a, "end"_a);
  m.def(
      "check_interface",
      [](const nb::dict& machine) {
        const MachineConfig config = machine_of(machine);
        checked(config.ni, config.fabric.router);
      },
      "machine"_a);
  m.def(
      "check_storages",
      [](const nb::dict& machine) {
        const MachineConfig config = machine_of(machine);
        check_storages(config.storage, make_topology(config.topology)->endpoint_count());
      },
      "machine"_a);
}

}  // namespace exanet
