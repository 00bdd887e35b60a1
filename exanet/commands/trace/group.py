# SPDX-License-Identifier: Apache-2.0
"""`exanet trace`: what is in a trace."""

from __future__ import annotations

import typer

from exanet.commands.trace import convert, cut, extrapolate, merge, show, stats
from exanet.trace import formats

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
app.command(name="stats")(stats.command)
app.command(name="show")(show.command)
app.command(name="cut")(cut.command)
app.command(name="merge")(merge.command)
app.command(name="extrapolate")(extrapolate.command)
app.command(name="convert", help=formats.help_text())(convert.command)


@app.callback()
def _describe() -> None:
    """Inspect, cut, merge, extrapolate or convert a trace of `exanet run --record` or `exanet record`.

    \b
    exanet trace stats trace
    exanet trace show trace --rank 3
    exanet trace cut trace -o steps --after 3 --until 10
    exanet trace convert trace trace.json
    """
