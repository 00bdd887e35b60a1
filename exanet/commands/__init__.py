# SPDX-License-Identifier: Apache-2.0
"""The commands of the command line, one a file: what their options mean, and what they print."""
