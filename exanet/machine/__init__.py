# SPDX-License-Identifier: Apache-2.0
"""Machines: the files that describe them (docs/reference/machine-files.md), what is checked, and what the simulator
gets."""

from exanet.machine.machine import Machine, load, names, shipped

__all__ = ["Machine", "load", "names", "shipped"]
