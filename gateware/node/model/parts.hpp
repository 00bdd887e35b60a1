// SPDX-License-Identifier: Apache-2.0
// A node out of parts that are Verilated one by one, the router and a link at each inter-tile port, wired as in
// gateware/node/rtl/exanet_node.sv. What is idle is not evaluated, each part for itself.
//
// A part's outputs come from registers, but for a link's release_o, which follows tx_ready_i within the cycle. So a
// cycle is: settle() the links whose tx_ready_i has changed, connect() all parts by what they drive, edge().
//
// A part is at rest when it has been driven with no word, credit or release for kRest cycles, and has driven none:
// further edges would leave it as it is. A link that repeats credits (credit_interval_i) counts cycles, and is never
// idle; without, that register is off.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "Vexanet_link.h"
#include "Vexanet_link___024root.h"
#include "Vexanet_router.h"
#include "Vexanet_router___024root.h"
#include "core/spec/packet.hpp"
#include "gateware/node/model/verilated_ports.hpp"

namespace exanet::gateware {

// A Verilated part, and for how long it has been still.
template <typename Model>
class Part {
 public:
  // Longer than the way of a word or credit through any part, and than a router takes to read out a packet that it
  // discards.
  static constexpr unsigned kRest = 48;

  explicit Part(VerilatedContext* context) : model_(std::make_unique<Model>(context, "part")) {}

  Model* operator->() { return model_.get(); }
  const Model* operator->() const { return model_.get(); }
  bool at_rest() const { return still_ >= kRest; }

  void wake() { still_ = 0; }  // before an edge: something is driven into it
  void see(bool moving) { still_ = moving ? 0 : still_ + 1; }  // behind one: whether it drives something

  // A rising edge of clk_i, with the inputs as they are. No register has the falling edge before it, so the model gets
  // that the clock was low, and is evaluated once in place of twice.
  void edge() {
    model_->rootp->__Vtrigprevexpr___TOP__clk_i__0 = 0;
    model_->eval();
  }
  void reset() {
    model_->rst_ni = 0;
    for (int half = 0; half < 16; ++half) {
      model_->rst_ni = half >= 8;
      model_->clk_i = half % 2;
      model_->eval();
    }
  }

 private:
  std::unique_ptr<Model> model_;
  unsigned still_ = 0;
};

class NodeParts {
 public:
  using Router = Vexanet_router;
  using Link = Vexanet_link;
  using Word = decltype(line_word(std::declval<Link&>().tx_data_o));
  static constexpr unsigned kPorts =
      length_of(static_cast<std::remove_reference_t<decltype(Router::flit_o)>*>(nullptr));
  static constexpr unsigned kIntra = EXANET_INTRA_PORTS, kInter = kPorts - kIntra;

  // `config`: the router's registers, four words; `credit`: threshold and interval of the links' credits, 16 bits each.
  NodeParts(VerilatedContext* context, const std::uint32_t* config, std::uint32_t credit = 0)
      : router_(context), counting_(credit != 0) {
    for (unsigned i = 0; i < 4; ++i) router_->config_i[i] = config[i];
    router_.reset();
    links_.reserve(kInter);
    for (unsigned p = 0; p < kInter; ++p) {
      Part<Link>& link = links_.emplace_back(context);
      link->credit_threshold_i = static_cast<SData>(credit & 0xffff);
      link->credit_interval_i = static_cast<SData>(credit >> 16);
      link.reset();
    }
  }

  bool at_rest() const {
    bool rest = router_.at_rest();
    for (const Part<Link>& link : links_) rest = rest && is_idle(link);
    return rest;
  }

  // Before a cycle's edge: what the transceiver takes and brings, what the network interface brings and gives back. All
  // of it lasts for one cycle.
  bool tx_valid(unsigned p) const { return links_[p]->tx_valid_o != 0; }
  Word tx_data(unsigned p) const { return line_word(links_[p]->tx_data_o); }
  void set_tx_ready(unsigned p, bool ready) {
    if (ready == (links_[p]->tx_ready_i != 0)) return;
    links_[p]->tx_ready_i = ready;
    links_[p]->eval();
  }
  void receive(unsigned p, const Word& word) {
    drive_word(links_[p]->rx_data_i, word);
    links_[p]->rx_valid_i = 1;
    links_[p].wake();
  }
  void inject(unsigned i, const spec::Flit& flit) {
    for (unsigned w = 0; w < flit.raw.size(); ++w) router_->flit_i[kInter + i][w] = flit.raw[w];
    router_.wake();
  }
  void release(unsigned i) {
    router_->release_i |= 1u << (kInter + i);
    router_.wake();
  }

  // Makes the edge in every part that is not at rest. `plugged`: ports with a line; at the others the first word waits
  // for ever.
  void edge(unsigned plugged) {
    connect();
    if (!router_.at_rest()) {
      router_.edge();
      bool moving = false;
      for (unsigned p = 0; p < kPorts; ++p)
        moving |= (router_->flit_o[p][kValidWord] & kValid) != 0 || router_->credit_o[p][0] != 0 ||
                  router_->credit_o[p][1] != 0;
      router_.see(moving);
      // What network interfaces drive lasts for a cycle; what links drive is set again when they do.
      for (unsigned p = 0; p < kPorts; ++p) router_->flit_i[p][kValidWord] = 0;
      router_->release_i = 0;
    }
    for (unsigned p = 0; p < kInter; ++p) {
      Part<Link>& link = links_[p];
      if (is_idle(link)) continue;
      link.edge();
      link->rx_valid_i = 0;
      link.see((link->tx_valid_o != 0 && (plugged >> p & 1u) != 0) || (link->flit_o[kValidWord] & kValid) != 0 ||
               link->credit_o[0] != 0 || link->credit_o[1] != 0);
    }
  }

  // Behind the edge. What comes out of the intra-tile ports of a router at rest is nothing.
  bool router_at_rest() const { return router_.at_rest(); }
  spec::Flit ejected(unsigned i) const {
    spec::Flit flit;
    for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = router_->flit_o[kInter + i][w];
    return flit;
  }
  std::uint32_t discarded() const { return router_->discarded_o; }
  std::uint32_t space(unsigned i) const { return router_->credit_o[kInter + i][0]; }

 private:
  static constexpr unsigned kValidWord = 4;
  static constexpr std::uint32_t kValid = 1u << 3;  // of a flit's fifth word

  // Both ways between the router and its links. What a part at rest drives is nothing, and was nothing when it was last
  // copied.
  void connect() {
    const bool router_moves = !router_.at_rest();
    for (unsigned p = 0; p < kInter; ++p) {
      Part<Link>& link = links_[p];
      const bool link_moves = !is_idle(link);
      if (router_moves) {
        link->flit_i = router_->flit_o[p];
        link->credit_i = router_->credit_o[p];
        if ((link->flit_i[kValidWord] & kValid) != 0 || link->credit_i[0] != 0 || link->credit_i[1] != 0) link.wake();
      }
      if (link_moves) {
        router_->flit_i[p] = link->flit_o;
        router_->credit_i[p] = link->credit_o;
        router_->release_i |= static_cast<unsigned>(link->release_o) << p;
        if ((link->flit_o[kValidWord] & kValid) != 0 || link->credit_o[0] != 0 || link->credit_o[1] != 0 ||
            link->release_o != 0)
          router_.wake();
      }
    }
  }

  bool is_idle(const Part<Link>& link) const { return !counting_ && link.at_rest(); }

  Part<Router> router_;
  std::vector<Part<Link>> links_;
  bool counting_;
};

}  // namespace exanet::gateware
