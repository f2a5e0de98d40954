"""What the rest of bearsearch sees of a model: texts in, unit vectors out.

`LocalEmbedder` and `RemoteEmbedder` fulfil this; nothing here computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder"]


class Embedder(Protocol):
    """A loaded model. Safe to use from several threads at once: a query need not wait for documents."""

    @property
    def name(self) -> str:
        """What is stored in the index and shown, such as "BAAI/bge-small-en-v1.5"."""
        ...

    @property
    def fingerprint(self) -> str:
        """64 hex digits; vectors may be compared exactly when theirs are equal."""
        ...

    @property
    def dim(self) -> int:
        """Width of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest text that is embedded in one piece, prefix and special tokens already subtracted."""
        ...

    @property
    def document_prefix(self) -> str:
        """What is put before each document."""
        ...

    @property
    def query_prefix(self) -> str:
        """What is put before each query."""
        ...

    @property
    def windowed(self) -> int:
        """How many texts were too long so far and became the mean of several windows."""
        ...

    @property
    def floor(self) -> float:
        """Mean cosine of a query and a passage that have nothing to do with each other; measured at first use.

        Raises:
            ModelError: It was not known, and the model failed.
        """
        ...

    def fluency(self, text: str) -> float:
        """How well the model's vocabulary covers a query, in [0, 1]; 1.0 where that cannot be known."""
        ...

    def embed_documents(self, texts: Sequence[str], *, threads: int | None = None) -> NDArray[np.float32]:
        """Embeds passages; the document prefix is added inside.

        Args:
            texts: Passages; any length, also empty.
            threads: Cores to use for this call; None takes the embedder's own number.

        Returns:
            float32, shape (len(texts), dim), C-contiguous, rows of length 1, owned by the caller.

        Raises:
            ModelError: The model failed; nothing of the call is kept.
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embeds one query; the query prefix is added inside.

        A query longer than four times the model's limit is embedded from that much of its beginning, so that a
        pasted book cannot hold up an answer.

        Returns:
            float32, shape (dim,), of length 1.

        Raises:
            ModelError: The model failed.
        """
        ...
