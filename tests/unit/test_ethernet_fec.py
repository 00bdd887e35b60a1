# SPDX-License-Identifier: Apache-2.0
"""Are the gateware's tables for RS(528,514) those that their generator prints, and do they agree with a library that
knows nothing of them?"""

import random
import sys
from pathlib import Path

import reedsolo

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gateware/ethernet"))

import fec_tables

ROOT = Path(__file__).resolve().parents[2]
CODEC = reedsolo.RSCodec(14, nsize=1023, fcr=0, prim=0x409, generator=2, c_exp=10)


def parity(value: int, masks: list[int]) -> int:
    """Bits of the parities of a value's masked bits, as the gateware has them."""
    return sum(((value & mask).bit_count() & 1) << bit for bit, mask in enumerate(masks))


def drawn(seed: int) -> list[int]:
    chosen = random.Random(seed)
    return [chosen.randrange(1024) for _ in range(514)]


def test_the_package_is_what_the_generator_prints() -> None:
    assert (ROOT / "gateware/ethernet/rtl/eth_fec_tables_pkg.sv").read_text() == fec_tables.package()


def test_a_remainder_in_ten_steps_is_the_library_s_parity() -> None:
    """Rows of 51, 51, 52, 51 and 52 symbols, each at the end of 52."""
    rows = fec_tables.masks(fec_tables.remainder_columns(52), 140)
    shifts = {n: fec_tables.masks(fec_tables.shift_columns(n), 140) for n in (51, 52)}
    for seed in range(4):
        message = drawn(seed)
        remainder, at = 0, 0
        for symbols in (51, 51, 52, 51, 52) * 2:
            row = [0] * (52 - symbols) + message[at : at + symbols]
            remainder = parity(remainder, shifts[symbols]) ^ parity(fec_tables.packed(row), rows)
            at += symbols
        assert list(CODEC.encode(message)) == message + [remainder >> 10 * i & 1023 for i in range(14)]


def test_the_syndromes_of_the_library_s_codewords_are_zero_and_of_others_are_not() -> None:
    rows = fec_tables.masks(fec_tables.syndrome_columns(), 140)

    def syndromes(word: list[int]) -> list[int]:
        found, at = [0] * 14, 0
        for symbols in (52, 52, 52, 52, 56) * 2:
            added = parity(fec_tables.packed([0] * (56 - symbols) + word[at : at + symbols]), rows)
            moved = [fec_tables.multiply(one, fec_tables.POWERS[symbols * i % 1023]) for i, one in enumerate(found)]
            found = [one ^ (added >> 10 * i & 1023) for i, one in enumerate(moved)]
            at += symbols
        return found

    word = list(CODEC.encode(drawn(5)))
    assert syndromes(word) == [0] * 14
    word[300] ^= 17
    assert 0 not in syndromes(word)


def test_the_bench_s_codeword_is_the_library_s() -> None:
    """gateware/ethernet/tb/fec_test.cpp holds the parity of the message 0, 1, 2, ... 513."""
    text = (ROOT / "gateware/ethernet/tb/fec_test.cpp").read_text()
    listed = text.split("kLibraryParity{")[1].split("}")[0]
    assert [int(number) for number in listed.split(",")] == list(CODEC.encode(list(range(514))))[514:]
