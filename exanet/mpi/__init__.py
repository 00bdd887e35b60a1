# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI that a program uses, and tells each MPI to go over our provider."""
