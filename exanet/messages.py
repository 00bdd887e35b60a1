# SPDX-License-Identifier: Apache-2.0
"""Flows from Python: `run_flows` carries them out at flow level, one by one, with what each of them waits for."""

from exanet.sim.messages import Flow, run_flows

__all__ = ["Flow", "run_flows"]
