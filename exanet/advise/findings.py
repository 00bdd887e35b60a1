# SPDX-License-Identifier: Apache-2.0
"""The changes that a replay confirms, the best first.

Model: the trace is replayed as asked for, and once with each change that fits. A finding is what shortens the run by
WORTH_PERCENT or more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from exanet.advise.candidates import Candidate, candidates
from exanet.advise.replayed import Base, base, setting, took_ps
from exanet.replay import Options

WORTH_PERCENT = 1.0
"""Of the run's time, that a change must save in its replay."""

MOST = 3
"""Findings that are shown."""


@dataclass(frozen=True)
class Finding:
    """A change with what it was expected to save, and what its replay saved."""

    candidate: Candidate
    predicted_percent: float
    replayed_percent: float
    took_ps: int

    def text(self) -> str:
        """In words."""
        why, what = self.candidate.why, self.candidate.what
        begins = f"{why[0].upper()}{why[1:]}. {what[0].upper()}{what[1:]}"
        return f"{begins} saves {self.replayed_percent:.1f} % in a replay (predicted: {self.predicted_percent:.1f} %)"


@dataclass(frozen=True)
class Advice:
    """All that was tried: what is confirmed, the best first, and what is not."""

    run: Base
    confirmed: list[Finding]
    others: list[Finding]

    def best(self) -> list[Finding]:
        """The best of each kind, at most MOST of them."""
        kinds: dict[str, Finding] = {}
        for each in self.confirmed:
            kinds.setdefault(each.candidate.kind, each)
        return list(kinds.values())[:MOST]


def advise(options: Options, progress: Callable[[float], None] | None = None) -> Advice:
    """Raises InputError on what cannot be replayed."""
    run = base(setting(options))
    tried = sorted(candidates(run), key=lambda each: -each.saves_ps)
    found = []
    for number, each in enumerate(tried):
        if progress is not None:
            progress(number / len(tried))
        took = took_ps(setting(options, each.change))
        saved = 100.0 * (run.took_ps - took) / run.took_ps
        found.append(Finding(each, 100.0 * each.saves_ps / run.took_ps, saved, took))
    found.sort(key=lambda each: each.took_ps)
    confirmed = [each for each in found if each.replayed_percent >= WORTH_PERCENT]
    return Advice(run, confirmed, [each for each in found if each not in confirmed])
