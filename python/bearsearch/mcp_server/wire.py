"""Standard output while a server starts, serves and ends: only the protocol may write to it.

The SDK protects it while it serves. Before that, libraries print while they are imported, and afterwards Python
writes out what was left in its buffer; this covers both. Imports nothing heavy, so it can stand before the SDK.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Generator

__all__ = ["end_with_parent", "guarded"]

PARENT_CHECK_S = 2.0
"""How often to look whether the parent is still there."""


def guarded(prepare: Callable[[], Callable[[], None]]) -> None:
    """Prepare and run a server, with standard output closed to everyone else.

    Args:
        prepare: Imports and builds; what it prints goes to standard error. Returns what serves.
    """
    with _diverted():
        run = prepare()
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # While it serves, the SDK sends prints to standard error; line by line, so that they appear in time.
        reconfigure(line_buffering=True)
    try:
        run()
    finally:
        # The SDK has given the descriptor back, and Python will write to it at exit what was printed without an end.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(2, 1)


@contextlib.contextmanager
def _diverted() -> Generator[None]:
    try:
        saved = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # no descriptor 1 or 2: nothing to protect
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def end_with_parent() -> None:
    """End this process when its parent is gone.

    Usually standard input ends then. It does not when some other process holds its other end, such as a sibling that
    inherited it; then only the changed parent tells.
    """
    if not hasattr(os, "getppid") or sys.platform == "win32":
        return
    parent = os.getppid()

    def watch() -> None:
        while not ended.wait(PARENT_CHECK_S):
            if os.getppid() != parent:
                # Nothing has to be put in order: an index survives being killed at any moment.
                os._exit(0)

    ended = threading.Event()
    threading.Thread(target=watch, name="bearsearch-parent", daemon=True).start()
