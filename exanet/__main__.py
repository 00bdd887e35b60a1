# SPDX-License-Identifier: Apache-2.0
"""`python -m exanet`."""

from exanet.cli import main

main()
