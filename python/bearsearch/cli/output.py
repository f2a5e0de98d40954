"""Where words go: results to standard output, everything else to standard error.

Knows what a stream can show (colour, links, width). What is shown is decided by `bearsearch.render`.
"""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import IO

from bearsearch.render.style import Style

__all__ = ["is_terminal", "say", "style_of", "write"]


def is_terminal(stream: IO[str]) -> bool:
    """Whether a person looks at this stream."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def style_of(stream: IO[str]) -> Style:
    """What a stream can show.

    Colour: never with NO_COLOR, always with CLICOLOR_FORCE, else on a terminal that is not `dumb`. Links and a
    width to wrap at: on such a terminal only, so that piped output has one line where the note has one.
    """
    environment = os.environ
    terminal = is_terminal(stream) and environment.get("TERM") != "dumb"
    if environment.get("NO_COLOR"):
        color = False
    elif environment.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        color = True
    else:
        color = terminal
    width = shutil.get_terminal_size().columns if is_terminal(stream) else None
    return Style(color=color, links=terminal and color, width=width)


def write(text: str) -> None:
    """Write a result to standard output; an empty one writes nothing."""
    if text:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()


def say(lines: Iterable[str], *, quiet: bool = False) -> None:
    """Write remarks to standard error, one line each."""
    if quiet:
        return
    style = style_of(sys.stderr)
    for line in lines:
        print(style.dim(line), file=sys.stderr)
