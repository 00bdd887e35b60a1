# SPDX-License-Identifier: Apache-2.0
"""Published figures, measured again by running programs on the simulated machine.

`published.yaml` holds the facts as their sources give them; `experiments/` holds one module for each experiment, which
measures one or more rows by running a program of `programs/` under `exanet run`. A row is calibrated (a constant of the
machine file was fixed by it), predicted (no constant was), a bound (ours is to be no worse than theirs, and need not be
the same), or a shape (the source states a trend and no number).
"""
