"""The server's log: standard error or a file, and never a word of a note, a query or an error's own text.

Exceptions can carry note text in their messages, and so can what the SDK logs; of both only the kind and the place
are written. Errors that a caller can mend are not logged: they are answered.
"""

import logging
import os
import sys
import traceback
from pathlib import Path
from typing import TextIO

from bearsearch.errors import UsageError

__all__ = ["LOG", "WithoutText", "start"]

LOG = logging.getLogger("bearsearch.mcp")
"""What the server itself says; its messages hold names and numbers only."""


class WithoutText(logging.Formatter):
    """Formats a record as time, level, logger and place; the message only of our own logger.

    An exception is shown as its class and the functions that it passed through.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z")

    def format(self, record: logging.LogRecord) -> str:
        """One record as lines of text."""
        own = record.name == LOG.name
        message = record.getMessage() if own else f"at {record.module}:{record.lineno}"
        text = f"{self.formatTime(record, self.datefmt)} {record.levelname} {record.name}: {message}"
        error = record.exc_info[1] if record.exc_info else None
        while error is not None:
            text += f"\n  {type(error).__name__}"
            for frame in traceback.extract_tb(error.__traceback__):
                text += f"\n    {Path(frame.filename).name}:{frame.lineno} in {frame.name}"
            error = error.__cause__
        return text


def start(file: str | None) -> None:
    """Sends the log of the whole process to standard error, warnings and errors only, or everything to a file.

    Args:
        file: Path of a file to append to, created readable by its owner alone; None takes standard error.

    Raises:
        UsageError: The file cannot be written.
    """
    stream: TextIO = sys.stderr
    if file is not None:
        try:
            descriptor = os.open(Path(file).expanduser(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise UsageError(f"the log cannot be written to '{file}': {error.strerror}") from error
        stream = os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(WithoutText())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    LOG.setLevel(logging.INFO if file is not None else logging.WARNING)
