"""`bearsearch search`: find notes.

Exits with 0 when something was found and 1 when nothing was. The words of the query may stand unquoted; a query that
begins with `-` goes behind `--`, and a single `-` reads the query from standard input, which unlike an argument may
be long and hold any byte.
"""

import re
import sys
from typing import Unpack

import click

from bearsearch.cli.filters import Filters, filter_options
from bearsearch.cli.options import FORMATS, Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, style_of, write
from bearsearch.errors import UsageError

__all__ = ["command"]

MODES = ("auto", "hybrid", "fts", "vector", "like")

MAXIMUM_QUERY_BYTES = 1 << 20
"""Longest query that `search -` reads: 1 MiB. The rest of a longer input is not read."""

_LIKE_AN_EXCLUSION = re.compile(r"-[^\W\d]{2,}")


class SearchCommand(Command):
    """A command that, when its arguments make no sense, tells how a query may begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        given = args[: args.index("--")] if "--" in args else list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            dashed = next((word for word in given if _LIKE_AN_EXCLUSION.fullmatch(word)), None)
            if dashed is None:
                raise
            advice = f"if {dashed!r} belongs to the query, quote the whole query or put `--` before it"
            raise click.UsageError(f"{error.format_message().rstrip('.')}; {advice}", ctx) from error


def words_of(arguments: tuple[str, ...]) -> str:
    """The query that the arguments name: themselves, or standard input for a single `-`.

    Raises:
        UsageError: Standard input holds more than `MAXIMUM_QUERY_BYTES`.
    """
    if arguments == ("-",):
        content = sys.stdin.buffer.read(MAXIMUM_QUERY_BYTES + 1)
        if len(content) > MAXIMUM_QUERY_BYTES:
            raise UsageError(
                f"the query on standard input is longer than {MAXIMUM_QUERY_BYTES:,} bytes; search for a part of it"
            )
        return content.decode("utf-8", errors="replace").strip()
    # A byte that is not UTF-8 arrives in an argument as a lone surrogate, which no index can hold.
    return " ".join(arguments).encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


@click.command(
    "search",
    short_help="Find notes by word, by meaning and despite typos.",
    cls=SearchCommand,
    formats=FORMATS,
    example="bearsearch search weekend hiking plan\nbearsearch search --tag travel --mode fts --json 'night train'",
)
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=int, default=10, show_default=True, metavar="N", help="At most this many notes.")
@click.option("-m", "--mode", type=click.Choice(MODES), default="auto", show_default=True, help="What to search by.")
@click.option("--also", multiple=True, metavar="QUERY", help="Another query; each note's best evidence counts.")
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only this note; one of these, if given twice.")
@filter_options
@click.option("--context", type=int, default=0, metavar="N", help="Show N passages before and behind the best one.")
@click.option("--max-tokens", type=int, metavar="N", help="Whole passages, as many as fit into about N tokens.")
@click.option("--cursor", metavar="CURSOR", help="Go on behind the answer that this cursor comes from.")
@click.option("--diverse", type=click.Choice(("tags", "sources")), help="Hits that repeat those above them come later.")
@click.option("--rerank", is_flag=True, help="Let a cross-encoder order the first hits again; slow.")
@click.option("--fts-syntax", is_flag=True, help="The query is an expression in FTS5's own syntax.")
@click.option(
    "--fusion",
    type=click.Choice(("share", "rrf")),
    default="share",
    show_default=True,
    help="How words and meaning become one list: by what each saw of what is possible, or by ranks.",
)
@click.option("--explain", is_flag=True, help="Show how the query was read and why each note stands where it does.")
@global_options
@pass_options
def command(
    options: GlobalOptions,
    /,
    query: tuple[str, ...],
    limit: int,
    mode: str,
    also: tuple[str, ...],
    ids: tuple[str, ...],
    context: int,
    max_tokens: int | None,
    cursor: str | None,
    diverse: str | None,
    rerank: bool,
    fts_syntax: bool,
    fusion: str,
    explain: bool,
    **filters: Unpack[Filters],
) -> int:
    """Find notes by word, by meaning and despite typos.

    Quote "a phrase" inside the query, exclude with -word, narrow with tag:x, title:x, after:2026-01-01. A single -
    reads the query from standard input.
    """
    from bearsearch.cli.formats import SEARCH

    form = options.output_format
    asked = words_of(query)
    with options.open_index(quick=True) as index:
        result = index.search(
            [asked, *also] if also else asked,
            mode=mode,
            limit=limit,
            ids=ids,
            context=context,
            max_tokens=max_tokens,
            cursor=cursor,
            diverse=diverse,
            rerank=rerank,
            fts_syntax=fts_syntax,
            fusion=fusion,
            explain=explain,
            **filters,
        )
    write(SEARCH.shown(form, result, style=style_of(sys.stdout), explain=explain))
    if form == "text" or result.notices:
        from bearsearch.render.as_text import search_remarks

        say(search_remarks(result, explain=explain), quiet=options.quiet)
    return 0 if result.hits else 1
