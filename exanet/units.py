# SPDX-License-Identifier: Apache-2.0
"""Quantities with their units, exactly.

A machine file says `6.4 ns`, `10 Gb/s`, `4 KiB`, `156.25 MHz`; the simulator counts whole picoseconds, bits and bytes.
Between the two lie only rational numbers: a value is read as a decimal fraction and multiplied by its unit's exact
factor, and what does not come out whole is refused. Floating point never appears, so 156.25 MHz is 6400 ps and not
6399.999 (docs/adr/0003-exact-units.md).

`b` is bit, `B` is byte, `k` is 1000, `Ki` is 1024.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from exanet.near import nearest

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_NUMBER = re.compile(r"([+-]?)((?:\d+(?:_\d+)*)?(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)\s*(.*)", re.DOTALL)
_LONGEST = 60  # characters; no honest quantity is longer, and it bounds the arithmetic


class UnitError(ValueError):
    """A text is not a quantity of the dimension wanted. The message says what to write instead."""


@dataclass(frozen=True)
class Dimension:
    """A dimension: the units that a quantity may be written in, as exact multiples of one base unit."""

    name: str
    base: str  # suffix of the resolved key, e.g. "ps"
    units: dict[str, Fraction]
    example: str


def _units(base: str, scale: int, prefixes: dict[str, int]) -> dict[str, Fraction]:
    return {prefix + base: Fraction(factor * scale) for prefix, factor in prefixes.items()}


_SECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "μs": 10**6, "ms": 10**9, "s": 10**12}
_BITS = {"bit": Fraction(1), **_units("b", 1, _DECIMAL), **_units("b", 1, _BINARY)}
_BYTES = {**_units("B", 8, _DECIMAL), **_units("B", 8, _BINARY)}
_DATA = {**_BITS, **_BYTES}

TIME = Dimension("time", "ps", {unit: Fraction(factor) for unit, factor in _SECONDS.items()}, "6.4 ns")
FREQUENCY = Dimension("frequency", "hz", _units("Hz", 1, _DECIMAL), "156.25 MHz")
RATE = Dimension("rate", "bit_per_s", {f"{unit}/s": factor for unit, factor in _DATA.items()}, "10 Gb/s")
BITS = Dimension("width", "bits", _DATA, "64 bit")
BYTES = Dimension("size", "bytes", {unit: factor / 8 for unit, factor in _DATA.items()}, "4 KiB")
CYCLES = Dimension("number of clock cycles", "cycles", {"cycle": Fraction(1), "cycles": Fraction(1)}, "4 cycles")
WORDS = Dimension("number of words", "words", {"word": Fraction(1), "words": Fraction(1)}, "32 words")
BLOCKS = Dimension("number of blocks", "blocks", {"block": Fraction(1), "blocks": Fraction(1)}, "16 blocks")
POWER = Dimension("power", "uw", {"uW": Fraction(1), "mW": Fraction(10**3), "W": Fraction(10**6), "kW": Fraction(10**9)}, "88 mW")
_JOULES = {"fJ": 1, "pJ": 10**3, "nJ": 10**6, "uJ": 10**9}
ENERGY = Dimension("energy", "fj", {unit: Fraction(factor) for unit, factor in _JOULES.items()}, "1.5 nJ")
ENERGY_PER_BIT = Dimension(
    "energy of a bit", "fj_per_bit", {f"{unit}/bit": Fraction(factor) for unit, factor in _JOULES.items()}, "16.85 pJ/bit"
)
PERCENT = Dimension("percentage", "percent", {"%": Fraction(1)}, "150 %")
HEIGHT = Dimension("height", "u", {"U": Fraction(1)}, "11 U")


def parse(text: str, dimension: Dimension) -> int:
    """`text` in whole base units of `dimension`.

    Raises:
        UnitError: not a quantity, of another dimension, negative, or not a whole number of base units.
    """
    exact = parse_exact(text, dimension)
    if exact.denominator != 1:
        raise UnitError(f"{text.strip()} is {exact} {dimension.base}, which is not a whole number; choose a value that is")
    return int(exact)


def parse_exact(text: str, dimension: Dimension) -> Fraction:
    """`text` in base units of `dimension`, as an exact fraction. Raises UnitError as parse() does, except for
    fractions."""
    match = _NUMBER.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None or not any(c.isdigit() for c in match[2]) or match[2][0] in "eE":
        raise UnitError(f"{_shown(text)} is not a {dimension.name}; write a number with its unit, e.g. {dimension.example}")
    sign, digits, unit = match.groups()
    value = Fraction(digits.replace("_", ""))
    if not unit:
        if value == 0:
            return value
        raise UnitError(f"{text.strip()} has no unit; a {dimension.name} needs one, e.g. {dimension.example}")
    if unit not in dimension.units:
        raise UnitError(f"{_shown(unit)} is not a unit of {dimension.name}; {_advice(unit, dimension)}")
    if sign == "-" and value:
        raise UnitError(f"{text.strip()} is negative; a {dimension.name} is zero or more")
    return value * dimension.units[unit]


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 40 else flat[:37] + "...")


def _advice(unit: str, dimension: Dimension) -> str:
    spelled = unit.replace("bps", "b/s").replace("Bps", "B/s").replace("bit/s", "b/s").replace("byte", "B")
    if re.fullmatch(r"K[bB](/s)?", spelled):
        small, binary = "k" + spelled[1:], "Ki" + spelled[1:]
        return f"write {small} for 1000 or {binary} for 1024"
    if re.fullmatch(r"[kKMGT]", unit) and f"{unit.upper()}iB" in dimension.units:
        return f"write {unit.replace('K', 'k')}B for a power of 1000 or {unit.upper()}iB for one of 1024"
    folded = {known.lower(): known for known in reversed(dimension.units)}
    meant = spelled if spelled in dimension.units else folded.get(spelled.lower()) or nearest(spelled, dimension.units)
    known = ", ".join(name for name in dimension.units if name != "μs")
    return f"did you mean '{meant}'? (units: {known})" if meant else f"use one of {known}"


def format_time(ps: int) -> str:
    """A time as a person writes it, exact: 286900 -> '286.9 ns'."""
    return _scaled(ps, (("s", 10**12), ("ms", 10**9), ("µs", 10**6), ("ns", 10**3)), "ps", keep_below=10_000_000)


def format_bytes(count: int) -> str:
    """A size, exact, in the unit that makes it the smallest whole number: 4096 -> '4 KiB', 16 * 10**9 -> '16 GB'."""
    whole = [(count * 8 // int(scale), unit) for unit, scale in _BYTES.items() if count * 8 % scale == 0]
    number, unit = min(whole, key=lambda pair: (pair[0], "i" not in pair[1])) if count else (0, "B")
    return f"{number} {unit}"


def format_rate(bit_per_s: Fraction | int) -> str:
    """A rate: 10_000_000_000 -> '10 Gb/s'."""
    return f"{float(Fraction(bit_per_s) / 10**9):g} Gb/s"


def format_frequency(hertz: int) -> str:
    """A frequency: 156_250_000 -> '156.25 MHz'."""
    return _scaled(hertz, (("GHz", 10**9), ("MHz", 10**6), ("kHz", 10**3)), "Hz")


def format_power(microwatts: int) -> str:
    """A power: 88_000 -> '88 mW'."""
    return _scaled(microwatts, (("kW", 10**9), ("W", 10**6), ("mW", 10**3)), "uW")


def format_energy(femtojoules: int) -> str:
    """An energy: 16_850 -> '16.85 pJ'."""
    return _scaled(femtojoules, (("uJ", 10**9), ("nJ", 10**6), ("pJ", 10**3)), "fJ")


def _scaled(count: int, scales: tuple[tuple[str, int], ...], base: str, keep_below: int = 0) -> str:
    for unit, factor in scales:
        if count >= factor and (count >= keep_below or factor <= 1000):
            whole, rest = divmod(count, factor)
            digits = len(str(factor)) - 1
            fraction = f"{rest:0{digits}d}".rstrip("0")
            return f"{whole}.{fraction} {unit}" if fraction else f"{whole} {unit}"
    return f"{count} {base}"
