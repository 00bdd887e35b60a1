// SPDX-License-Identifier: Apache-2.0
// Writes streams for the tests of the replay, right or wrong ones.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/replay/trace_format.h"

namespace exanet::testing {

class StreamBytes {
 public:
  StreamBytes(std::uint32_t rank, std::uint32_t ranks, std::uint32_t version = EXANET_TRACE_VERSION) {
    exanet_trace_header header{};
    std::memcpy(header.magic, EXANET_TRACE_MAGIC, sizeof header.magic);
    header.version = version;
    header.mpi = EXANET_TRACE_MPICH;
    header.rank = rank;
    header.ranks = ranks;
    bytes.resize(sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
  }

  // A call that computes for so long before, and its fields.
  StreamBytes& call(std::uint8_t code, std::initializer_list<std::uint64_t> fields, std::uint64_t compute_ps = 0) {
    std::vector<std::uint8_t> body;
    for (const std::uint64_t time : {compute_ps, std::uint64_t{0}, std::uint64_t{0}}) put(body, time);
    for (const std::uint64_t field : fields) put(body, field);
    bytes.push_back(code);
    put(bytes, body.size());
    bytes.insert(bytes.end(), body.begin(), body.end());
    return *this;
  }
  StreamBytes& end(std::uint64_t compute_ps = 0) { return call(EXANET_TRACE_Finalize, {}, compute_ps); }
  // To or from a rank, with tag 5, on MPI_COMM_WORLD.
  StreamBytes& message(std::uint8_t code, std::uint32_t peer, std::uint64_t size, std::uint64_t request = 0,
                       std::uint64_t tag = 5) {
    return call(code, {EXANET_TRACE_WORLD, peer + 2, tag + 1, size, request});
  }

  static void put(std::vector<std::uint8_t>& to, std::uint64_t value) {
    for (; value >= 128; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 128));
    to.push_back(static_cast<std::uint8_t>(value));
  }

  std::vector<std::uint8_t> bytes;
};

// Files that go with it.
class StreamFiles {
 public:
  ~StreamFiles() {
    for (const std::string& path : paths) std::remove(path.c_str());
  }
  const std::string& add(const std::vector<std::uint8_t>& bytes) {
    std::string path = std::filesystem::temp_directory_path() / "exanet-stream-XXXXXX";
    const int file = ::mkstemp(path.data());
    const bool written = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    ::close(file);
    return paths.emplace_back(written ? path : "");
  }
  std::vector<std::string> paths;
};

}  // namespace exanet::testing
