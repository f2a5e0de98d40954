"""`bearsearch uninstall`: take the MCP server out of a program's settings."""

import click

from bearsearch.cli.install import HOST_NAMES, host_of
from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say

__all__ = ["command"]


@click.command(
    "uninstall",
    short_help="Take the MCP server out of a program's settings.",
    cls=Command,
    example="bearsearch uninstall claude-desktop",
)
@click.argument("host", type=click.Choice(HOST_NAMES))
@click.option("--print", "only_print", is_flag=True, help="Show what stands in the file; change nothing.")
@global_options
@pass_options
def command(options: GlobalOptions, /, host: str, only_print: bool) -> int:
    """Take the MCP server out of a program's settings. Notes, index and everything else stay.

    The file is copied first. Exits with 1 when there is no entry.
    """
    from bearsearch.cli.output import write
    from bearsearch.install import settings

    found = host_of(host)
    entry = settings.read_entry(found)
    if entry is None:
        say([f"{found.title} has no entry for bearsearch, in '{found.path()}'"], quiet=options.quiet)
        return 1
    if only_print:
        say([f"{found.title} reads '{found.path()}'"], quiet=options.quiet)
        write(settings.fragment(found, entry))
        return 0
    change = settings.removed(found)
    if change is not None:
        say(
            [f"{found.title}: '{change.path}' is written; the file before: '{change.backup}'", f"now {found.after}"],
            quiet=options.quiet,
        )
    return 0
