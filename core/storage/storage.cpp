// SPDX-License-Identifier: Apache-2.0
// Cuts calls on files into pieces, and takes each piece to its device and back (storage.hpp has the model).
#include "core/storage/storage.hpp"

#include <algorithm>
#include <utility>

#include "core/config/error.hpp"

namespace exanet {

namespace {

void check_nodes(std::vector<NodeId> servers, const std::string& path, std::uint32_t nodes) {
  if (servers.empty()) return;
  std::sort(servers.begin(), servers.end());
  require(std::adjacent_find(servers.begin(), servers.end()) == servers.end(), path,
          "a node is named twice: a storage has one server on a node");
  require(servers.back() < nodes, path,
          "node " + std::to_string(servers.back()) + " is none of the machine's " + std::to_string(nodes));
}

void check_servers(const StorageConfig& c, const std::string& path, std::uint32_t nodes) {
  require(!c.servers.empty(), path + "servers", "say on which nodes the servers are, e.g. servers: [0, 4]");
  require(c.chunk_bytes > 0, path + "chunk_bytes", "a chunk must have at least 1 byte");
  require(c.message_bytes > 0, path + "message_bytes", "a request must have at least 1 byte");
  check_nodes(c.servers, path + "servers", nodes);
  check_nodes(c.metadata_servers, path + "metadata_servers", nodes);
}

// Throws ConfigError where the configuration says of names what nothing would come of.
void check_metadata(const StorageConfig& c, const std::string& path) {
  if (c.kind == StorageKind::kCache)
    require(c.metadata_latency == Time{} && c.metadata_queue_depth == 0, path + "metadata_latency_ps",
            "names are those of the servers behind a cache: say it there");
  if (c.metadata_latency == Time{})
    require(c.metadata_queue_depth == 0 && c.metadata_servers.empty(), path + "metadata_latency_ps",
            "say how long an operation on a name takes, or take out the other keys of metadata");
}

// The place in the list of the servers behind a cache; SIZE_MAX: there are none of that name.
std::size_t behind(const StorageConfig& cache, const std::vector<StorageConfig>& storages) {
  for (std::size_t i = 0; i < storages.size(); ++i)
    if (storages[i].name == cache.behind && storages[i].kind == StorageKind::kServers) return i;
  return SIZE_MAX;
}

}  // namespace

void check_storages(const std::vector<StorageConfig>& storages, std::uint32_t nodes) {
  for (const StorageConfig& c : storages) {
    const std::string path = "storage." + c.name + ".";
    require(c.read_rate_bit_per_s > 0 && c.write_rate_bit_per_s > 0, path + "read_rate_bit_per_s",
            "a storage must read and write at more than 0 b/s");
    require(c.queue_depth > 0, path + "queue_depth", "a device must serve at least one request at a time");
    check_metadata(c, path);
    if (c.kind == StorageKind::kServers)
      check_servers(c, path, nodes);
    else
      require(c.servers.empty() && c.metadata_servers.empty(), path + "servers",
              std::string("a ") + name_of(c.kind) + " storage has no servers: take them out, or say kind: servers");
    if (c.kind == StorageKind::kCache)
      require(behind(c, storages) != SIZE_MAX, path + "behind",
              "name a storage of the kind servers, which the cache keeps data of");
    else
      require(c.behind.empty() && c.prefetch_bytes == 0, path + (c.behind.empty() ? "prefetch_bytes" : "behind"),
              "only a cache has it: take it out, or say kind: cache");
  }
}

Storages::Storages(EventQueue& events, StorageNetwork& network, const std::vector<StorageConfig>& storages,
                   std::uint32_t nodes, std::function<void(std::uint32_t, Status, Time)> done)
    : events_(events), network_(network), configs_(storages), done_(std::move(done)) {
  check_storages(configs_, nodes);
  for (const StorageConfig& c : configs_) {
    const DeviceTiming timing{c.read_latency, c.write_latency, c.read_rate_bit_per_s, c.write_rate_bit_per_s,
                              c.queue_depth};
    const auto done = [this](std::uint32_t number, Time now) { stored(number, now); };
    devices_.push_back(std::make_unique<Devices>(events_, timing, done));
    const std::uint32_t names_at_once = c.metadata_queue_depth > 0 ? c.metadata_queue_depth : c.queue_depth;
    const DeviceTiming names{c.metadata_latency, c.metadata_latency, c.read_rate_bit_per_s, c.write_rate_bit_per_s,
                             names_at_once};
    metadata_.push_back(std::make_unique<Devices>(events_, names, done));
    behind_.push_back(static_cast<std::uint32_t>(behind(c, configs_)));
  }
  on_call_ = events_.add_handler([](void* self, Time now, std::uint32_t caller,
                                    std::uint64_t) { static_cast<Storages*>(self)->execute(caller, now); },
                                 this);
}

void Storages::begin(std::uint32_t caller, const StorageCall& call, Time at) {
  if (caller >= calls_.size()) calls_.resize(caller + std::size_t{1});
  calls_[caller] = {.asked = call};
  events_.schedule(max(at, events_.now()), on_call_, caller);
}

void Storages::execute(std::uint32_t caller, Time now) {
  const StorageCall call = calls_[caller].asked;
  const StorageKind kind = configs_[call.storage].kind;
  if (call.action == StorageAction::kMetadata) return ask_for_name(caller, call, now);
  if (kind == StorageKind::kServers) return cut(caller, call, now);
  if (kind == StorageKind::kCache) {
    if (call.action == StorageAction::kRead) return read_cached(caller, call, now);
    return call.action == StorageAction::kWrite ? write_cached(caller, call, now) : flush(caller, call, now);
  }
  calls_[caller].pieces = 1;
  start({caller, call.storage, call.node, call.node, call.action != StorageAction::kRead, call.bytes}, now);
}

void Storages::ask_for_name(std::uint32_t caller, const StorageCall& call, Time now) {
  const bool cache = configs_[call.storage].kind == StorageKind::kCache;
  const std::uint32_t storage = cache ? behind_[call.storage] : call.storage;
  const StorageConfig& c = configs_[storage];
  if (c.metadata_latency == Time{}) return done_(caller, Status::kOk, now);
  const std::vector<NodeId>& servers = c.metadata_servers.empty() ? c.servers : c.metadata_servers;
  const NodeId server = servers.empty() ? call.node : servers[call.file % servers.size()];
  Piece piece{caller, storage, call.node, server, false, 0};
  piece.metadata = true;
  calls_[caller].pieces = 1;
  start(piece, now);
}

NodeId Storages::server_of(std::uint32_t storage, std::uint64_t file, std::uint64_t offset) const {
  const StorageConfig& c = configs_[storage];
  return c.servers[(file + offset / c.chunk_bytes) % c.servers.size()];
}

void Storages::cut(std::uint32_t caller, const StorageCall& call, Time now) {
  const auto piece = [&](std::uint64_t offset, std::uint64_t bytes) {
    ++calls_[caller].pieces;
    const NodeId server = server_of(call.storage, call.file, offset);
    start({caller, call.storage, call.node, server, call.action != StorageAction::kRead, bytes}, now);
  };
  if (call.bytes == 0) return piece(call.offset, 0);
  each_chunk(call.storage, {call.offset, call.offset + call.bytes},
             [&](ByteRange part) { piece(part.begin, part.end - part.begin); });
}

// Contract: never over before it returns.
std::uint32_t Storages::start(const Piece& piece, Time now) {
  std::uint32_t number = static_cast<std::uint32_t>(pieces_.size());
  if (free_.empty())
    pieces_.emplace_back();
  else
    number = free_.back(), free_.pop_back();
  pieces_[number] = piece;
  if (piece.node == piece.device) {
    on_device(number, now);
  } else {
    const std::uint64_t data = piece.writes ? piece.bytes : 0;
    network_.send(piece.node, piece.device, configs_[piece.storage].message_bytes + data, number);
  }
  return number;
}

void Storages::on_device(std::uint32_t number, Time now) {
  Piece& piece = pieces_[number];
  piece.state = State::kOnDevice;
  auto& devices = piece.metadata ? metadata_ : devices_;
  devices[piece.storage]->submit(piece.device, {piece.writes, piece.bytes, number}, now);
}

void Storages::stored(std::uint32_t number, Time now) {
  Piece& piece = pieces_[number];
  if (piece.node == piece.device) return over(number, Status::kOk, now);
  piece.state = State::kToNode;
  const std::uint64_t data = piece.writes ? 0 : piece.bytes;
  network_.send(piece.device, piece.node, configs_[piece.storage].message_bytes + data, number);
}

void Storages::arrived(std::uint32_t number, Status status, Time now) {
  if (status != Status::kOk || pieces_[number].state == State::kToNode) return over(number, status, now);
  on_device(number, now);
}

void Storages::over(std::uint32_t number, Status status, Time now) {
  const Piece piece = pieces_[number];
  free_.push_back(number);
  if (piece.after != After::kNothing) return went_on(piece, number, status, now);
  piece_over(piece.caller, status, now);
}

void Storages::piece_over(std::uint32_t caller, Status status, Time now) {
  if (caller == kNobody) return;
  Call& call = calls_[caller];
  if (call.status == Status::kOk) call.status = status;
  if (--call.pieces == 0) done_(caller, call.status, now);
}

}  // namespace exanet
