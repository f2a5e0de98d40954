"""bearsearch: local hybrid search over a person's notes.

    >>> import bearsearch
    >>> with bearsearch.Index(":demo:") as index:  # doctest: +SKIP
    ...     index.sync()
    ...     index.embed()
    ...     [hit.title for hit in index.search("sourdough starter").hits]

A name is public by standing in ``__all__``. Importing this package loads the compiled engine and nothing heavy: numpy, the
embedding runtime and the MCP SDK are imported where they are first needed.
"""

from bearsearch import errors, types
from bearsearch._core import __version__
from bearsearch.errors import *  # noqa: F403
from bearsearch.service import Index
from bearsearch.types import *  # noqa: F403

__all__ = ["Index", "__version__", "errors", "types", *errors.__all__, *types.__all__]
