# SPDX-License-Identifier: Apache-2.0
"""Results of runs and replays side by side: `figures` joins them, `text` shows them on the terminal."""

from exanet.callable import as_function

as_function(__name__)
