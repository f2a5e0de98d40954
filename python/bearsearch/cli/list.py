"""`bearsearch list`: notes by date, without a query. Exits with 1 when there is none."""

import sys
from typing import Unpack

import click

from bearsearch.cli.filters import Filters, filter_options
from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, style_of, write

__all__ = ["command"]


@click.command(
    "list",
    short_help="List notes by date.",
    cls=Command,
    example="bearsearch list --tag work --after 2026-01-01\nbearsearch list -n 1000000",
)
@click.option("-n", "--limit", type=int, default=10, show_default=True, metavar="N", help="At most this many notes.")
@click.option("--offset", type=int, default=0, metavar="N", help="Leave out the first N.")
@filter_options
@global_options
@pass_options
def command(options: GlobalOptions, /, limit: int, offset: int, **filters: Unpack[Filters]) -> int:
    """List notes by date, the newest first."""
    form = options.format_among("text", "json", "jsonl", "md", "xml", "files")
    with options.open_index() as index:
        result = index.list(limit=limit, offset=offset, **filters)
    match form:
        case "json" | "jsonl":
            from bearsearch.render import as_json

            document = as_json.notes(result)
            write(as_json.dumps(document) if form == "json" else as_json.lines(document["notes"]))
        case "md":
            from bearsearch.render import as_markdown

            write(as_markdown.notes(result))
        case "xml":
            from bearsearch.render import as_xml

            write(as_xml.notes(result))
        case "files":
            write("".join(f"{note.source}:{note.id}\n" for note in result.notes))
        case _:
            from bearsearch.render import as_text

            write(as_text.notes(result, style=style_of(sys.stdout)))
    say([f"{len(result.notes)} of {result.total} notes", *result.notices], quiet=options.quiet)
    return 0 if result.notes else 1
