"""`bearsearch ui`: search while you type, in the whole terminal. Exits with 1 when nothing was chosen with --print."""

import sys
from typing import Unpack

import click

from bearsearch.cli.filters import Filters, filter_options
from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import is_terminal, write
from bearsearch.errors import UsageError

__all__ = ["command"]


@click.command(
    "ui",
    short_help="Search while you type, with the note beside.",
    cls=Command,
    example='bearsearch ui\nbearsearch ui --tag work\nbearsearch get "$(bearsearch ui --print)"',
)
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@click.option(
    "-m",
    "--mode",
    type=click.Choice(("auto", "fts", "vector")),
    default="auto",
    show_default=True,
    help="What to search by.",
)
@filter_options
@click.option("--print", "choose", is_flag=True, help="Enter prints the note's name instead of opening it.")
@global_options
@pass_options
def command(
    options: GlobalOptions, /, query: tuple[str, ...], mode: str, choose: bool, **filters: Unpack[Filters]
) -> int:
    """Search while you type, in the whole terminal, with the note beside and its passage marked.

    Enter opens the note in Bear, Obsidian or its program, Ctrl-O in your editor, Ctrl-Y copies its link. Needs the
    extra `bearsearch[ui]`.
    """
    try:
        import textual  # noqa: F401  # pyright: ignore[reportUnusedImport]  # only whether it is there
    except ImportError as error:
        raise UsageError("`bearsearch ui` needs Textual; install it with: pip install 'bearsearch[ui]'") from error
    # What is shown goes to standard error, so that with --print standard output can be taken by another program.
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError("`bearsearch ui` needs a terminal; `bearsearch search` answers anywhere")
    from bearsearch.ui.app import SearchApp

    with options.open_index() as index:
        chosen = SearchApp(index, query=" ".join(query), mode=mode, filters=filters, choose=choose).run()
    if chosen is not None:
        write(chosen)
    return 1 if choose and chosen is None else 0
