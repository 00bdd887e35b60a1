/* SPDX-License-Identifier: Apache-2.0
 * What an instruction takes of an in-order processor: its class and its registers. */
#ifndef EXANET_CPU_DECODE_H
#define EXANET_CPU_DECODE_H

#include <stdint.h>

enum exn_class {
  EXN_ALU,
  EXN_MULTIPLY,
  EXN_DIVIDE,
  EXN_BRANCH,
  EXN_LOAD,
  EXN_STORE,
  EXN_FP_ADD, /* also other operations on floating-point and vector registers */
  EXN_FP_MULTIPLY,
  EXN_FP_MULTIPLY_ADD,
  EXN_FP_DIVIDE,
  EXN_FP_SQUARE_ROOT,
  EXN_CLASSES
};

/* Registers: 0 to 31 are the integer ones, 32 to 63 those of floating point and vectors; EXN_NO_REGISTER where there
   is none, or one that is always zero. */
#define EXN_REGISTERS 64
#define EXN_NO_REGISTER 0xff

struct exn_decoded {
  enum exn_class kind;
  uint8_t to[2];
  uint8_t from[4];
};

/* Of AArch64 (Arm Architecture Reference Manual, DDI 0487, chapter C4), and of RISC-V (RV64GC, the unprivileged
   manual; `bytes` is 2 for a compressed instruction). */
struct exn_decoded exn_decode_aarch64(uint32_t word);
struct exn_decoded exn_decode_riscv64(uint32_t word, unsigned bytes);

#endif
