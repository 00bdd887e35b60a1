# SPDX-License-Identifier: Apache-2.0
"""Reports how the run gets on: one line that changes on a terminal, a line every few seconds elsewhere, nothing when
quiet."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from exanet.quantity import counted

_TERMINAL_EVERY_S = 0.25
_PLAIN_EVERY_S = 5.0
_CLEAR = "\r\x1b[K"


class Progress:
    """Contract: `update` as often as you like; `hide` before anything else is written to the terminal; `note` for a
    message of ours."""

    def __init__(self, *, ranks: int, quiet: bool, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._quiet = quiet
        self._ranks = ranks
        self._began = self._last = time.monotonic()
        self._last_messages = 0
        self._rate = 0.0
        self._shown = False
        self._line_open = False

    def update(self, progress: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if self._quiet or now - self._last < (_TERMINAL_EVERY_S if self._terminal else _PLAIN_EVERY_S):
            return
        if self._line_open:
            return  # the ranks are in the middle of a line, which ours would wipe out
        messages = int(progress["messages"])
        self._rate = (messages - self._last_messages) / (now - self._last)
        self._last, self._last_messages = now, messages
        line = self._line(progress, now - self._began)
        if self._terminal:
            self._stream.write(f"{_CLEAR}{line[:120]}")
            self._shown = True
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def _line(self, progress: Mapping[str, Any], wall_s: float) -> str:
        from exanet.quantity import count_text, time_text

        phase = str(progress["phase"])
        if phase == "starting":
            return f"exanet: starting, {progress['attached']} of {counted(self._ranks, 'rank')} have joined, {wall_s:.0f} s"
        return (
            f"exanet: {phase}, virtual time {time_text(int(progress['virtual_ps']))}, {count_text(int(progress['messages']))} messages, "
            f"{count_text(round(self._rate))} messages/s, {wall_s:.0f} s"
        )

    @property
    def on_terminal(self) -> bool:
        """Whether there is a line that the ranks' own output must not run into."""
        return self._terminal and not self._quiet

    def pass_on(self, output: bytes) -> None:
        """Output of the ranks, for the terminal."""
        self.hide()
        self._stream.flush()
        self._line_open = not output.endswith(b"\n")
        while output:
            output = output[os.write(1 if os.isatty(1) else self._stream.fileno(), output) :]

    def hide(self) -> None:
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._shown = False

    def note(self, text: str) -> None:
        """A warning or an error of the run; shown even when quiet."""
        self.hide()
        self._stream.write(f"exanet: {text}\n")
        self._stream.flush()


@contextmanager
def share_done(what: str, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A function that shows the share done: in a line that is gone afterwards, or every few seconds where there is
    no terminal."""
    terminal = sys.stderr.isatty()
    last = time.monotonic()

    def show(share: float) -> None:
        nonlocal last
        if quiet:
            return
        if terminal:
            print(f"\r\x1b[Kexanet: {what}, {share:.0%}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - last >= _PLAIN_EVERY_S:
            last = time.monotonic()
            print(f"exanet: {what}, {share:.0%}", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if terminal and not quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
