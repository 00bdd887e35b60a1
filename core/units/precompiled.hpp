// SPDX-License-Identifier: Apache-2.0
// The standard headers that most of core/ and the tests include, which the compiler reads once for each build. Each
// file includes what it needs all the same: `make test-long` builds without precompiled headers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
