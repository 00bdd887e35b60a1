# SPDX-License-Identifier: Apache-2.0
"""What would make a recorded program faster on a machine: changes that its critical path suggests, each of them
replayed."""

from exanet.advise.findings import Advice, Finding, advise

__all__ = ["Advice", "Finding", "advise"]
