"""The models of one open index: which one embeds, loaded once and kept until the index is closed.

Holds everything about models that outlives a call, and nothing else does. Models themselves are `bearsearch.embedding`,
imported only when one is looked for. What is embedded, and when, is decided in `embedding` and `queries`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from bearsearch.config import Settings
from bearsearch.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bearsearch.embedding import Embedder, ModelChoice
    from bearsearch.embedding.rerank import Reranker

__all__ = ["Models", "chunk_tokens"]

REMEMBERED_QUERIES = 512
"""Query embeddings that are kept, for whoever pages or asks again in another mode: less than a megabyte."""

MAX_CHUNK_TOKENS = 512
"""Models that take more tokens get chunks of 300 words all the same, so a larger limit changes nothing."""


class Models:
    """The embedding model and the reranker, each found and loaded when it is first needed.

    Args:
        settings: Which model is wanted, and where its files may be.
        index_model: Name of the model that the index was embedded with, if it was; asked when a model is looked for.
        quick: The model loads faster and embeds slower.
    """

    def __init__(self, settings: Settings, *, index_model: Callable[[], str | None], quick: bool) -> None:
        self.embedder: Embedder | None = None
        """Set once it is loaded."""
        self.settings = settings
        self._index_model = index_model
        self._quick = quick
        self._asked_before: dict[str, NDArray[np.float32]] = {}
        self._reranker: Reranker | None = None
        self._loading = threading.Lock()
        self._choice: ModelChoice | None = None
        self._looked_with_leave = False

    def close(self) -> None:
        """Lets go of all models; using one again loads it again."""
        self.embedder = None
        self._asked_before = {}
        self._reranker = None
        self._choice = None

    def find_model(
        self, *, allow_download: bool = False, on_message: Callable[[str], None] | None = None
    ) -> ModelChoice:
        """The model that would embed now; looks for files only. Kept, because looking costs some file operations."""
        from bearsearch.embedding import find_model

        # Without leave a damaged download passes for one that is there: its files are read when the model is loaded.
        if self._choice is None or (allow_download and not self._looked_with_leave):
            index_model = self._index_model()
            self._looked_with_leave = allow_download
            self._choice = find_model(
                self.settings,
                allow_download=allow_download,
                index_model=index_model,
                on_message=on_message,
            )
        return self._choice

    def prepare_model(self, on_message: Callable[[str], None] | None) -> None:
        """Before a new index is embedded: makes the faster form of the weights package, once on a machine."""
        from bearsearch.embedding import PACKAGE_MODEL

        choice = self.find_model()
        if choice.name != PACKAGE_MODEL or choice.origin != "package" or self._index_model() is not None:
            return
        from bearsearch.embedding.prepare import can_prepare, prepare

        if can_prepare():
            # The package's own file serves as well, only slower.
            with contextlib.suppress(ModelError):
                prepare(self.settings, on_message=on_message)
                self._choice = None

    def load_embedder(
        self, *, allow_download: bool = False, on_message: Callable[[str], None] | None = None
    ) -> Embedder:
        """The model that embeds, loaded by the first call.

        Raises:
            ModelError: There is none, or it cannot be run.
        """
        from bearsearch.embedding import load_embedder

        with self._loading:
            if self.embedder is None:
                choice = self.find_model(allow_download=allow_download, on_message=on_message)
                self.embedder = load_embedder(choice, self.settings, quick=self._quick)
            return self.embedder

    def embedded(self, embedder: Embedder, text: str) -> NDArray[np.float32]:
        """The embedding of a query; one that was asked lately is not computed again."""
        known = self._asked_before.get(text)
        if known is None:
            known = embedder.embed_query(text)
            if len(self._asked_before) >= REMEMBERED_QUERIES:
                self._asked_before = {}
            self._asked_before[text] = known
        return known

    def load_reranker(self) -> Reranker:
        """The cross-encoder.

        Raises:
            ModelError: It is not there or cannot be run.
        """
        if self._reranker is None:
            from bearsearch.embedding.rerank import load_reranker

            self._reranker = load_reranker(self.settings)
        return self._reranker


def chunk_tokens(choice: ModelChoice) -> int | None:
    """What the model takes of one passage, its prefix taken off; None leaves the index's chunks as they are."""
    if choice.spec is None or not choice.available:
        return None
    # A prefix is English prose, where three characters make no more than a token.
    limit = choice.spec.max_tokens or MAX_CHUNK_TOKENS
    return min(limit, MAX_CHUNK_TOKENS) - len(choice.document_prefix) // 3
