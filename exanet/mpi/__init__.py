# SPDX-License-Identifier: Apache-2.0
"""Which MPI a program uses, and what each MPI is told so that it goes over our provider."""
