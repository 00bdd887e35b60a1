// SPDX-License-Identifier: Apache-2.0
// One half of a line's code by itself, out of its reset.
#pragma once

#include "verilated.h"

namespace exanet::gateware {

template <class Model>
struct Half {
  VerilatedContext context;
  Model model{&context};
  Half() {
    model.rst_ni = 1;
    model.clk_i = 0;
    model.eval();
    model.rst_ni = 0;
    model.eval();
    edge();
    model.rst_ni = 1;
    model.eval();
  }
  ~Half() { model.final(); }
  void edge() {
    model.clk_i = 1;
    model.eval();
    model.clk_i = 0;
    model.eval();
  }
};

}  // namespace exanet::gateware
