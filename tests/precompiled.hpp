// SPDX-License-Identifier: Apache-2.0
// The standard headers that most tests of core/ include, compiled once in the build with sanitizers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
