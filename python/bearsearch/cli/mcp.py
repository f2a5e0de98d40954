"""`bearsearch mcp`: serve the notes to an agent over the Model Context Protocol."""

import gc

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options

__all__ = ["command"]


@click.command(
    "mcp",
    short_help="Serve the notes to an agent (MCP).",
    cls=Command,
    example="bearsearch mcp\nbearsearch mcp --note-create --vault ~/Notes",
)
@click.option("--note-create", is_flag=True, help="Also offer the tool that creates notes in Bear (macOS).")
@global_options
@pass_options
def command(options: GlobalOptions, /, note_create: bool) -> int:
    """Serve the notes to an agent over MCP, on standard input and output.

    Reads only, unless --note-create is given. The same as the program `bearsearch-mcp`.
    """
    # Imported here: the MCP SDK takes most of a second. It builds hundreds of classes and no garbage, so the collector
    # would only look at them again and again.
    gc.disable()
    from bearsearch.mcp_server.serve import serve

    gc.freeze()
    gc.enable()
    serve(options.open_index, note_create=note_create)
    return 0
