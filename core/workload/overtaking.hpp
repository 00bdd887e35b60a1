// SPDX-License-Identifier: Apache-2.0
// Counts what networks in which packets overtake each other ask of a receiver that wants them in order.
//
// The table of pairs is soon larger than a cache, and its places are met at random. So arrivals are looked up a batch
// at a time: each is fetched as it comes, and read when the batch is full.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/network/network.hpp"

namespace exanet {

class Overtaking {
 public:
  Overtaking() : places_(kFirstPlaces) {}

  // A packet, created at `created`, has arrived at `now`. Contract: called in the order of arrival of the packets of a
  // pair and class. It is late if it came after one of them that was created later, and that one, and all behind it,
  // had to wait for it. Counted where it was `measured`.
  void arrived(const Packet& packet, Time created, Time now, bool measured) {
    const std::uint64_t pair = (std::uint64_t{packet.src} << 1 | packet.priority) << 32 | packet.dst;
    __builtin_prefetch(&places_[first_place(pair)], 1);
    batch_[waiting_++] = {pair, created, now, measured};
    if (waiting_ == batch_.size()) look_up();
  }

  struct Counted {
    std::uint64_t packets = 0;
    Time latest;  // by how much at most
  };
  Counted counted() {
    look_up();
    return counted_;
  }

 private:
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
  static constexpr std::size_t kFirstPlaces = 1024;  // a power of two, as always

  struct Arrival {
    std::uint64_t pair;
    Time created, now;
    bool measured;
  };
  struct alignas(32) Newest {  // of a pair and class
    std::uint64_t pair = kNobody;
    Time created, arrived;
  };

  std::size_t first_place(std::uint64_t pair) const {
    return (pair * 0x9e3779b97f4a7c15u) >> (64 - std::countr_zero(places_.size()));
  }
  Newest& find(std::uint64_t pair) {
    std::size_t place = first_place(pair);
    while (places_[place].pair != pair && places_[place].pair != kNobody) place = (place + 1) & (places_.size() - 1);
    return places_[place];
  }

  void look_up() {
    for (std::size_t i = 0; i < waiting_; ++i) {
      const Arrival& a = batch_[i];
      Newest& newest = find(a.pair);
      const bool first = newest.pair == kNobody;
      if (first || a.created >= newest.created) {
        newest = {a.pair, a.created, a.now};
        if (first && ++pairs_ > places_.size() / 4 * 3) grow();
      } else if (a.measured && a.now > newest.arrived) {
        ++counted_.packets;
        counted_.latest = max(counted_.latest, a.now - newest.arrived);
      }
    }
    waiting_ = 0;
  }

  void grow() {
    const std::vector<Newest> before = std::exchange(places_, std::vector<Newest>(places_.size() * 2));
    for (const Newest& newest : before)
      if (newest.pair != kNobody) find(newest.pair) = newest;
  }

  std::vector<Newest> places_;
  std::size_t pairs_ = 0, waiting_ = 0;
  std::array<Arrival, 32> batch_;
  Counted counted_;
};

}  // namespace exanet
