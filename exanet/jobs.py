# SPDX-License-Identifier: Apache-2.0
"""Jobs from Python: `finish` runs them to their end."""

from exanet.sim.jobs import Job, finish

__all__ = ["Job", "finish"]
