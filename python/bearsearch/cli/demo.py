"""`bearsearch demo`: index a small library that comes with bearsearch, and search it in several modes."""

import sys
from pathlib import Path

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options

__all__ = ["command"]


@click.command("demo", short_help="Try it on notes that come with it.", cls=Command, example="bearsearch demo")
@global_options
@pass_options
def command(options: GlobalOptions, /) -> int:
    """Show what bearsearch does, on notes that come with it.

    Your own notes and index are not touched. With --index the demo's index stays, to be searched afterwards.
    """
    from bearsearch.demo.run import run

    run(
        None if options.index is None else Path(options.index),
        sys.stdout,
        model=options.model,
        model_path=None if options.model_path is None else Path(options.model_path),
        semantic=options.semantic is not False,
    )
    return 0
