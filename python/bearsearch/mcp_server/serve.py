"""The process that serves MCP: what happens before and after the protocol loop.

Over standard input and output it ends when its input ends or its parent is gone, and at once on SIGTERM or SIGINT:
nothing has to be put in order, because an index survives being killed at any moment.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from bearsearch.mcp_server import log
from bearsearch.mcp_server.app import NotesServer, build
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.wire import end_with_parent

if TYPE_CHECKING:
    from bearsearch.service import Index

__all__ = ["over_http", "over_stdio"]


def over_stdio(
    open_index: "Callable[[], Index]",
    *,
    note_create: bool = False,
    jp_protocol: bool = False,
    log_file: str | None = None,
) -> Callable[[], None]:
    """A server over standard input and output, ready to run until its input ends.

    Args:
        open_index: Opens the index; called now, and again by a tool if that failed.
        note_create: Also offer the tool that creates notes.
        jp_protocol: Results and errors as JSON in text, as the JP program expects them.
        log_file: Log to this file instead of standard error.
    """
    log.start(log_file)
    # Python's own answer to SIGINT is an exception inside the event loop and a long traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    library = Library(open_index)
    app = build(library, note_create=note_create, jp_protocol=jp_protocol)

    def run() -> None:
        end_with_parent()
        try:
            app.run("stdio")
        finally:
            library.close()
        _leave_if_busy()

    return run


def _leave_if_busy() -> None:
    """Ends the process here when the background thread is still computing.

    It is in native code, and an interpreter that shuts down meanwhile aborts. What it stored is stored.
    """
    from bearsearch.background import BACKGROUND_THREAD

    if any(thread.name == BACKGROUND_THREAD and thread.is_alive() for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(0)


def over_http(
    open_index: "Callable[[], Index]", *, port: int, note_create: bool = False, jp_protocol: bool = False,
    log_file: str | None = None,
) -> None:  # fmt: skip
    """Serve over HTTP on the loopback address until the process is told to end.

    Args:
        open_index: Opens the index; called now, and again by a tool if that failed.
        port: Port to listen on; 0 takes a free one.
        note_create: Also offer the tool that creates notes.
        jp_protocol: Results and errors as JSON in text, as the JP program expects them.
        log_file: Log to this file instead of standard error.

    Raises:
        UsageError: The port or the token cannot be used.
    """
    from bearsearch.config import load_settings
    from bearsearch.mcp_server.http import serve_http, token_of

    log.start(log_file)
    token, origin = token_of(load_settings().data_path)
    library = Library(open_index)
    app: NotesServer = build(library, note_create=note_create, jp_protocol=jp_protocol)

    def say(address: str) -> None:
        print(
            f"bearsearch: serving {address}; clients send `Authorization: Bearer` with the token of {origin}",
            file=sys.stderr,
            flush=True,
        )

    try:
        serve_http(app, port=port, token=token, on_ready=say)
    finally:
        library.close()
