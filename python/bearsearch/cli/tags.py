"""`bearsearch tags`: all tags, and how many notes carry each. Exits with 1 when there is none."""

import sys

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import style_of, write

__all__ = ["command"]


@click.command(
    "tags", short_help="List tags with their numbers of notes.", cls=Command, example="bearsearch tags --json"
)
@global_options
@pass_options
def command(options: GlobalOptions, /) -> int:
    """List all tags with the number of notes that carry each; archived notes do not count."""
    form = options.format_among("text", "json", "jsonl")
    with options.open_index() as index:
        tags = index.tags()
    if form == "text":
        from bearsearch.render import as_text

        write(as_text.tags(tags, style=style_of(sys.stdout)))
    else:
        from bearsearch.render import as_json

        document = as_json.tags(tags)
        write(as_json.dumps(document) if form == "json" else as_json.lines(document["tags"]))
    return 0 if tags else 1
