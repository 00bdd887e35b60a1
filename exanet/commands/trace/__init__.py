# SPDX-License-Identifier: Apache-2.0
"""`exanet trace`: a file a command."""
