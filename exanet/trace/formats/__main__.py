# SPDX-License-Identifier: Apache-2.0
"""Prints the page of formats: python -m exanet.trace.formats > docs/reference/trace-formats.md"""

from exanet.trace.formats import page

print(page(), end="")
