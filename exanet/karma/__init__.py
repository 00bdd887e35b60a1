# SPDX-License-Identifier: Apache-2.0
"""The KARMA bench: Verilated boards of the network IP with traffic generators, consumers and counters, driven
through their registers."""
