"""`bearsearch similar`: notes near a note. Exits with 0 when there are some, and 1 when there are none."""

import sys

import click

from bearsearch.cli.options import FORMATS, Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, style_of, write

__all__ = ["command"]


@click.command(
    "similar",
    short_help="Find notes near a note in meaning.",
    cls=Command,
    formats=FORMATS,
    example="bearsearch similar 'Trips/Night train.md'",
)
@click.argument("note", metavar="ID")
@click.option("-n", "--limit", type=int, default=10, show_default=True, metavar="N", help="At most this many notes.")
@click.option("--archived", is_flag=True, help="Find notes that their owner put away, too.")
@global_options
@pass_options
def command(options: GlobalOptions, /, note: str, limit: int, archived: bool) -> int:
    """Find notes near a note in meaning, by the vectors that it already has; no model is loaded.

    ID is the id or the title of a note, as search shows them.
    """
    from bearsearch.cli.formats import SEARCH

    form = options.output_format
    with options.open_index() as index:
        result = index.similar(note, limit=limit, archived=archived)
    write(SEARCH.shown(form, result, style=style_of(sys.stdout)))
    if form == "text" or result.notices:
        from bearsearch.render.as_text import search_remarks

        say(search_remarks(result), quiet=options.quiet)
    return 0 if result.hits else 1
