# SPDX-License-Identifier: Apache-2.0
"""ExaNet: run unmodified MPI programs on a simulated ExaNet machine."""
