// SPDX-License-Identifier: Apache-2.0
#include "core/protocol/failure.hpp"

#include <type_traits>
#include <variant>

#include "core/faults/status.hpp"
#include "core/protocol/memory_map.hpp"

namespace exanet {

namespace {

// How a completion's operation is called, up to its peer; nullptr: it has none that could fail.
const char* name_of(const SendCompletion&) { return "send to"; }
const char* name_of(const ReceiveCompletion&) { return "receive from"; }
const char* name_of(const PutCompletion&) { return "put to"; }
const char* name_of(const GetCompletion&) { return "get from"; }
const char* name_of(const AtomicCompletion&) { return "atomic at"; }
const char* name_of(const PeekCompletion&) { return "probe of"; }
const char* name_of(const ReductionCompletion&) { return "reduction"; }
template <typename C>
const char* name_of(const C&) {
  return nullptr;
}

}  // namespace

std::string failure_of(const Completion& completion) {
  return std::visit(
      [](const auto& done) -> std::string {
        const char* const name = name_of(done);
        const char* const why = network_failure(done.status);
        if (name == nullptr || why == nullptr) return {};
        std::string text = name;
        if constexpr (requires { done.peer; }) text += " rank " + std::to_string(done.peer.rank);
        if constexpr (requires { done.length; } && !std::is_same_v<decltype(done), const PeekCompletion&>)
          if (done.length < MemoryMap::kAddressSpace) text += ", " + std::to_string(done.length) + " bytes,";
        return text + " failed: " + why;
      },
      completion);
}

std::string in_microseconds(Time time) {
  const std::int64_t ns = (time.ps() + 500) / 1000;
  std::string decimals = std::to_string(ns % 1000);
  return std::to_string(ns / 1000) + "." + std::string(3 - decimals.size(), '0') + decimals + " us";
}

}  // namespace exanet
