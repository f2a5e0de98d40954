"""`bearsearch get`: print notes by id or title. Exits with 1 when one that was asked for is missing."""

import sys

import click

from bearsearch.cli import complete
from bearsearch.cli.options import FORMATS, Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, style_of, write
from bearsearch.errors import UsageError

__all__ = ["command"]


@click.command(
    "get",
    short_help="Print notes by id or title.",
    cls=Command,
    formats=FORMATS,
    example="bearsearch get 'Night trains' --lines 10-20\n"
    "bearsearch search --format files night train | bearsearch get -",
)
@click.argument("notes", nargs=-1, required=True, metavar="ID_OR_TITLE...", shell_complete=complete.titles)
@click.option("--lines", metavar="FROM-TO", help="Only these lines, counted from 1: 10, 10-20 or 10:20.")
@global_options
@pass_options
def command(options: GlobalOptions, /, notes: tuple[str, ...], lines: str | None) -> int:
    """Print notes by id, by SOURCE:ID or by title (upper and lower case are the same).

    All notes of one title are printed, the newest first. A single - reads ids from standard input, one per line.
    """
    from bearsearch.cli.formats import GET

    form = options.output_format
    if notes == ("-",):
        notes = tuple(line for line in sys.stdin.buffer.read().decode("utf-8", errors="replace").splitlines() if line)
        if not notes:
            raise UsageError("standard input names no note; write one id or title per line")
    with options.open_index() as index:
        result = index.get(notes, lines=lines)
    write(GET.shown(form, result, style=style_of(sys.stdout)))
    say(result.notices, quiet=options.quiet)
    for missing in result.missing:
        say([f"no note has the id or title {missing!r}; `bearsearch search` finds notes by their words"])
    return 1 if result.missing else 0
