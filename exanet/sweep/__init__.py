# SPDX-License-Identifier: Apache-2.0
"""`exanet sweep`: many simulations of one question, on Dask.

plan.py says which runs a sweep is made of, checks.py whether they can be, execute.py runs those that are not in the
journal, results.py makes one table and one page.
"""

from exanet.callable import as_function

as_function(__name__)  # exanet.sweep(...) is that of exanet/api.py
