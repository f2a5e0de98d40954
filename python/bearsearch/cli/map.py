"""`bearsearch map`: a picture of the library, as one HTML page that needs no network."""

from pathlib import Path

import click

from bearsearch.cli import complete
from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say

__all__ = ["command"]


@click.command(
    "map",
    short_help="Draw the notes as a page, near ones near.",
    cls=Command,
    example="bearsearch map\nbearsearch map --output notes.html --source work",
)
@click.option(
    "-o",
    "--output",
    default="bearsearch-map.html",
    show_default=True,
    metavar="FILE",
    shell_complete=complete.paths("file"),
    help="Page to write; only you may read it.",
)
@click.option(
    "-n", "--limit", type=int, default=5_000, show_default=True, metavar="N", help="At most the newest N notes."
)
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only notes of this source.")
@click.option("--archived", is_flag=True, help="Archived notes too.")
@global_options
@pass_options
def command(options: GlobalOptions, /, output: str, limit: int, sources: tuple[str, ...], archived: bool) -> int:
    """Write a page on which notes of a like meaning lie near each other.

    A note's colour is its tag, its size the number of notes that it is linked with. The page can be searched and asks
    nothing of any network. It holds titles, tags and links of the notes, not their texts.
    """
    from bearsearch.errors import UsageError
    from bearsearch.map.page import page

    with options.open_index() as index:
        drawn = index.map_notes(limit=limit, sources=sources, archived=archived)
    path = Path(output).expanduser()
    try:
        path.touch(mode=0o600, exist_ok=True)
        path.write_text(page(drawn), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"the page cannot be written to '{output}': {error.strerror or error}") from error
    say([f"{len(drawn.notes)} of {drawn.total} notes are drawn in {output}", *drawn.notices], quiet=options.quiet)
    return 0 if drawn.notes else 1
