// SPDX-License-Identifier: Apache-2.0
#include "core/replay/stream.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/config/error.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kLongestTime = std::uint64_t{1} << 62, kMost = std::uint64_t{1} << 31,
                        kMostBytes = std::uint64_t{1} << 47;
// Tables by number are not let grow beyond what a program could have: numbers of requests are used again, those of communicators are not.
constexpr std::uint64_t kMostRequests = std::uint64_t{1} << 24, kMostCommunicators = std::uint64_t{1} << 22,
                        kMostWindows = kMostCommunicators;

struct Call {
  const char* name = "";
  exanet_trace_form form = EXANET_TRACE_NO_FORM;
};

#define EXANET_TRACE_ENTRY(name, code, form) calls[code] = {#name, EXANET_TRACE_##form};
const std::array<Call, 256>& calls_by_code() {
  static const std::array<Call, 256> known = [] {
    std::array<Call, 256> calls;
    EXANET_TRACE_CALLS(EXANET_TRACE_ENTRY)
    calls[EXANET_TRACE_COMMUNICATOR] = {"communicator", EXANET_TRACE_CREATE};
    calls[EXANET_TRACE_WINDOW_MADE] = {"window", EXANET_TRACE_WINDOW};
    calls[EXANET_TRACE_UNRECORDED] = {"unrecorded", EXANET_TRACE_NAME};
    return calls;
  }();
  return known;
}

}  // namespace

const char* trace_call_name(std::uint8_t code) { return calls_by_code()[code].name; }
exanet_trace_form trace_form(std::uint8_t code) { return calls_by_code()[code].form; }

TraceStream::TraceStream(const std::string& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw ConfigError("trace", path + ": " + std::strerror(errno));
  struct stat status{};
  const bool known = ::fstat(file, &status) == 0 && status.st_size >= 0;
  size_ = known ? static_cast<std::size_t>(status.st_size) : 0;
  void* mapped = size_ >= sizeof header_ ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  ::close(file);
  if (mapped == MAP_FAILED)
    throw ConfigError("trace", path + ": it is too short to be a recorded rank's stream; record the program anew");
  bytes_ = static_cast<const std::uint8_t*>(mapped);
  ::madvise(mapped, size_, MADV_SEQUENTIAL);
  std::memcpy(&header_, bytes_, sizeof header_);
  at_ = end_ = sizeof header_;
  const bool ours = std::memcmp(header_.magic, EXANET_TRACE_MAGIC, sizeof header_.magic) == 0;
  const std::string why = !ours ? "it is no recorded rank's stream"
                          : header_.version < EXANET_TRACE_OLDEST || header_.version > EXANET_TRACE_VERSION
                              ? "its format has version " + std::to_string(header_.version) +
                                    ", and this exanet reads versions " + std::to_string(EXANET_TRACE_OLDEST) + " to " +
                                    std::to_string(EXANET_TRACE_VERSION) + ": record the program anew"
                          : header_.rank >= header_.ranks || header_.ranks > kMost
                              ? "its header is damaged: record the program anew"
                              : "";
  if (!why.empty()) {
    ::munmap(mapped, size_);
    throw ConfigError("trace", path + ": " + why);
  }
}

TraceStream::~TraceStream() { ::munmap(const_cast<std::uint8_t*>(bytes_), size_); }

void TraceStream::fail(const std::string& what) const {
  throw ConfigError(
      "trace", path_ + ": call " + std::to_string(records_) + " (before byte " + std::to_string(at_) + "): " + what);
}

inline std::uint64_t TraceStream::number() {
  if (at_ < end_ && bytes_[at_] < 128) [[likely]]
    return bytes_[at_++];
  return long_number();
}

std::uint64_t TraceStream::long_number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ >= end_) fail("it ends before its fields do: the stream is damaged");
    const std::uint8_t byte = bytes_[at_++];
    value |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return value;
  }
  fail("a field of more than 64 bits: the stream is damaged");
}

inline std::uint64_t TraceStream::number_below(std::uint64_t limit, const char* what) {
  const std::uint64_t value = number();
  if (value >= limit) [[unlikely]]
    fail_too_large(value, what);
  return value;
}

void TraceStream::fail_too_large(std::uint64_t value, const char* what) const {
  fail(std::string(what) + " is " + std::to_string(value) + ": the stream is damaged");
}

void TraceStream::list(std::vector<std::uint64_t>& to, std::uint64_t limit, const char* what) {
  const std::uint64_t count = number_below(end_ - at_ + 1, "a list's length");
  to.clear();
  for (std::uint64_t i = 0; i < count; ++i) to.push_back(number_below(limit, what));
}

std::uint32_t TraceStream::peer() {
  const std::uint64_t field = number_below(std::uint64_t{header_.ranks} + 2, "a peer");
  return field == 0 ? kNoPeer : field == 1 ? kAnyPeer : static_cast<std::uint32_t>(field - 2);
}

void TraceStream::peers(std::vector<std::uint32_t>& to) {
  const std::uint64_t count = number_below(end_ - at_ + 1, "a list's length");
  to.clear();
  for (std::uint64_t i = 0; i < count; ++i) to.push_back(peer());
}

void TraceStream::message(TraceMessage& to) {
  to.peer = peer();
  const std::uint64_t tag = number_below(kMost + 1, "a tag");
  to.any_tag = tag == 0;
  to.tag = static_cast<std::uint32_t>(tag == 0 ? 0 : tag - 1);
}

void TraceStream::fields(TraceRecord& r) {
  r.request = 0;
  r.message.bytes = 0;
  const auto comm = [&] { return static_cast<std::uint32_t>(number_below(kMostCommunicators, "a communicator")); };
  const auto request = [&] { return static_cast<std::uint32_t>(number_below(kMostRequests, "a request")); };
  const auto window = [&] { return static_cast<std::uint32_t>(number_below(kMostWindows, "a window")); };
  switch (r.form) {
    case EXANET_TRACE_MESSAGE:
      r.comm = comm();
      message(r.message);
      r.message.bytes = number_below(kMostBytes, "a size");
      r.request = request();
      return;
    case EXANET_TRACE_EXCHANGE:
      r.comm = comm();
      for (TraceMessage* m : {&r.message, &r.received}) {
        message(*m);
        m->bytes = number_below(kMostBytes, "a size");
      }
      return;
    case EXANET_TRACE_REQUESTS:
      r.first.clear();
      while (at_ < end_) r.first.push_back(number_below(kMostRequests, "a request"));
      return;
    case EXANET_TRACE_PROBE:
      r.comm = comm();
      message(r.message);
      r.found = number_below(2, "whether a message was found") != 0;
      return;
    case EXANET_TRACE_COLLECTIVE:
      r.comm = comm();
      r.root = static_cast<std::uint32_t>(number_below(header_.ranks, "a root"));
      r.request = request();
      r.flags = static_cast<std::uint32_t>(number_below(16, "a collective's flags"));
      r.element_bytes = static_cast<std::uint32_t>(number_below(kMost, "a size"));
      r.send_bytes = number_below(kMostBytes, "a size");
      r.receive_bytes = number_below(kMostBytes, "a size");
      list(r.first, kMostBytes, "a size");
      list(r.second, kMostBytes, "a size");
      return;
    case EXANET_TRACE_CREATE:
      r.comm = comm();
      r.made = comm();
      r.flags = static_cast<std::uint32_t>(number_below(8, "a communicator's flags"));
      list(r.first, header_.ranks, "a member");
      list(r.second, header_.ranks, "a remote member");
      return;
    case EXANET_TRACE_NEIGHBOURS:
      r.comm = comm();
      r.request = request();
      peers(r.sources);
      list(r.first, kMostBytes, "a size");
      peers(r.destinations);
      list(r.second, kMostBytes, "a size");
      if (r.sources.size() != r.first.size() || r.destinations.size() != r.second.size())
        fail("its sizes are not as many as neighbours: the stream is damaged");
      return;
    case EXANET_TRACE_WINDOW:
      r.comm = comm();
      r.window = window();
      r.send_bytes = number_below(kMostBytes, "a size");
      return;
    case EXANET_TRACE_ACCESS:
      r.window = window();
      r.message.peer = peer();
      r.request = request();
      r.flags = static_cast<std::uint32_t>(number_below(2, "an access's flags"));
      r.send_bytes = number_below(kMostBytes, "a size");
      r.receive_bytes = number_below(kMostBytes, "a size");
      return;
    case EXANET_TRACE_SYNCHRONISE:
      r.window = window();
      r.message.peer = peer();
      r.flags = static_cast<std::uint32_t>(number_below(8, "a synchronisation's flags"));
      list(r.first, header_.ranks, "a member");
      return;
    case EXANET_TRACE_NAME:
      r.name.clear();
      while (at_ < end_) r.name.push_back(static_cast<char>(number_below(128, "a letter")));
      return;
    default: return;
  }
}

// The number of a record's bytes is cut itself where no byte of it is below 128.
bool TraceStream::length_is_whole() const {
  if (size_ - at_ >= 10) return true;
  return std::any_of(bytes_ + at_, bytes_ + size_, [](std::uint8_t byte) { return byte < 128; });
}

bool TraceStream::next(TraceRecord& r) {
  if (at_ >= size_ || bytes_[at_] == 0 || complete_) return false;
  ++records_;
  r.code = bytes_[at_++];
  r.form = trace_form(r.code);
  if (r.form == EXANET_TRACE_NO_FORM)
    fail("a call with the unknown code " + std::to_string(r.code) + ": the stream is damaged");
  end_ = size_;
  const std::uint64_t length = length_is_whole() ? number() : size_;
  if (length > size_ - at_) {  // cut in its middle
    --records_;
    at_ = size_;
    return false;
  }
  end_ = at_ + length;
  r.compute = Time::ps(static_cast<std::int64_t>(number_below(kLongestTime, "a time")));
  r.inside = Time::ps(static_cast<std::int64_t>(number_below(kLongestTime, "a time")));
  r.took = Time::ps(static_cast<std::int64_t>(number_below(kLongestTime, "a time")));
  fields(r);
  if (at_ != end_) fail("it has more fields than its kind: the stream is damaged");
  complete_ = r.form == EXANET_TRACE_ENDING;
  return true;
}

}  // namespace exanet
