"""`bearsearch tags`: all tags, and how many notes carry each. Exits with 1 when there is none."""

import sys

import click

from bearsearch.cli.options import FORMATS, Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import style_of, write

__all__ = ["command"]


@click.command(
    "tags",
    short_help="List tags with their numbers of notes.",
    cls=Command,
    formats=FORMATS,
    example="bearsearch tags\nbearsearch tags --format files | fzf",
)
@global_options
@pass_options
def command(options: GlobalOptions, /) -> int:
    """List all tags with the number of notes that carry each; archived notes do not count."""
    from bearsearch.cli.formats import TAGS

    form = options.output_format
    with options.open_index() as index:
        tags = index.tags()
    write(TAGS.shown(form, tags, style=style_of(sys.stdout)))
    return 0 if tags else 1
