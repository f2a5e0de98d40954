"""`bearsearch status`: what is indexed, what still waits for an embedding, and what runs."""

import sys

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import style_of, write

__all__ = ["command"]


@click.command(
    "status",
    short_help="Show what is indexed and what waits.",
    cls=Command,
    formats=("text", "json"),
    example="bearsearch status --json",
)
@global_options
@pass_options
def command(options: GlobalOptions, /) -> int:
    """Show what is indexed, what still waits, and which model and vector code run."""
    form = options.output_format
    with options.open_index() as index:
        value = index.status()
    if form == "json":
        from bearsearch.render import as_json

        write(as_json.dumps(as_json.status(value)))
    else:
        from bearsearch.render import as_text

        write(as_text.status(value, style=style_of(sys.stdout)))
    return 0
