# SPDX-License-Identifier: Apache-2.0
"""`exanet trace`: what is in a trace."""

from __future__ import annotations

from exanet.commands import single
from exanet.commands.trace import advise, convert, cut, extrapolate, merge, show, stats
from exanet.trace import formats


def _describe() -> None:
    """Inspect, cut, merge, extrapolate or convert a trace of `exanet run --record` or `exanet record`.

    \b
    exanet trace stats trace
    exanet trace advise trace -m exanest
    exanet trace show trace --rank 3
    exanet trace cut trace -o steps --after 3 --until 10
    exanet trace convert trace trace.json
    """


app = single.group(_describe)
app.command(name="stats", context_settings=single.SETTINGS)(stats.command)
app.command(name="advise", context_settings=single.SETTINGS)(advise.command)
app.command(name="show", context_settings=single.SETTINGS)(show.command)
app.command(name="cut", context_settings=single.SETTINGS)(cut.command)
app.command(name="merge", context_settings=single.SETTINGS)(merge.command)
app.command(name="extrapolate", context_settings=single.SETTINGS)(extrapolate.command)
app.command(name="convert", help=formats.help_text(), context_settings=single.SETTINGS)(convert.command)
