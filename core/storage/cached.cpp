// SPDX-License-Identifier: Apache-2.0
// Calls on a cache: what of a file the caller's node has, what it fetches, and what the servers have yet to get
// (storage.hpp has the model).
//
// What is fetched is the node's as soon as it has arrived, and goes to its device while nobody waits for that. Who
// reads what is on its way waits for it.
#include <algorithm>
#include <utility>

#include "core/storage/storage.hpp"

namespace exanet {

void Storages::write_cached(std::uint32_t caller, const StorageCall& call, Time now) {
  Cached& file = cached(call.storage, call.node, call.file);
  file.kept.add({call.offset, call.offset + call.bytes});
  file.dirty.add({call.offset, call.offset + call.bytes});
  calls_[caller].pieces = 1;
  start({caller, call.storage, call.node, call.node, true, call.bytes}, now);
}

void Storages::read_cached(std::uint32_t caller, const StorageCall& call, Time now) {
  Cached& file = cached(call.storage, call.node, call.file);
  const ByteRange asked{call.offset, call.offset + call.bytes};
  ByteRanges wanted;
  std::uint64_t missing = 0;
  for (const ByteRange& gap : file.kept.missing(asked)) {
    wanted.add(gap);
    missing += gap.end - gap.begin;
  }
  if (call.bytes > missing) {
    ++calls_[caller].pieces;
    start({caller, call.storage, call.node, call.node, false, call.bytes - missing}, now);
  }
  ByteRanges ahead;
  const std::uint64_t prefetch =
      std::min(configs_[call.storage].prefetch_bytes, call.file_bytes > asked.end ? call.file_bytes - asked.end : 0);
  for (const ByteRange& gap : file.kept.missing({asked.end, asked.end + prefetch})) ahead.add(gap);
  for (const std::uint32_t number : file.coming) {
    Piece& piece = pieces_[number];
    const ByteRange range{piece.offset, piece.offset + piece.bytes};
    ahead.remove(range);
    if (range.begin >= asked.end || range.end <= asked.begin) continue;
    wanted.remove(range);
    piece.waiting.push_back(caller);
    ++calls_[caller].pieces;
  }
  for (const ByteRange& range : wanted.list()) fetch(caller, call, range, now);
  for (const ByteRange& range : ahead.list()) fetch(kNobody, call, range, now);
}

void Storages::fetch(std::uint32_t caller, const StorageCall& call, ByteRange range, Time now) {
  const std::uint32_t servers = behind_[call.storage];
  each_chunk(servers, range, [&](ByteRange part) {
    if (caller != kNobody) ++calls_[caller].pieces;
    Piece piece{caller, servers, call.node, server_of(servers, call.file, part.begin), false, part.end - part.begin};
    piece.after = After::kKeep;
    piece.cache = call.storage;
    piece.file = call.file;
    piece.offset = part.begin;
    const std::uint32_t number = start(piece, now);
    cached(call.storage, call.node, call.file).coming.push_back(number);
  });
}

void Storages::flush(std::uint32_t caller, const StorageCall& call, Time now) {
  Cached& file = cached(call.storage, call.node, call.file);
  const std::vector<ByteRange> dirty = file.dirty.list();
  file.dirty.clear();
  if (dirty.empty()) return done_(caller, Status::kOk, now);
  for (const ByteRange& range : dirty)
    each_chunk(behind_[call.storage], range, [&](ByteRange part) {
      ++calls_[caller].pieces;
      Piece piece{caller, call.storage, call.node, call.node, false, part.end - part.begin};
      piece.after = After::kFlush;
      piece.file = call.file;
      piece.offset = part.begin;
      start(piece, now);
    });
}

void Storages::went_on(const Piece& piece, std::uint32_t number, Status status, Time now) {
  if (piece.after == After::kFlush) {
    const std::uint32_t servers = behind_[piece.storage];
    const NodeId server = server_of(servers, piece.file, piece.offset);
    start({piece.caller, servers, piece.node, server, true, piece.bytes}, now);
    return;
  }
  Cached& file = cached(piece.cache, piece.node, piece.file);
  std::erase(file.coming, number);
  if (status == Status::kOk) {
    file.kept.add({piece.offset, piece.offset + piece.bytes});
    start({kNobody, piece.cache, piece.node, piece.node, true, piece.bytes}, now);
  }
  piece_over(piece.caller, status, now);
  for (const std::uint32_t caller : piece.waiting) piece_over(caller, status, now);
}

}  // namespace exanet
