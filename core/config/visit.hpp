// SPDX-License-Identifier: Apache-2.0
// Names the keys of a configuration once, for whoever reads, prints, lists or tests them.
//
// Contract: beside each configuration struct stands `template <typename V> void visit(Struct& c, V&& v)`, which calls
// v(key, field) for each field that the resolved description has, and v(key, field, kOptional) for one that keeps its
// default where the description is silent. A key ends in its unit (a Time's in _ps). A field is a number, a bool, a
// Time, a text, an enumeration, another such struct, or a vector or an optional of these; an optional struct is absent
// where its key is. A constant is thus two lines side by side in the struct's file.
//
// The names of an enumeration stand in kChoices<E>, beside it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace exanet {

struct Optional {};
inline constexpr Optional kOptional;  // of a key: the field keeps its default where the description is silent

template <typename E>
struct EnumName {
  const char* name;
  E value;
};

template <typename E>
inline constexpr std::array<EnumName<E>, 0> kChoices{};

// Makes the list of an enumeration's names: `template <> inline constexpr auto kChoices<E> = choices<E>({{"fifo",
// E::kFifo}, ...})`.
template <typename E, std::size_t n>
constexpr std::array<EnumName<E>, n> choices(const EnumName<E> (&list)[n]) {
  return std::to_array(list);
}

template <typename E>
concept Named = std::is_enum_v<E> && (std::size(kChoices<E>) > 0);

template <Named E>
const char* name_of(E value) {
  for (const EnumName<E>& choice : kChoices<E>)
    if (choice.value == value) return choice.name;
  return "";
}

template <Named E>
std::optional<E> find_choice(std::string_view name) {
  for (const EnumName<E>& choice : kChoices<E>)
    if (choice.name == name) return choice.value;
  return std::nullopt;
}

template <Named E>
std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kChoices<E>));
  for (const EnumName<E>& choice : kChoices<E>) names.emplace_back(choice.name);
  return names;
}

}  // namespace exanet
