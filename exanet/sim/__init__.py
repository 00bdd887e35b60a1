# SPDX-License-Identifier: Apache-2.0
"""Networks without programs: synthetic traffic at a load, messages, and jobs. docs/simulate.md says what is
measured."""

from exanet.machine.variant import variant
from exanet.sim.points import COSTS, TABLES, figures, packet_options, payload_of, simulate
from exanet.sim.spec import TrafficSpec

__all__ = ["COSTS", "TABLES", "TrafficSpec", "figures", "packet_options", "payload_of", "simulate", "variant"]
