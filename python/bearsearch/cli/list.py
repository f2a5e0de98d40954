"""`bearsearch list`: notes by date, without a query. Exits with 1 when there is none."""

import sys
from typing import Unpack

import click

from bearsearch.cli.filters import Filters, filter_options
from bearsearch.cli.options import FORMATS, Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, style_of, write

__all__ = ["command"]


@click.command(
    "list",
    short_help="List notes by date.",
    cls=Command,
    formats=FORMATS,
    example="bearsearch list --tag work --after 2026-01-01\nbearsearch list -n 1000000",
)
@click.option("-n", "--limit", type=int, default=10, show_default=True, metavar="N", help="At most this many notes.")
@click.option("--offset", type=int, default=0, metavar="N", help="Leave out the first N.")
@filter_options
@global_options
@pass_options
def command(options: GlobalOptions, /, limit: int, offset: int, **filters: Unpack[Filters]) -> int:
    """List notes by date, the newest first."""
    from bearsearch.cli.formats import LIST

    form = options.output_format
    with options.open_index() as index:
        result = index.list(limit=limit, offset=offset, **filters)
    write(LIST.shown(form, result, style=style_of(sys.stdout)))
    say([f"{len(result.notes)} of {result.total} notes", *result.notices], quiet=options.quiet)
    return 0 if result.notes else 1
