# SPDX-License-Identifier: Apache-2.0
"""Which of the known names was meant by one that is none of them: the measure of the simulator's own registries."""

from __future__ import annotations

from collections.abc import Iterable

from exanet import encoding


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most alike; "" where none is near."""
    from exanet import _core

    return _core.nearest(encoding.shown(name), list(known))


def hint(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'X'?)` for a message, or nothing."""
    meant = nearest(name, known)
    return f" (did you mean '{meant}'?)" if meant else ""
