# SPDX-License-Identifier: Apache-2.0
"""The gateware in Verilator: its models are built on first use, and carry the packets of a run."""
