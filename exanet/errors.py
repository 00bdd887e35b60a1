# SPDX-License-Identifier: Apache-2.0
"""Errors that a user can mend, and those that are the simulator's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class InputError(Exception):
    """Input of the user that cannot be used.

    Carries every problem found, one message each; the command line prints them and exits with status 2, without a
    traceback.
    """

    def __init__(self, messages: str | Iterable[str]) -> None:
        self.messages: list[str] = [messages] if isinstance(messages, str) else list(messages)
        super().__init__("\n".join(self.messages))


class InternalError(RuntimeError):
    """The simulator has found itself in a state that cannot be, which is a defect of it.

    `what` says which, `parameters` what was run: enough to run it again. The command line prints both in one message
    and exits with status INTERNAL_STATUS.
    """

    def __init__(self, what: str, parameters: Mapping[str, Any]) -> None:
        self.what = what
        self.parameters = dict(parameters)
        super().__init__(f"{what}; this is a defect of exanet. What was run: {', '.join(f'{k} {v}' for k, v in self.parameters.items())}")

    def __reduce__(self) -> tuple[type[InternalError], tuple[str, dict[str, Any]]]:
        return InternalError, (self.what, self.parameters)


INTERNAL_STATUS = 70
"""Exit status of a command that ended with an InternalError (the EX_SOFTWARE of BSD)."""
