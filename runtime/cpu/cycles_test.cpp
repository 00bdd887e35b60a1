// SPDX-License-Identifier: Apache-2.0
// Does an instruction's word lead to its class and registers, and a block to the cycles of a closed form?
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

extern "C" {
#include "runtime/cpu/cycles.h"
}

namespace {

constexpr std::uint8_t no = EXN_NO_REGISTER;

struct Expected {
  std::uint32_t word;
  exn_class kind;
  std::array<std::uint8_t, 2> to;
  std::array<std::uint8_t, 4> from;
};

void check(const exn_decoded& found, const Expected& expected) {
  CAPTURE(expected.word);
  CHECK(found.kind == expected.kind);
  for (std::size_t i = 0; i < 2; i++) CHECK(found.to[i] == expected.to[i]);
  for (std::size_t i = 0; i < 4; i++) CHECK(found.from[i] == expected.from[i]);
}

exn_cpu cpu() {
  exn_cpu some{};
  some.width = 2;
  for (auto& each : some.latency) each = 1;
  some.latency[EXN_LOAD] = 3;
  some.latency[EXN_MULTIPLY] = 3;
  some.latency[EXN_FP_ADD] = 4;
  some.latency[EXN_FP_MULTIPLY_ADD] = 8;
  some.addend = 4;
  some.latency[EXN_FP_DIVIDE] = 33;
  return some;
}

exn_cpu_cycles both(const std::vector<std::uint32_t>& words, const exn_cpu& some = cpu()) {
  std::vector<exn_decoded> decoded;
  for (const std::uint32_t word : words) decoded.push_back(exn_decode_aarch64(word));
  return exn_cpu_block_cycles(&some, decoded.data(), static_cast<std::uint32_t>(decoded.size()));
}

std::uint32_t cycles(const std::vector<std::uint32_t>& words, const exn_cpu& some = cpu()) {
  return both(words, some).first;
}

std::vector<std::uint32_t> times(std::uint32_t word, std::size_t count) { return std::vector(count, word); }

}  // namespace

TEST_CASE("AArch64: words of the GNU assembler have their class and registers") {
  for (const Expected& each : std::vector<Expected>{
           {0x8b020020, EXN_ALU, {0, no}, {1, 2, no, no}},                     // add x0, x1, x2
           {0x91001483, EXN_ALU, {3, no}, {4, no, no, no}},                    // add x3, x4, #5
           {0x9100001f, EXN_ALU, {no, no}, {0, no, no, no}},                   // mov sp, x0
           {0xd28000e5, EXN_ALU, {5, no}, {no, no, no, no}},                   // mov x5, #7
           {0x10000006, EXN_ALU, {6, no}, {no, no, no, no}},                   // adr x6, .
           {0x9b027c20, EXN_MULTIPLY, {0, no}, {1, 2, no, no}},                // mul x0, x1, x2
           {0x9b020c20, EXN_MULTIPLY, {0, no}, {1, 2, 3, no}},                 // madd x0, x1, x2, x3
           {0x9ac20820, EXN_DIVIDE, {0, no}, {1, 2, no, no}},                  // udiv x0, x1, x2
           {0xb4000003, EXN_BRANCH, {no, no}, {3, no, no, no}},                // cbz x3, .
           {0x14000000, EXN_BRANCH, {no, no}, {no, no, no, no}},               // b .
           {0xd61f0220, EXN_BRANCH, {no, no}, {17, no, no, no}},               // br x17
           {0xf9400020, EXN_LOAD, {0, no}, {1, no, no, no}},                   // ldr x0, [x1]
           {0xf8626820, EXN_LOAD, {0, no}, {1, 2, no, no}},                    // ldr x0, [x1, x2]
           {0xb98004a4, EXN_LOAD, {4, no}, {5, no, no, no}},                   // ldrsw x4, [x5, #4]
           {0xf9000020, EXN_STORE, {no, no}, {1, no, 0, no}},                  // str x0, [x1]
           {0xa9000440, EXN_STORE, {no, no}, {2, no, 0, 1}},                   // stp x0, x1, [x2]
           {0xa9400440, EXN_LOAD, {0, 1}, {2, no, no, no}},                    // ldp x0, x1, [x2]
           {0x6d400440, EXN_LOAD, {32, 33}, {2, no, no, no}},                  // ldp d0, d1, [x2]
           {0x3d800083, EXN_STORE, {no, no}, {4, no, 35, no}},                 // str q3, [x4]
           {0x3dc00083, EXN_LOAD, {35, no}, {4, no, no, no}},                  // ldr q3, [x4]
           {0x58000007, EXN_LOAD, {7, no}, {no, no, no, no}},                  // ldr x7, .
           {0xc85ffc20, EXN_LOAD, {0, no}, {1, no, no, no}},                   // ldaxr x0, [x1]
           {0x4c407c20, EXN_LOAD, {32, no}, {1, no, no, no}},                  // ld1 {v0.2d}, [x1]
           {0x1e622820, EXN_FP_ADD, {32, no}, {33, 34, no, no}},               // fadd d0, d1, d2
           {0x1e620820, EXN_FP_MULTIPLY, {32, no}, {33, 34, no, no}},          // fmul d0, d1, d2
           {0x1e621820, EXN_FP_DIVIDE, {32, no}, {33, 34, no, no}},            // fdiv d0, d1, d2
           {0x1f420c20, EXN_FP_MULTIPLY_ADD, {32, no}, {33, 34, 35, no}},      // fmadd d0, d1, d2, d3
           {0x4e62cc20, EXN_FP_MULTIPLY_ADD, {32, no}, {33, 34, 32, no}},      // fmla v0.2d, v1.2d, v2.2d
           {0x4e62d420, EXN_FP_ADD, {32, no}, {33, 34, no, no}},               // fadd v0.2d, v1.2d, v2.2d
           {0x6e62dc20, EXN_FP_MULTIPLY, {32, no}, {33, 34, no, no}},          // fmul v0.2d, v1.2d, v2.2d
           {0x6e62fc20, EXN_FP_DIVIDE, {32, no}, {33, 34, no, no}},            // fdiv v0.2d, v1.2d, v2.2d
           {0x9e660020, EXN_FP_ADD, {0, no}, {33, no, no, no}},                // fmov x0, d1
       })
    check(exn_decode_aarch64(each.word), each);
  CHECK(exn_decode_aarch64(0x1e61c020).kind == EXN_FP_SQUARE_ROOT);  // fsqrt d0, d1
}

TEST_CASE("RISC-V: words of the GNU assembler have their class and registers") {
  for (const Expected& each : std::vector<Expected>{
           {0x00c58533, EXN_ALU, {10, no}, {11, 12, no, no}},                  // add a0, a1, a2
           {0x00458513, EXN_ALU, {10, no}, {11, no, no, no}},                  // addi a0, a1, 4
           {0x00005537, EXN_ALU, {10, no}, {no, no, no, no}},                  // lui a0, 5
           {0x02c58533, EXN_MULTIPLY, {10, no}, {11, 12, no, no}},             // mul a0, a1, a2
           {0x02c5c533, EXN_DIVIDE, {10, no}, {11, 12, no, no}},               // div a0, a1, a2
           {0x00b50063, EXN_BRANCH, {no, no}, {10, 11, no, no}},               // beq a0, a1, .
           {0x000500e7, EXN_BRANCH, {1, no}, {10, no, no, no}},                // jalr ra, 0(a0)
           {0x0085b503, EXN_LOAD, {10, no}, {11, no, no, no}},                 // ld a0, 8(a1)
           {0x00a5b423, EXN_STORE, {no, no}, {11, 10, no, no}},                // sd a0, 8(a1)
           {0x0085b507, EXN_LOAD, {42, no}, {11, no, no, no}},                 // fld fa0, 8(a1)
           {0x00a5b427, EXN_STORE, {no, no}, {11, 42, no, no}},                // fsd fa0, 8(a1)
           {0x1005b52f, EXN_LOAD, {10, no}, {11, no, no, no}},                 // lr.d a0, (a1)
           {0x02c5f553, EXN_FP_ADD, {42, no}, {43, 44, no, no}},               // fadd.d fa0, fa1, fa2
           {0x12c5f553, EXN_FP_MULTIPLY, {42, no}, {43, 44, no, no}},          // fmul.d fa0, fa1, fa2
           {0x1ac5f553, EXN_FP_DIVIDE, {42, no}, {43, 44, no, no}},            // fdiv.d fa0, fa1, fa2
           {0x6ac5f543, EXN_FP_MULTIPLY_ADD, {42, no}, {43, 44, 45, no}},      // fmadd.d fa0, fa1, fa2, fa3
           {0xa2c5a553, EXN_FP_ADD, {10, no}, {43, 44, no, no}},               // feq.d a0, fa1, fa2
       })
    check(exn_decode_riscv64(each.word, 4), each);
  for (const Expected& each : std::vector<Expected>{
           {0x6588, EXN_LOAD, {10, no}, {11, no, no, no}},                     // c.ld a0, 8(a1)
           {0xe588, EXN_STORE, {no, no}, {11, 10, no, no}},                    // c.sd a0, 8(a1)
           {0x2588, EXN_LOAD, {42, no}, {11, no, no, no}},                     // c.fld fa0, 8(a1)
           {0x952e, EXN_ALU, {10, no}, {10, 11, no, no}},                      // c.add a0, a1
           {0x852e, EXN_ALU, {10, no}, {no, 11, no, no}},                      // c.mv a0, a1
           {0x6522, EXN_LOAD, {10, no}, {2, no, no, no}},                      // c.ldsp a0, 8(sp)
           {0xe42a, EXN_STORE, {no, no}, {2, 10, no, no}},                     // c.sdsp a0, 8(sp)
           {0xa001, EXN_BRANCH, {no, no}, {no, no, no, no}},                   // c.j .
           {0xc101, EXN_BRANCH, {no, no}, {10, no, no, no}},                   // c.beqz a0, .
           {0x8502, EXN_BRANCH, {no, no}, {10, no, no, no}},                   // c.jr a0
           {0x450d, EXN_ALU, {10, no}, {no, no, no, no}},                      // c.li a0, 3
           {0x8d0d, EXN_ALU, {10, no}, {10, 11, no, no}},                      // c.sub a0, a1
       })
    check(exn_decode_riscv64(each.word, 2), each);
}

TEST_CASE("a block of an in-order processor takes the cycles of a closed form") {
  CHECK(cycles({}) == 0);
  CHECK(cycles(times(0x91001483, 10)) == 5);          // independent additions: two a cycle
  CHECK(cycles(times(0x91000400, 10)) == 10);         // add x0, x0, #1: each waits for the last one
  CHECK(cycles(times(0xf9400020, 10)) == 10);         // loads: one a cycle
  CHECK(cycles(times(0x9b027c20, 10)) == 10);         // multiplications: one a cycle
  CHECK(cycles(times(0x1e612800, 10)) == 1 + 9 * 4);  // fadd d0, d0, d1: a chain
  CHECK(cycles(times(0x1f420020, 10)) == 1 + 9 * 4);  // fmadd d0, d1, d2, d0: sums up, the addend forwarded
  CHECK(cycles(times(0x1f420800, 10)) == 1 + 9 * 8);  // fmadd d0, d0, d2, d2: multiplies on
  CHECK(cycles(times(0x1e621820, 3)) == 1 + 2 * 33);  // divisions, not pipelined
  CHECK(cycles({0xf9400020, 0x91000400}) == 4);       // an addition to what a load brings
  exn_cpu one = cpu();
  one.width = 1;
  CHECK(cycles(times(0x91001483, 10), one) == 10);
}

TEST_CASE("a block in a loop waits for what it has left unfinished itself") {
  const std::uint32_t add = 0x1e612800, decrement = 0xf1000442,
                      branch = 0x54ffffc1;  // fadd d0, d0, d1; subs x2, x2, #1; b.ne
  CHECK(both({add, decrement, branch}).again == 4);                // the chain of additions
  CHECK(both({add, add, decrement, branch}).again == 8);
  CHECK(both({0x1f420020, decrement, branch}).again == 4);         // fmadd d0, d1, d2, d0: the addend forwarded
  CHECK(both({0x1f420800, decrement, branch}).again == 8);         // fmadd d0, d0, d2, d2
  CHECK(both({0xf9400000, branch}).again == 3);                    // ldr x0, [x0]: a list
  CHECK(both({0x91001483, decrement, branch}).again == 2);         // nothing to wait for: two a cycle
  CHECK(both({0x1e621820, branch}).again == 33);                   // fdiv: not pipelined
  CHECK(both({}).again == 0);
}

TEST_CASE("data caches: the least recently used line goes, levels add up, and stores wait for nothing") {
  exn_cpu some = cpu();
  some.level[0] = {2, 2, 64};
  some.level[1] = {4, 2, 64};
  some.beyond[0] = 13;
  some.beyond[1] = 100;
  exn_cpu_tags tags = exn_cpu_new_tags(&some);
  std::uint64_t misses[EXN_CPU_LEVELS] = {0, 0};
  const auto load = [&](std::uint64_t address) { return exn_cpu_access(&some, &tags, address, 0, misses); };
  CHECK(load(0) == 113);
  CHECK(load(63) == 0);
  CHECK(load(64) == 113);   // the other set
  CHECK(load(128) == 113);  // the second line of the first one's set
  CHECK(load(0) == 0);
  CHECK(load(256) == 113);  // takes the place of 128, which was used less recently; in the second level that of none
  CHECK(load(0) == 0);
  CHECK(load(128) == 13);   // of the second level
  CHECK(exn_cpu_access(&some, &tags, 4096, 1, misses) == 0);
  CHECK(load(4096) == 0);
  CHECK(misses[0] == 6);
  CHECK(misses[1] == 5);
  exn_cpu_free_tags(&tags);
}
