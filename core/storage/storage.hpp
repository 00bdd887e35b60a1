// SPDX-License-Identifier: Apache-2.0
// Storages that files of programs are on: which devices and servers a call on a file goes to, and when it is over.
//
// Problem: programs read and write files, on devices of their own nodes or over the network that their messages cross,
// too. What is stored is the host's business; here is the time.
//
// Model: a call moves some bytes of a file. On a local storage it is one request to the device of the caller's node.
// On servers the file lies in chunks, on one server after the other from the one that the file's number says; the call
// is cut there, and all its pieces are under way at once. A piece that is written goes to the server with its data,
// then to the device there, and an answer comes back; one that is read is asked for, read, and comes back with its
// data. A node that is a server itself reaches its device without the network. The call is over when its last piece
// is. A call that moves nothing, such as fsync(), goes to one device, or to the server of its offset.
//
// An operation on a name, such as to open a file, takes the metadata latency, in the caller's node on a local storage,
// otherwise on the metadata server of the name's folder, which it asks as for data. Each of them serves some such
// operations at once.
//
// A cache keeps files of servers on the nodes' own devices, for as long as the run lasts (cached.cpp). What is written
// goes to the node's device; fsync() and close() read it there and write it to the servers. What is read comes from
// the node's device where that has it, otherwise from the servers, and is then kept; so is what comes behind it, up to
// a length. Nodes do not know what others have written.
//
// Limits: each call waits for its data, as if there were no page cache in the node. Nodes keep no metadata: each
// operation on a name asks its server. Servers take no processor time. A cache has space for everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/faults/status.hpp"
#include "core/storage/config.hpp"
#include "core/storage/devices.hpp"
#include "core/storage/ranges.hpp"

namespace exanet {

enum class StorageAction : std::uint8_t { kRead, kWrite, kSync, kMetadata };

struct StorageCall {
  std::uint32_t storage = 0;  // by its place in the list
  NodeId node = 0;
  StorageAction action = StorageAction::kRead;
  std::uint64_t file = 0;  // its number on the storage; of an operation on a name, that of its folder
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t file_bytes = 0;  // the file's size, of a read
};

// What carries data and requests between nodes: reports each transfer by its number to Storages::arrived().
class StorageNetwork {
 public:
  virtual ~StorageNetwork() = default;
  virtual void send(NodeId from, NodeId to, std::uint64_t bytes, std::uint32_t number) = 0;
};

// Throws ConfigError on storages that contradict themselves, or a machine of so many nodes.
void check_storages(const std::vector<StorageConfig>& storages, std::uint32_t nodes);

class Storages {
 public:
  // `done(caller, status, now)`: the call that `caller` began is over; a status of the network, where that lost it.
  // References outlive this. Throws ConfigError as check_storages().
  Storages(EventQueue& events, StorageNetwork& network, const std::vector<StorageConfig>& storages, std::uint32_t nodes,
           std::function<void(std::uint32_t, Status, Time)> done);
  Storages(const Storages&) = delete;
  Storages& operator=(const Storages&) = delete;

  // Contract: a storage of the list. One call of a caller at a time.
  void begin(std::uint32_t caller, const StorageCall& call, Time at);
  void arrived(std::uint32_t number, Status status, Time now);
  const StorageConfig& config(std::uint32_t storage) const { return configs_[storage]; }
  std::size_t size() const { return configs_.size(); }

 private:
  enum class State : std::uint8_t { kToServer, kOnDevice, kToNode };
  enum class After : std::uint8_t { kNothing, kFlush, kKeep };
  static constexpr std::uint32_t kNobody = UINT32_MAX;  // waits for the piece
  struct Piece {
    std::uint32_t caller;
    std::uint32_t storage;
    NodeId node, device;  // device: the node that it is in
    bool writes;
    std::uint64_t bytes;
    bool metadata = false;  // an operation on a name
    // of a cache
    After after = After::kNothing;  // what follows: it goes on to the servers, or is kept by the node
    std::uint32_t cache = 0;  // by its place in the list
    std::uint64_t file = 0, offset = 0;
    std::vector<std::uint32_t> waiting;  // other callers
    State state = State::kToServer;
  };
  struct Cached {  // of a file, on a node
    ByteRanges kept, dirty;
    std::vector<std::uint32_t> coming;  // pieces that will be kept
  };
  struct Call {
    StorageCall asked;
    std::uint64_t pieces = 0;  // that are under way
    Status status = Status::kOk;  // of the first one that the network has lost
  };

  void execute(std::uint32_t caller, Time now);
  // storage.cpp
  void cut(std::uint32_t caller, const StorageCall& call, Time now);
  void ask_for_name(std::uint32_t caller, const StorageCall& call, Time now);
  NodeId server_of(std::uint32_t storage, std::uint64_t file, std::uint64_t offset) const;
  template <typename F>  // f(a chunk's part of the range)
  void each_chunk(std::uint32_t storage, ByteRange range, const F& f) const;
  std::uint32_t start(const Piece& piece, Time now);
  void on_device(std::uint32_t number, Time now);
  void stored(std::uint32_t number, Time now);
  void over(std::uint32_t number, Status status, Time now);
  void piece_over(std::uint32_t caller, Status status, Time now);
  // cached.cpp
  Cached& cached(std::uint32_t storage, NodeId node, std::uint64_t file) { return cached_[{storage, node, file}]; }
  void write_cached(std::uint32_t caller, const StorageCall& call, Time now);
  void read_cached(std::uint32_t caller, const StorageCall& call, Time now);
  void flush(std::uint32_t caller, const StorageCall& call, Time now);
  void fetch(std::uint32_t caller, const StorageCall& call, ByteRange range, Time now);
  void went_on(const Piece& piece, std::uint32_t number, Status status, Time now);

  EventQueue& events_;
  StorageNetwork& network_;
  const std::vector<StorageConfig> configs_;
  const std::function<void(std::uint32_t, Status, Time)> done_;
  std::vector<std::unique_ptr<Devices>> devices_;  // of each storage
  std::vector<std::unique_ptr<Devices>> metadata_;  // of each storage: what serves operations on names
  std::vector<std::uint32_t> behind_;  // of each cache, the servers' place in the list
  std::map<std::tuple<std::uint32_t, NodeId, std::uint64_t>, Cached> cached_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> free_;
  std::vector<Call> calls_;  // by caller
  std::uint32_t on_call_;
};

template <typename F>
void Storages::each_chunk(std::uint32_t storage, ByteRange range, const F& f) const {
  const std::uint64_t chunk = configs_[storage].chunk_bytes;
  for (std::uint64_t from = range.begin; from < range.end;) {
    const std::uint64_t to = std::min(range.end, (from / chunk + 1) * chunk);
    f(ByteRange{from, to});
    from = to;
  }
}

}  // namespace exanet
