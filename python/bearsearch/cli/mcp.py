"""`bearsearch mcp`: serve the notes to an agent over the Model Context Protocol."""

import gc
from collections.abc import Callable
from types import ModuleType

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options

__all__ = ["command"]


@click.command(
    "mcp",
    short_help="Serve the notes to an agent (MCP).",
    cls=Command,
    example="bearsearch mcp\nbearsearch mcp --note-create --vault ~/Notes\nbearsearch mcp --http --port 8765",
)
@click.option("--note-create", is_flag=True, help="Also offer the tool that creates notes (Bear, or a Markdown file).")
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine's loopback address, with a token.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Port for --http, 8765 unless given; 0: any.")
@click.option("--jp", is_flag=True, help="Answer in the JP tool protocol: results and errors as JSON in text.")
@click.option("--log-file", metavar="PATH", help="Log calls (never their text) and faults to this file.")
@global_options
@pass_options
def command(
    options: GlobalOptions, /, note_create: bool, http: bool, port: int | None, jp: bool, log_file: str | None
) -> int:
    """Serve the notes to an agent over MCP, on standard input and output.

    Reads only, unless --note-create is given. The same as the program `bearsearch-mcp`. With --http, each client sends
    the token that BEARSEARCH_MCP_TOKEN holds, or that the server keeps in a file of its own.
    """
    if port is not None and not http:
        raise click.UsageError("--port needs --http", ctx=click.get_current_context())
    if http:
        serve = _imported()
        from bearsearch.mcp_server.http import DEFAULT_PORT

        serve.over_http(
            options.open_index,
            port=DEFAULT_PORT if port is None else port,
            note_create=note_create,
            jp_protocol=jp,
            log_file=log_file,
        )
        return 0
    from bearsearch.mcp_server.wire import guarded

    def prepare() -> Callable[[], None]:
        return _imported().over_stdio(options.open_index, note_create=note_create, jp_protocol=jp, log_file=log_file)

    guarded(prepare)
    return 0


def _imported() -> ModuleType:
    # The MCP SDK takes most of a second. It builds hundreds of classes and no garbage, so the collector would only look
    # at them again and again.
    gc.disable()
    from bearsearch.mcp_server import serve

    gc.freeze()
    gc.enable()
    return serve
