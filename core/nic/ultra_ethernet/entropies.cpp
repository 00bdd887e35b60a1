// SPDX-License-Identifier: Apache-2.0
#include "core/nic/ultra_ethernet/entropies.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "core/config/names.hpp"
#include "core/engine/random.hpp"

namespace exanet {

namespace {

// All entropies in turn, each round in another order.
class Rounds {
 public:
  Rounds(std::uint16_t entropies, Random& random)
      : random_(random), mask_(static_cast<std::uint16_t>(entropies - 1)), order_(draw()) {}

  std::uint16_t present() const { return static_cast<std::uint16_t>((at_ ^ order_) & mask_); }
  void advance() {
    at_ = static_cast<std::uint16_t>((at_ + 1) & mask_);
    if (at_ == 0) order_ = draw();
  }
  std::uint16_t draw() { return static_cast<std::uint16_t>(random_.next() & mask_); }

 private:
  Random& random_;
  std::uint16_t mask_, order_, at_ = 0;
};

class Oblivious : public Entropies {
 public:
  Oblivious(std::uint16_t entropies, std::uint64_t seed, std::uint64_t flow)
      : random_(seed, flow), rounds_(entropies, random_) {}

  std::uint16_t next(Time) override {
    const std::uint16_t entropy = rounds_.present();
    rounds_.advance();
    return static_cast<std::uint16_t>(entropy + 1);
  }
  void feedback(std::uint16_t, Heard, Time) override {}

 protected:
  Random random_;
  Rounds rounds_;
};

class Bitmap : public Oblivious {
 public:
  Bitmap(std::uint16_t entropies, std::uint64_t seed, std::uint64_t flow)
      : Oblivious(entropies, seed, flow), skips_(entropies) {}

  // Each packet takes one penalty off the first entropy that it skips.
  std::uint16_t next(Time now) override {
    bool skipped = false;
    for (std::size_t tries = 0; skips_[rounds_.present()] > 0 && tries <= skips_.size(); ++tries) {
      if (!skipped) --skips_[rounds_.present()];
      skipped = true;
      rounds_.advance();
    }
    return Oblivious::next(now);
  }
  void feedback(std::uint16_t entropy, Heard heard, Time) override {
    constexpr int kPenalties[] = {0, 1, 4, kMost};
    int& skips = skips_[(entropy - 1u) % skips_.size()];
    skips = std::min(skips + kPenalties[static_cast<int>(heard)], kMost);
  }

 private:
  static constexpr int kMost = 15;
  std::vector<int> skips_;
};

class Reps final : public Entropies {
 public:
  Reps(std::uint16_t entropies, std::uint64_t seed, std::uint64_t flow) : random_(seed, flow), entropies_(entropies) {}

  std::uint16_t next(Time) override {
    if (explore_ > 0) {
      --explore_;
      return drawn();
    }
    if (held_ == 0 || (!frozen_ && fresh_ == 0)) return drawn();
    if (frozen_) {
      const std::uint16_t entropy = ring_[cycle_ % held_];
      cycle_ = (cycle_ + 1) % held_;
      return entropy;
    }
    return ring_[(head_ + kRing - fresh_--) % kRing];
  }
  void feedback(std::uint16_t entropy, Heard heard, Time now) override {
    if (heard == Heard::kTimeout && !frozen_ && explore_ == 0) {
      frozen_ = true;
      until_ = now + kFreeze;
    }
    if (frozen_ && now > until_) {
      frozen_ = false;
      head_ = held_ = fresh_ = 0;
      explore_ = kExplore;
    }
    if (heard != Heard::kGood) return;
    ring_[head_] = entropy;
    head_ = (head_ + 1) % kRing;
    held_ = std::min(held_ + 1, kRing);
    fresh_ = std::min(fresh_ + 1, kRing);
  }

 private:
  static constexpr std::uint32_t kRing = 8, kExplore = 16;
  static constexpr Time kFreeze = Time::us(10'000);
  std::uint16_t drawn() { return static_cast<std::uint16_t>(1 + random_.below(entropies_)); }

  Random random_;
  std::uint16_t entropies_;
  std::array<std::uint16_t, kRing> ring_{};
  std::uint32_t head_ = 0, held_ = 0, fresh_ = 0;  // where the next goes; in the ring; of these not used again
  std::uint32_t explore_ = 0, cycle_ = 0;
  bool frozen_ = false;
  Time until_;
};

class Mixed final : public Bitmap {
 public:
  using Bitmap::Bitmap;
  std::uint16_t next(Time now) override {
    if (good_.empty()) return Bitmap::next(now);
    const std::uint16_t entropy = good_.front();
    good_.pop_front();
    return entropy;
  }
  void feedback(std::uint16_t entropy, Heard heard, Time now) override {
    Bitmap::feedback(entropy, heard, now);
    if (heard == Heard::kGood) good_.push_back(entropy);
  }

 private:
  std::deque<std::uint16_t> good_;
};

template <class T>
std::unique_ptr<Entropies> make_entropies(std::uint16_t entropies, std::uint64_t seed, std::uint64_t flow) {
  return std::make_unique<T>(entropies, seed, flow);
}

}  // namespace

const std::vector<EntropiesKind>& entropies_kinds() {
  static const std::vector<EntropiesKind> kinds{
      {"none", "all packets of a flow take one route", nullptr},
      {"oblivious", "each in turn, in rounds of random order", make_entropies<Oblivious>},
      {"bitmap", "in turn, but for those of marked and trimmed packets", make_entropies<Bitmap>},
      {"reps", "those of unmarked acknowledgements again (REPS), else at random", make_entropies<Reps>},
      {"mixed", "those of unmarked acknowledgements again, else as bitmap does", make_entropies<Mixed>}};
  return kinds;
}

const EntropiesKind& entropies_kind(const std::string& name) {
  std::string known;
  for (const EntropiesKind& kind : entropies_kinds()) {
    if (name == kind.name) return kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("ni.load_balancing", "is no load balancing", name, known);
}

}  // namespace exanet
