# SPDX-License-Identifier: Apache-2.0
"""Errors that a user can mend."""

from __future__ import annotations

from collections.abc import Iterable


class InputError(Exception):
    """What the user gave cannot be used.

    Carries every problem found, one message each; the command line prints them and exits with status 2, without a traceback.
    """

    def __init__(self, messages: str | Iterable[str]) -> None:
        self.messages: list[str] = [messages] if isinstance(messages, str) else list(messages)
        super().__init__("\n".join(self.messages))
