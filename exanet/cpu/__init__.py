# SPDX-License-Identifier: Apache-2.0
"""Programs for other processors, under QEMU: docs/cpu.md describes them."""

from exanet.cpu.emulated import Emulated, emulated

__all__ = ["Emulated", "emulated"]
