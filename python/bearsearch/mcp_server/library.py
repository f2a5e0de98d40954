"""The one index that the server's tools share, opened when first needed.

The server answers `initialize` even when the index cannot be opened: then each tool says why, and the next call
tries again.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bearsearch.service import Index

__all__ = ["Library"]

BACKGROUND_DELAY_S = 1.5
"""The client's first messages come first; then the model is loaded and what waits is embedded."""


class Library:
    """Opens an index once, from whichever thread asks first."""

    def __init__(self, open_index: "Callable[[], Index]") -> None:
        self._open_index = open_index
        self._index: Index | None = None
        self._lock = threading.Lock()

    def index(self) -> "Index":
        """The index, opened now if it was not yet.

        Raises:
            BearsearchError: It cannot be opened.
        """
        with self._lock:
            if self._index is None:
                self._index = self._open_index()
                self._index.start_background(delay_s=BACKGROUND_DELAY_S)
            return self._index

    def close(self) -> None:
        """Close the index, if it is open."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None
