# SPDX-License-Identifier: Apache-2.0
"""Quantities as a person reads them: three figures and a unit."""

from __future__ import annotations

_TIME = ((1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns"), (1.0, "ps"))
_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_COUNT = ((1e12, "T"), (1e9, "G"), (1e6, "M"))


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def time_text(ps: float) -> str:
    """Picoseconds as e.g. `48.3 ms`."""
    if ps == 0:
        return "0 s"
    scale, unit = next((pair for pair in _TIME if ps >= pair[0] * 0.9995), _TIME[-1])
    return f"{_three(ps / scale)} {unit}"


def si_text(value: float, unit: str) -> str:
    """A physical quantity in its unit as e.g. `88.0 mW`."""
    prefixes = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
    if value == 0:
        return f"0 {unit}"
    scale, prefix = next((pair for pair in prefixes if value >= pair[0] * 0.9995), prefixes[-1])
    return f"{_three(value / scale)} {prefix}{unit}"


def bytes_text(count: float) -> str:
    """Bytes as e.g. `1.37 GiB`."""
    scale, unit = next((pair for pair in _BYTES if count >= pair[0]), (1, "B"))
    return f"{count:.0f} B" if scale == 1 else f"{_three(count / scale)} {unit}"


def counted(count: int, thing: str) -> str:
    """E.g. `1 rank` and `2 ranks`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def many_text(count: int, thing: str) -> str:
    """Of what may be very many: `1 packet`, `2 packets`, `9.11 M packets`."""
    return f"{count_text(count)} {thing}{'' if count == 1 else 's'}"


def count_text(count: float) -> str:
    """A number of things as e.g. `9.11 M`; whole below a hundred thousand."""
    if count < 100_000:
        return f"{count:.0f}"
    scale, unit = next((pair for pair in _COUNT if count >= pair[0]), (1e3, "k"))
    return f"{_three(count / scale)} {unit}"
