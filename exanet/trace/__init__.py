# SPDX-License-Identifier: Apache-2.0
"""Recorded programs: the folder of a trace, its figures, and its replay on a machine. docs/traces/files.md says what
each file holds."""
