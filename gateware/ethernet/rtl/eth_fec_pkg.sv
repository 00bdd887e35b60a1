// SPDX-License-Identifier: Apache-2.0
// Arithmetic of RS(528,514) over GF(2^10), the forward error correction of 100GBASE-R (IEEE 802.3 clause 91). Its tables
// are in eth_fec_tables_pkg.
//
// The field is that of x^10 + x^3 + 1, the generator's roots are alpha^0 to alpha^13. Symbol 0 is the first on the line
// and has the highest power; bit 0 of a symbol goes first. Encoder and decoder take a codeword in ten steps: 514 bits of a
// message, or 132 bits of each of four lanes.
package eth_fec_pkg;
  typedef logic [9:0] symbol_t;

  // Coefficients of the product first, each a parity; then x^10 is x^3 + 1.
  function automatic symbol_t multiply(symbol_t a, symbol_t b);
    logic [18:0] product;
    symbol_t folded;
    symbol_t reversed;
    for (int unsigned i = 0; i < 10; i++) reversed[i] = b[9-i];
    for (int unsigned k = 0; k < 10; k++) begin
      product[k] = ^(a & (reversed >> (9 - k)));
      if (k > 0) product[9+k] = ^(a & (reversed << k));
    end
    folded = product[9:0];
    folded ^= 10'(product[18:10]) ^ {product[16:10], 3'b0};
    folded ^= {8'b0, product[18:17]} ^ {5'b0, product[18:17], 3'b0};
    return folded;
  endfunction

  // Squaring is linear.
  function automatic symbol_t square(symbol_t a);
    return multiply(a, a);
  endfunction

  // Where a stage is in a codeword, so many steps behind one that is at step `at`.
  function automatic logic [3:0] behind(logic [3:0] at, int unsigned steps);
    return at >= 4'(steps) ? at - 4'(steps) : at + 4'(10 - steps);
  endfunction
endpackage
