# SPDX-License-Identifier: Apache-2.0
"""`python -m exanet`."""

from exanet.cli import main

if __name__ == "__main__":  # worker processes read this module again
    main()
