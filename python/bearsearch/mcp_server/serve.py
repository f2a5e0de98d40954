"""The process that serves MCP over standard input and output: what happens before and after the protocol loop.

It ends when its input ends, which is also what a lost parent looks like, and at once on SIGTERM or SIGINT: nothing
has to be put in order, because an index survives being killed at any moment.
"""

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from bearsearch.mcp_server.app import build
from bearsearch.mcp_server.library import Library

if TYPE_CHECKING:
    from bearsearch.service import Index

__all__ = ["serve"]


def serve(open_index: "Callable[[], Index]", *, note_create: bool = False) -> None:
    """Serve until standard input ends.

    Args:
        open_index: Opens the index; called when the server starts, and again by a tool if that failed.
        note_create: Also offer the tool that creates notes.
    """
    # Python's own answer to SIGINT is an exception inside the event loop and a long traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # While it serves, the SDK sends what others print to standard error. What is printed without a line break would
    # stay in Python's buffer and reach the restored standard output at exit, where only the protocol may write.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)
    library = Library(open_index)
    try:
        build(library, note_create=note_create).run("stdio")
    finally:
        library.close()
