# SPDX-License-Identifier: Apache-2.0
"""DUMPI, the traces of SST: read without its library."""
