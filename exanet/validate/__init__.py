# SPDX-License-Identifier: Apache-2.0
"""Published figures, measured again by running programs on the simulated machine.

`published/` holds the facts as their sources give them, a file for each paper; `experiments/` holds one module for
each experiment, which measures one or more rows, some by running a program of `programs/` under `exanet run`.
`registry.py` lists the kinds of rows. A fact without an experiment says why it is not reproduced.
"""
