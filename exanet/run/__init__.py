# SPDX-License-Identifier: Apache-2.0
"""A program on a simulated machine: its MPI is found, its ranks are started and watched."""
