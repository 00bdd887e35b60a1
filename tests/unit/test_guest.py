# SPDX-License-Identifier: Apache-2.0
"""Libraries for other processors: is it said what is missing to build them?"""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet.cpu import guest
from exanet.errors import InputError


@pytest.mark.parametrize(("architecture", "package"), [("aarch64", "libc6-dev-arm64-cross"), ("riscv64", "libc6-dev-riscv64-cross")])
def test_a_compiler_without_headers_is_named(architecture: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=f"{architecture}-linux-gnu-gcc is missing: .* gcc-{architecture}-linux-gnu"):
        guest.libraries(architecture)
    compiler = tmp_path / f"{architecture}-linux-gnu-gcc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(InputError, match=f"finds no headers of a C library .* {package}$"):
        guest.libraries(architecture)
