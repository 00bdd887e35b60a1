// SPDX-License-Identifier: Apache-2.0
// Writes what passes an interface as a capture that tcpdump and Wireshark read, with virtual times in nanoseconds
// (draft-ietf-opsawg-pcap: magic 0xa1b23c4d, link type 1).
//
// Contract: times are those of the simulated network, from 0 at its start, rounded down. Whoever kills the process
// loses what is in the buffer; flush() writes it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "core/config/error.hpp"
#include "core/ethernet/frame.hpp"
#include "core/units/time.hpp"

namespace exanet {

class Capture {
 public:
  // Throws ConfigError where the file cannot be written, as all that write do.
  explicit Capture(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
    constexpr std::uint32_t kNanoseconds = 0xa1b23c4d, kEthernet = 1, kVersion = 2 | 4 << 16;
    if (!file_) fail();
    write({kNanoseconds, kVersion, 0, 0, kMostFrame, kEthernet});
  }

  void add(std::span<const std::byte> frame, Time now) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const std::int64_t ns = now.ps() / 1000;
    const auto length = static_cast<std::uint32_t>(frame.size());
    write({static_cast<std::uint32_t>(ns / kSecond), static_cast<std::uint32_t>(ns % kSecond), length, length});
    if (std::fwrite(frame.data(), 1, frame.size(), file_.get()) != frame.size()) fail();
    unwritten_ = true;
  }

  void flush() {
    if (unwritten_ && std::fflush(file_.get()) != 0) fail();
    unwritten_ = false;
  }

 private:
  void write(std::initializer_list<std::uint32_t> words) {
    if (std::fwrite(words.begin(), sizeof(std::uint32_t), words.size(), file_.get()) != words.size()) fail();
  }
  [[noreturn]] void fail() const {
    throw ConfigError("capture", "cannot write " + path_ + ": " + std::strerror(errno) + "; choose another file");
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  bool unwritten_ = true;
};

}  // namespace exanet
