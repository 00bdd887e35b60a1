# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import pytest
from host import unhurried
from hypothesis import given
from hypothesis import strategies as st

from exanet import units
from exanet.units import UnitError, parse


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("6.4 ns", units.TIME, 6400),
        ("6.4ns", units.TIME, 6400),
        ("1.3 us", units.TIME, 1_300_000),
        ("1.3 µs", units.TIME, 1_300_000),
        ("1e3 ps", units.TIME, 1000),
        ("0", units.TIME, 0),
        ("156.25 MHz", units.FREQUENCY, 156_250_000),
        ("10 Gb/s", units.RATE, 10_000_000_000),
        ("1 GB/s", units.RATE, 8_000_000_000),
        ("4 KiB", units.BYTES, 4096),
        ("4 kB", units.BYTES, 4000),
        ("256 bit", units.BYTES, 32),
        ("64 bit", units.BITS, 64),
        ("8 B", units.BITS, 64),
        ("1 word", units.WORDS, 1),
        ("32 words", units.WORDS, 32),
    ],
)
def test_a_quantity_becomes_whole_base_units(text: str, dimension: units.Dimension, expected: int) -> None:
    assert parse(text, dimension) == expected


@pytest.mark.parametrize(
    ("text", "dimension", "advice"),
    [
        ("6.4", units.TIME, "has no unit"),
        ("0.0005 ns", units.TIME, "not a whole number"),
        ("-1 ns", units.TIME, "zero or more"),
        ("6 NS", units.TIME, "did you mean 'ns'?"),
        ("6 Mhz", units.FREQUENCY, "did you mean 'MHz'?"),
        ("10 Gbps", units.RATE, "did you mean 'Gb/s'?"),
        ("4 KB", units.BYTES, "kB for 1000 or KiB for 1024"),
        ("3 bit", units.BYTES, "not a whole number"),
        ("4 ns", units.BYTES, "'ns' is not a unit of size"),
        ("4M", units.BYTES, "write MB for a power of 1000 or MiB for one of 1024"),
        ("4 K", units.BYTES, "write kB for a power of 1000 or KiB for one of 1024"),
        ("four ns", units.TIME, "not a time"),
        ("", units.TIME, "not a time"),
        ("e5 ns", units.TIME, "not a time"),
        ("1" * 70 + " ns", units.TIME, "not a time"),
    ],
)
def test_a_refusal_says_what_to_write(text: str, dimension: units.Dimension, advice: str) -> None:
    with pytest.raises(UnitError) as refusal:
        parse(text, dimension)
    assert advice in str(refusal.value)


@unhurried
@given(st.integers(0, 10**15))
def test_every_time_reads_back_as_it_was_written(ps: int) -> None:
    assert parse(units.format_time(ps), units.TIME) == ps


@unhurried
@given(st.integers(0, 2**50))
def test_every_size_reads_back_as_it_was_written(count: int) -> None:
    assert parse(units.format_bytes(count), units.BYTES) == count


@unhurried
@given(st.integers(0, 10**13))
def test_every_frequency_reads_back_as_it_was_written(hertz: int) -> None:
    assert parse(units.format_frequency(hertz), units.FREQUENCY) == hertz


@unhurried
@given(st.decimals(0, 10**6, places=6))
def test_no_digit_is_rounded_away(value: object) -> None:
    assert units.parse_exact(f"{value:f} ns", units.TIME) == Fraction(str(value)) * 1000


@unhurried
@given(st.text(max_size=80), st.sampled_from([units.TIME, units.BYTES, units.RATE, units.WORDS]))
def test_any_text_is_a_quantity_or_refused(text: str, dimension: units.Dimension) -> None:
    try:
        assert parse(text, dimension) >= 0
    except UnitError as refusal:
        assert "\n" not in str(refusal)
