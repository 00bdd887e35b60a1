# SPDX-License-Identifier: Apache-2.0
"""What results say of the computer that simulated."""

from __future__ import annotations

import platform

from exanet.results import host


def test_the_system_is_named_as_python_does() -> None:
    assert host.system() == platform.platform()
