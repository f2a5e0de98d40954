"""`bearsearch source`: which Bear databases and folders every call reads."""

import sys

import click

from bearsearch.cli import complete
from bearsearch.cli.options import LIST_FORMATS, Command, GlobalOptions, Group, global_options, pass_options
from bearsearch.cli.output import say, style_of, write
from bearsearch.cli.progress import progress_bar
from bearsearch.errors import SourceError

__all__ = ["command"]


@click.group(
    "source",
    cls=Group,
    short_help="Add, list and remove folders and libraries.",
    example="bearsearch source add ~/Notes --exclude 'archive/'\nbearsearch source list",
)
@global_options
def command() -> None:
    """Manage the folders of Markdown and the Bear databases that every call reads.

    Nothing is ever written to a source.
    """


@command.command(
    "add",
    short_help="Add a folder of Markdown, a Bear database or a backup.",
    cls=Command,
    formats=("text", "json"),
    example="bearsearch source add ~/Notes\n"
    "bearsearch source add ~/Work --name work --exclude 'archive/' --exclude '*.tmp.md'",
)
@click.argument("path", shell_complete=complete.paths("dir"))
@click.option("--name", metavar="NAME", help="What in:NAME calls it; otherwise the folder's name.")
@click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Leave these paths out, in gitignore syntax; may be repeated."
)
@global_options
@pass_options
def add(options: GlobalOptions, /, path: str, name: str | None, exclude: tuple[str, ...]) -> int:
    """Register a folder or database for all later calls, and index its words.

    For a source that is there already, a name or patterns replace those it has.
    """
    form = options.output_format
    with options.open_index() as index, progress_bar(quiet=options.quiet) as progress:
        report = index.add_source(path, name=name, exclude=list(exclude) or None, progress=progress)
    if form == "json":
        from bearsearch.render import as_json

        write(as_json.dumps(as_json.source(report)))
    else:
        from bearsearch.render import as_text

        write(as_text.source(report, style=style_of(sys.stdout)))
    say(["`bearsearch index` computes embeddings"], quiet=options.quiet)
    return 0


@command.command(
    "list",
    short_help="List the sources and what could not be read.",
    cls=Command,
    formats=LIST_FORMATS,
    example="bearsearch source list",
)
@global_options
@pass_options
def list_(options: GlobalOptions, /) -> int:
    """List the sources with what could not be read of each, and why. Exits with 1 when there is none."""
    form = options.output_format
    with options.open_index() as index:
        entries = index.list_sources()
    if form == "text":
        from bearsearch.render import as_text

        write(as_text.sources(entries, style=style_of(sys.stdout)))
    else:
        from bearsearch.render import as_json

        document = as_json.sources(entries)
        write(as_json.dumps(document) if form == "json" else as_json.lines(document["sources"]))
    if any(entry.error for entry in entries):
        return SourceError.exit_code
    return 0 if entries else 1


@command.command(
    "remove", short_help="Forget a source; its notes stay.", cls=Command, example="bearsearch source remove work"
)
@click.argument("name", metavar="NAME_OR_PATH")
@global_options
@pass_options
def remove(options: GlobalOptions, /, name: str) -> int:
    """Forget a source and everything that the index holds of it. The notes themselves are not touched."""
    with options.open_index() as index:
        index.remove_source(name)
    say([f"{name} is not searched any more"], quiet=options.quiet)
    return 0
