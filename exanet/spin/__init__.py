# SPDX-License-Identifier: Apache-2.0
"""Handlers of packets on network interfaces (sPIN): docs/spin.md describes them."""

from exanet.spin.chosen import resolved

__all__ = ["resolved"]
