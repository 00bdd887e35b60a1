# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI that a program uses, and sets each MPI to go over our provider."""
