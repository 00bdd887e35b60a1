# SPDX-License-Identifier: Apache-2.0
"""Files of faults: what fails in a run, and when. docs/faults.md describes them."""

from exanet.faults.read import add, check_restarts
from exanet.faults.start import write

__all__ = ["add", "check_restarts", "write"]
