// SPDX-License-Identifier: Apache-2.0
// Reads a rank's stream of MPI calls (docs/reference/trace.md), a record at a time, and checks each before it is
// believed.
//
// The file is mapped: what has been read may leave memory again, whatever the stream's length. Contract: next() gives
// records in their order, and false at the end; complete() then says whether the last one was the program's end, or the
// stream was cut. A record that cannot be is a ConfigError that names file, record and byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/replay/trace_format.h"
#include "core/units/time.hpp"

namespace exanet {

inline constexpr std::uint32_t kNoPeer = 0xfffffffeu, kAnyPeer = 0xffffffffu;  // in place of a world rank

struct TraceMessage {
  std::uint32_t peer = kNoPeer;  // world rank
  bool any_tag = false;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
};

// One call. Which fields mean anything depends on its form.
struct TraceRecord {
  std::uint8_t code = 0;
  exanet_trace_form form = EXANET_TRACE_NO_FORM;
  Time compute, inside, took;
  std::uint32_t comm = 0, made = 0;  // of the rank's own numbers; made: by CREATE
  std::uint32_t request = 0;
  TraceMessage message, received;  // received: of EXCHANGE
  bool found = false;  // by PROBE
  std::uint32_t root = 0, flags = 0, element_bytes = 0;
  std::uint64_t send_bytes = 0, receive_bytes = 0;
  std::vector<std::uint64_t> first, second;  // requests; bytes sent and received by rank; members and remote members
  std::string name;  // of UNRECORDED
  std::uint32_t window = 0;
  // Of NEIGHBOURS; bytes of each are in first (from sources) and second (to destinations).
  std::vector<std::uint32_t> sources, destinations;
};

// Whether it is the name of a call on files, which a replay leaves out.
inline bool names_file_call(const TraceRecord& r) {
  return r.form == EXANET_TRACE_NAME && r.name.starts_with("MPI_File_");
}

// Whether a collective among neighbours blocks.
constexpr bool waits_for_neighbours(std::uint8_t code) { return code < EXANET_TRACE_Ineighbor_allgather; }

const char* trace_call_name(std::uint8_t code);  // without MPI_; "" of an unknown one
exanet_trace_form trace_form(std::uint8_t code);

class TraceStream {
 public:
  // Throws ConfigError where the file is no stream of this version.
  explicit TraceStream(const std::string& path);
  ~TraceStream();
  TraceStream(const TraceStream&) = delete;
  TraceStream& operator=(const TraceStream&) = delete;

  bool next(TraceRecord& record);
  bool complete() const { return complete_; }
  std::uint64_t records() const { return records_; }
  const exanet_trace_header& header() const { return header_; }
  double share_read() const { return static_cast<double>(at_) / static_cast<double>(size_); }
  [[noreturn]] void fail(const std::string& what) const;  // about the last record

 private:
  friend struct TraceForms;  // the fields of each form, generated (stream_fields.hpp)
  std::uint64_t number();
  [[gnu::noinline]] std::uint64_t long_number();
  bool length_is_whole() const;
  std::uint64_t number_below(std::uint64_t limit, const char* what);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_too_large(std::uint64_t value, std::uint64_t limit,
                                                             const char* what) const;
  void list(std::vector<std::uint64_t>& to, std::uint64_t limit, const char* what);
  std::uint32_t peer();
  void peers(std::vector<std::uint32_t>& to);
  void tag(TraceMessage& to, std::uint64_t limit, const char* what);

  const std::string path_;
  exanet_trace_header header_{};
  const std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0, at_ = 0, end_ = 0;  // end_: of the present record
  std::uint64_t records_ = 0;
  bool complete_ = false;
};

[[gnu::always_inline]] inline std::uint64_t TraceStream::number() {
  if (at_ < end_ && bytes_[at_] < 128) [[likely]]
    return bytes_[at_++];
  return long_number();
}

[[gnu::always_inline]] inline std::uint64_t TraceStream::number_below(std::uint64_t limit, const char* what) {
  const std::uint64_t value = number();
  if (value >= limit) [[unlikely]]
    fail_too_large(value, limit, what);
  return value;
}

}  // namespace exanet
