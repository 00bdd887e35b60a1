# SPDX-License-Identifier: Apache-2.0
"""Results of one kind side by side: `figures` joins what `runs`, `simulations` and `sweeps` read, `sentences`
say how they differ and `causes` why, `text` and `page` show them."""

from exanet.callable import as_function

as_function(__name__)
