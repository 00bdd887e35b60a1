# SPDX-License-Identifier: Apache-2.0
"""One module for each experiment; all are imported when the table is made."""
