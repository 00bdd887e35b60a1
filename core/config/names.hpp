// SPDX-License-Identifier: Apache-2.0
// Names that a registry does not have: which of its own was meant, and the one sentence that refuses them all.
//
// Model: two names are as alike as the longest sequence of characters that both have in their order, twice its length
// over both lengths; from 0.6 on one was meant for the other. Limit: of names that are equally alike the first counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/error.hpp"

namespace exanet {

double likeness(std::string_view a, std::string_view b);

// The one that was meant; "": none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& known);

// ` (did you mean "X"?)` for a message, or nothing; `known`: names with ", " between them. What follows a colon in
// `name` is no part of it.
std::string hint_at(const std::string& name, const std::string& known);

// `what`: "is no routing".
[[noreturn, gnu::cold]] void reject_name(const std::string& path, const std::string& what, const std::string& name,
                                         const std::string& known);

}  // namespace exanet
