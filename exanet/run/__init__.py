# SPDX-License-Identifier: Apache-2.0
"""A program on a simulated machine: its MPI is found, its ranks are started and watched."""

from exanet.callable import as_function

as_function(__name__)  # exanet.run(...) is that of exanet/api.py
