# SPDX-License-Identifier: Apache-2.0
"""`exanet sim`: a group of three modes, each with the options that mean something in it."""
