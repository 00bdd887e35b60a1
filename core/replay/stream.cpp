// SPDX-License-Identifier: Apache-2.0
// Opens a stream, and takes its records apart: the frame of each here, the fields of its form in stream_fields.hpp.
//
// Problem: a stream may be longer than memory, cut by a rank's death, or damaged. Model: the file is mapped and read
// once from front to back; a record that is cut in its middle is the end, and every number is checked against the limit
// of its kind before it is used. A number is one byte most of the time, which the inline part of number() reads. Limit:
// a stream is read by one thread, and not from its middle.
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
#include "core/replay/stream_fields.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 31;

struct Call {
  const char* name = "";
  exanet_trace_form form = EXANET_TRACE_NO_FORM;
};

#define EXANET_TRACE_CALL(name, code, form) calls[code] = {#name, EXANET_TRACE_##form};
#define EXANET_TRACE_OTHER(name, code, form, word) calls[code] = {word, EXANET_TRACE_##form};
const std::array<Call, 256>& calls_by_code() {
  static const std::array<Call, 256> known = [] {
    std::array<Call, 256> calls;
    EXANET_TRACE_CALLS(EXANET_TRACE_CALL)
    EXANET_TRACE_OTHERS(EXANET_TRACE_OTHER)
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
                          : header_.rank >= header_.ranks || header_.ranks > kMostRanks
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

std::uint64_t TraceStream::long_number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ >= end_) fail("it ends within a field: the stream is damaged");
    const std::uint8_t byte = bytes_[at_++];
    value |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return value;
  }
  fail("a field of more than 64 bits: the stream is damaged");
}

void TraceStream::fail_too_large(std::uint64_t value, std::uint64_t limit, const char* what) const {
  fail(std::string(what) + " is " + std::to_string(value) + ", and the largest is " + std::to_string(limit - 1) +
       ": the stream is damaged");
}

void TraceStream::list(std::vector<std::uint64_t>& to, std::uint64_t limit, const char* what) {
  const std::uint64_t count = number_below(end_ - at_ + 1, "a list's length");
  to.clear();
  for (std::uint64_t i = 0; i < count; ++i) to.push_back(number_below(limit, what));
}

std::uint32_t TraceStream::peer() {
  const std::uint64_t field = number(), ranks = header_.ranks;
  if (field >= ranks + 2) fail_too_large(field - 2, ranks, "a peer");
  return field == 0 ? kNoPeer : field == 1 ? kAnyPeer : static_cast<std::uint32_t>(field - 2);
}

void TraceStream::peers(std::vector<std::uint32_t>& to) {
  const std::uint64_t count = number_below(end_ - at_ + 1, "a list's length");
  to.clear();
  for (std::uint64_t i = 0; i < count; ++i) to.push_back(peer());
}

void TraceStream::tag(TraceMessage& to, std::uint64_t limit, const char* what) {
  const std::uint64_t field = number();
  if (field >= limit) fail_too_large(field - 1, limit - 1, what);
  to.any_tag = field == 0;
  to.tag = static_cast<std::uint32_t>(field == 0 ? 0 : field - 1);
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
  r.request = 0;
  r.message.bytes = 0;
  TraceForms::times(*this, r);
  TraceForms::fields(*this, r);
  if (at_ != end_) fail("it has more fields than a call of its kind: the stream is damaged");
  complete_ = r.form == EXANET_TRACE_ENDING;
  return true;
}

}  // namespace exanet
