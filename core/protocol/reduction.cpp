// SPDX-License-Identifier: Apache-2.0
// Reductions in the interfaces. Each rank hands a part to its node's unit; a unit that has the parts of all its
// branches combines them and hands the sum to the node above; the root's sum comes back down the same tree, into the
// memory of every rank. What that takes is gateware/ni's: a pass over the words for each part.
//
//   part ──▶ at its unit ──▶ (all branches there) ──▶ sum ──▶ packet to the unit above ──▶ ... ──▶ root
//   result ──▶ packets to the units below, then memory of the node's ranks ──▶ completions
//
// Ranks that do not agree in operation, type or length all learn of it, as the parts meet; so do all of a packet that
// is lost. A rank that never comes keeps the others waiting, as in any MPI library: parts that only wait do not go on
// by themselves.
#include "core/protocol/reduction.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "core/protocol/atomic_table.h"
#include "core/protocol/atomics.hpp"
#include "core/protocol/state_machine.hpp"

namespace exanet {

Reduction::Reduction(ReductionTree planned) : tree(std::move(planned)), open(0) {
  for (std::uint32_t n = 0; n < tree.nodes.size(); ++n) {
    const ReductionTree::Node& node = tree.nodes[n];
    units.push_back({std::vector<Part>(node.branches()), node.branches(), {}});
    for (std::uint32_t branch = 0; branch < node.ranks.size(); ++branch)
      places[node.ranks[branch]] = {n, branch, {}, false, false};
  }
  open = places.size();
}

namespace {

// What the unit's lanes do (gateware/ni/rtl/ni_reduce_lanes.sv): integers wrap; of floats, minimum and maximum put -0
// below +0, and whatever is no number is the positive quiet NaN without payload.
template <typename T>
T combined_floats(int op, T a, T b) {
  const T sum = a + b;
  if (op == exanet_op_sum ? std::isnan(sum) : std::isnan(a) || std::isnan(b))
    return std::numeric_limits<T>::quiet_NaN();
  if (op == exanet_op_sum) return sum;
  const bool a_is_less = a < b || (a == b && std::signbit(a));
  return a_is_less == (op == exanet_op_min) ? a : b;
}

template <typename T>
void combine_floats(int op, std::size_t count, std::byte* sum, const std::byte* part) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, sum + i * sizeof(T), sizeof(T));
    std::memcpy(&b, part + i * sizeof(T), sizeof(T));
    a = combined_floats(op, a, b);
    std::memcpy(sum + i * sizeof(T), &a, sizeof(T));
  }
}

void combine(const ReductionDescriptor& shape, std::byte* sum, const std::byte* part) {
  switch (shape.datatype) {
    case exanet_type_f32: return combine_floats<float>(shape.operation, shape.count, sum, part);
    case exanet_type_f64: return combine_floats<double>(shape.operation, shape.count, sum, part);
    default: return atomic_apply(shape.operation, shape.datatype, shape.count, sum, part, nullptr, nullptr);
  }
}

bool same_shape(const ReductionDescriptor& a, const ReductionDescriptor& b) {
  return a.count == b.count && a.operation == b.operation && a.datatype == b.datatype;
}

class Reductions final : public OperationMachine<Operation<ReductionDescriptor>> {
 public:
  explicit Reductions(Context& context) : OperationMachine(context) {
    on_combined_ = context.events.add_handler(
        [](void* self, Time now, std::uint32_t tree, std::uint64_t node) {
          static_cast<Reductions*>(self)->combined(tree, static_cast<std::uint32_t>(node), now);
        },
        this);
  }

  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    begin(rank, static_cast<const ReductionDescriptor&>(d), payload, Time());  // the unit's own steps are in its time
    return true;
  }

  // A part that is lost fails the reduction for all, a result that is lost for those below.
  void reduction_packet_completed(std::uint32_t number, Status status, Time now) override {
    Packet packet = std::move(packets_[number]);
    free_.push_back(number);
    --context_.live;
    if (packet.status == 0) packet.status = completion_status(status);
    if (packet.up)
      part_arrived(packet.tree, packet.node, packet.branch, packet.shape, packet.status, packet.bytes, now);
    else
      spread(packet.tree, packet.node, packet.shape, packet.status, packet.bytes, now);
  }

 private:
  struct Packet {  // on its way between two units of a tree
    bool up;
    std::uint32_t tree, node, branch;  // that it goes to
    ReductionDescriptor shape;
    std::int32_t status;
    std::vector<std::byte> bytes;
  };
  using Bytes = std::vector<std::byte>;

  void execute(std::uint32_t id, Time now) override {
    auto& op = (*this)[id];
    Reduction* const reduction = context_.reduction(op.d.tree);
    if (reduction && reduction->takes(op.rank) && op.payload.size() <= context_.reduction_max()) {
      Reduction::Place& place = reduction->places.at(op.rank);
      place.asked = op.d;
      place.waits = true;
      if (context_.nic->has_trees())
        hand_over(op.d.tree, op.rank, *reduction, place, op.payload, now);
      else
        part_arrived(op.d.tree, place.node, place.branch, op.d, 0, op.payload, now);
    } else {
      answer(op.rank, op.d, -EINVAL, {}, now);
    }
    finish(id);
  }

  void part_arrived(std::uint32_t tree, std::uint32_t node, std::uint32_t branch, const ReductionDescriptor& shape,
                    std::int32_t status, const Bytes& bytes, Time now) {
    Reduction& reduction = *context_.reductions[tree];
    Reduction::Unit& unit = reduction.units[node];
    Reduction::Part& part = unit.parts[branch];
    if (unit.missing == unit.parts.size()) unit.shape = shape;
    part.status = same_shape(shape, unit.shape) ? status : -EINVAL;
    part.bytes.assign(bytes.begin(), bytes.end());
    if (--unit.missing > 0) return;
    ++context_.live;
    context_.events.schedule(context_.after(now, combining(unit, !reduction.tree.nodes[node].below.empty())),
                             on_combined_, tree, node);
  }

  // A pass a part, as long as its words, but at least until a sum can be read by the next pass; then its words go to
  // the packet. What comes in packets is taken whole before. (docs/gateware/reductions.md has the cycles of 8 and of
  // 512 bytes.)
  Time combining(const Reduction::Unit& unit, bool has_nodes_below) const {
    constexpr std::int64_t kLeast = 9;
    const std::int64_t words = context_.router.words(unit.parts[0].bytes.size());
    const auto parts = static_cast<std::int64_t>(unit.parts.size());
    const std::int64_t steps = parts * std::max(words, kLeast) + words * (has_nodes_below ? 2 : 1);
    return context_.config.reduction + context_.config.reduction_word * steps;
  }

  void combined(std::uint32_t tree, std::uint32_t node, Time now) {
    --context_.live;
    Reduction& reduction = *context_.reductions[tree];
    Reduction::Unit& unit = reduction.units[node];
    Bytes sum = unit.parts[0].bytes;
    std::int32_t status = 0;
    for (std::size_t branch = 0; branch < unit.parts.size(); ++branch) {
      const Reduction::Part& part = unit.parts[branch];
      status = std::min(status, part.status);
      if (branch > 0 && status == 0) combine(unit.shape, sum.data(), part.bytes.data());
    }
    if (status != 0) sum.clear();
    unit.missing = unit.parts.size();
    const ReductionTree::Node& here = reduction.tree.nodes[node];
    if (node == 0) return spread(tree, node, unit.shape, status, sum, now);
    send(here.node, reduction.tree.nodes[here.above].node,
         {true, tree, here.above, reduction.tree.branch_above(node), unit.shape, status, std::move(sum)});
  }

  // Nodes below come before the node's own ranks, as others wait behind them.
  void spread(std::uint32_t tree, std::uint32_t node, const ReductionDescriptor& shape, std::int32_t status,
              const Bytes& bytes, Time now) {
    Reduction& reduction = *context_.reductions[tree];
    const ReductionTree::Node& here = reduction.tree.nodes[node];
    for (const std::uint32_t below : here.below)
      send(here.node, reduction.tree.nodes[below].node, {false, tree, below, 0, shape, status, bytes});
    if (node == 0) ++context_.reduced;
    Time at = now;
    const Time words = context_.config.mailbox_word * context_.router.words(bytes.size() + kEnd);
    for (const RankId rank : here.ranks) {
      Reduction::Place& place = reduction.places.at(rank);
      place.waits = false;
      at = context_.after(at, words);
      answer(rank, place.asked, status, bytes, context_.after(at, context_.config.mailbox));
    }
  }

  void send(NodeId from, NodeId to, Packet packet) {
    const auto bytes = static_cast<std::uint32_t>(packet.bytes.size());
    std::uint32_t number = static_cast<std::uint32_t>(packets_.size());
    if (free_.empty()) {
      packets_.push_back(std::move(packet));
    } else {
      number = free_.back();
      free_.pop_back();
      packets_[number] = std::move(packet);
    }
    ++context_.live;
    context_.nic->post(ReductionPacket{from, to, bytes, user(number)});
  }

  // --- Units with trees of their own (core/nic/reductions): parts go to the unit, and its ends say when the result is
  // there, which is worked out when the last part has been handed over, in the units' order.

  void reduction_completed(std::uint32_t number, Status status, Time now) override {
    const Call call = calls_[number];
    free_calls_.push_back(number);
    Reduction& reduction = *context_.reductions[call.tree];
    Reduction::Place& place = reduction.places.at(call.rank);
    place.waits = false;
    if (place.live) --context_.live;
    place.live = false;
    const Bytes none;
    reduction.broken |= status != Status::kOk;
    answer(call.rank, place.asked, completion_status(status), status == Status::kOk ? reduction.result.bytes : none,
           now);
  }

  void hand_over(std::uint32_t tree, RankId rank, Reduction& reduction, Reduction::Place& place, const Bytes& bytes,
                 Time now) {
    const ReductionDescriptor& d = place.asked;
    reduction.units[place.node].parts[place.branch].bytes.assign(bytes.begin(), bytes.end());
    ReductionDescriptor& shape = reduction.units[0].shape;
    if (reduction.handed_over++ == 0) shape = d;
    reduction.broken |= !same_shape(d, shape);
    const bool all = reduction.handed_over == reduction.places.size();
    if (all && !reduction.broken) {
      reduction.result.bytes = sum_of(reduction, 0);
      ++context_.reduced;
    }
    if (all) reduction.handed_over = 0;
    if (context_.zero_cost) return complete_at_once(reduction, all, now);
    std::uint32_t number = static_cast<std::uint32_t>(calls_.size());
    if (free_calls_.empty()) {
      calls_.push_back({tree, rank});
    } else {
      number = free_calls_.back();
      free_calls_.pop_back();
      calls_[number] = {tree, rank};
    }
    const NodeId node = reduction.tree.nodes[place.node].node;
    const auto branch = static_cast<std::uint8_t>(place.branch);
    context_.nic->post(ReductionCall{node, reduction.numbers[place.node], branch, shape_of(d), user(number)});
    // Parts alone do not go on by themselves: the last one does, or one that does not fit.
    for (auto& [its, other] : reduction.places)
      if ((all || reduction.broken) && other.waits && !other.live) {
        other.live = true;
        ++context_.live;
      }
  }

  // Before virtual time begins and behind its end.
  void complete_at_once(Reduction& reduction, bool all, Time now) {
    for (auto& [rank, place] : reduction.places) {
      if (!place.waits || !(all || reduction.broken)) continue;
      place.waits = false;
      const Bytes none;
      answer(rank, place.asked, reduction.broken ? -EINVAL : 0, reduction.broken ? none : reduction.result.bytes, now);
    }
  }

  static Bytes sum_of(const Reduction& reduction, std::uint32_t n) {
    const ReductionTree::Node& node = reduction.tree.nodes[n];
    Bytes sum;
    for (std::size_t branch = 0; branch < node.branches(); ++branch) {
      const std::size_t ranks = node.ranks.size();
      const Bytes part =
          branch < ranks ? reduction.units[n].parts[branch].bytes : sum_of(reduction, node.below[branch - ranks]);
      if (branch == 0)
        sum = part;
      else
        combine(reduction.units[0].shape, sum.data(), part.data());
    }
    return sum;
  }

  // As reduce_operation and reduce_type of spec/packet.yaml number them.
  static ReductionShape shape_of(const ReductionDescriptor& d) {
    constexpr std::array<std::pair<int, std::uint8_t>, 6> kOperations{{{exanet_op_sum, 0},
                                                                       {exanet_op_min, 1},
                                                                       {exanet_op_max, 2},
                                                                       {exanet_op_band, 3},
                                                                       {exanet_op_bor, 4},
                                                                       {exanet_op_bxor, 5}}};
    constexpr std::array<std::pair<int, std::uint8_t>, 6> kTypes{{{exanet_type_i32, 0},
                                                                  {exanet_type_i64, 1},
                                                                  {exanet_type_u32, 2},
                                                                  {exanet_type_u64, 3},
                                                                  {exanet_type_f32, 4},
                                                                  {exanet_type_f64, 5}}};
    const auto number = [](const auto& table, int of) {
      return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == of; })->second;
    };
    return {number(kOperations, d.operation), number(kTypes, d.datatype),
            static_cast<std::uint16_t>(d.count * exanet_type_bytes(d.datatype))};
  }

  void answer(RankId rank, const ReductionDescriptor& asked, std::int32_t status, const Bytes& bytes, Time at) {
    auto done = context_.completion<ReductionCompletion>(rank, asked, at, status);
    done.cookie = asked.cookie;
    done.buffer = asked.buffer;
    done.cpu_ps = static_cast<std::uint32_t>(
        (context_.costs(rank).consume_cpu(bytes.size() + kEnd) + context_.config.mpi_receive).ps());
    context_.host.complete(rank, done, bytes);
  }

  // Bytes behind a result, which say that it is there (spec/packet.yaml: reduce_end).
  static constexpr std::size_t kEnd = 16;
  struct Call {
    std::uint32_t tree;
    RankId rank;
  };
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> free_;
  std::vector<Call> calls_;  // of units with trees of their own, whose ends are to come
  std::vector<std::uint32_t> free_calls_;
  std::uint32_t on_combined_;
};

}  // namespace

std::unique_ptr<StateMachine> make_reduction(Context& context) { return std::make_unique<Reductions>(context); }

}  // namespace exanet
