"""Every exception that bearsearch raises on purpose; the Rust engine raises these very classes.

    BearsearchError
    ├── UsageError (also ValueError)          what was asked has no meaning            exit code 2
    ├── IndexUnavailableError                 the index cannot be opened or written    exit code 3
    │   ├── IndexCorruptError                 the file is damaged
    │   ├── IndexUnwritableError              it can be read and not written
    │   ├── IndexVersionError                 written by a newer bearsearch
    │   └── IndexBusyError                    another process is writing
    ├── SourceError (also OSError)            a source cannot be read                  exit code 4
    │   ├── SourceNotFoundError               nothing is there
    │   ├── SourcePermissionError             the system refuses
    │   ├── SourceBusyError                   its own program holds a lock
    │   └── SourceFormatError                 it is something else, or damaged
    ├── HostError                             a program's settings cannot be changed   exit code 2
    └── ModelError                            no embedding can be computed             exit code 5
        ├── ModelUnavailableError             no model is installed or downloaded
        ├── ModelDamagedError                 a file is not what its hash says
        └── EmbeddingDimensionError           vectors of another width than the index's

A message is one or two sentences: what was expected, what came, what to do next. It never holds note text.
"""

from typing import ClassVar

__all__ = [
    "BearsearchError",
    "EmbeddingDimensionError",
    "HostError",
    "IndexBusyError",
    "IndexCorruptError",
    "IndexUnavailableError",
    "IndexUnwritableError",
    "IndexVersionError",
    "ModelDamagedError",
    "ModelError",
    "ModelUnavailableError",
    "SourceBusyError",
    "SourceError",
    "SourceFormatError",
    "SourceNotFoundError",
    "SourcePermissionError",
    "UsageError",
]


class BearsearchError(Exception):
    """Base of all; catch this to catch everything that bearsearch raises on purpose."""

    exit_code: ClassVar[int] = 3
    """What the command line exits with when this error ends a command."""


class UsageError(BearsearchError, ValueError):
    """The caller asked for something that has no meaning, such as an empty query or a limit of 0."""

    exit_code = 2


class IndexUnavailableError(BearsearchError):
    """The index cannot be opened or written where it was asked for."""

    exit_code = 3


class IndexCorruptError(IndexUnavailableError):
    """The index file is damaged; `bearsearch index` moves it aside and builds it again."""


class IndexUnwritableError(IndexUnavailableError):
    """The index can be read but not written: a full disk, or a folder or file that may not be written."""


class IndexVersionError(IndexUnavailableError):
    """The index was written by a newer bearsearch."""


class IndexBusyError(IndexUnavailableError):
    """Another process held the index's write lock for longer than the busy timeout."""


class SourceError(BearsearchError, OSError):
    """A source cannot be read; what the index holds of it stays as it was."""

    exit_code = 4


class SourceNotFoundError(SourceError):
    """No database or folder at the source's path."""


class SourcePermissionError(SourceError):
    """The system refuses to let this process read the source."""


class SourceBusyError(SourceError):
    """The source's own program kept it locked for longer than the busy timeout."""


class SourceFormatError(SourceError):
    """The file is there and readable, but is not what it should be."""


class HostError(BearsearchError):
    """Another program's settings cannot be changed, or what stands in them does not start the server."""

    exit_code = 2


class ModelError(BearsearchError):
    """No embedding can be computed; words are searched all the same."""

    exit_code = 5


class ModelUnavailableError(ModelError):
    """No embedding model is installed or downloaded, or the package that runs it is missing."""


class ModelDamagedError(ModelError):
    """A model file is not what its hash says."""


class EmbeddingDimensionError(ModelError):
    """Vectors of another width than the index's table for this model."""
