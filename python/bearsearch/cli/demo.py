"""`bearsearch demo`: index a small library that comes with bearsearch, and search it in every mode."""

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options

__all__ = ["command"]


@click.command("demo", short_help="Try it on notes that come with it.", cls=Command, example="bearsearch demo")
@global_options
@pass_options
def command(options: GlobalOptions, /) -> int:
    """Show what bearsearch does, on notes that come with it; your own notes and index are not touched."""
    from bearsearch import demo

    return demo.run(options)
