"""What the model makes of a query: its embedding, or the reason why it has none."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bearsearch.errors import IndexBusyError, IndexUnwritableError, ModelError
from bearsearch.service.embedding import embed
from bearsearch.service.open_index import OpenIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["VECTOR_MODES", "ask_model", "embed_query", "without_nul"]

INLINE_EMBED_MS = 300
"""How long a search may spend on embedding what waits, before it answers."""

VECTOR_MODES = frozenset({"auto", "hybrid", "vector"})


class Asked(NamedTuple):
    """What the model makes of a call's queries."""

    fingerprint: str | None = None
    """Of the model; None when there is no embedding."""
    embeddings: Sequence[NDArray[np.float32] | None] = ()
    """One for each query; None for one without words."""
    fluencies: Sequence[float] = ()
    """How well the model's vocabulary covers each query, in [0, 1]."""
    floor: float = 0.0
    """Cosine of texts that have nothing to do with each other."""
    reason: str | None = None
    """Why there is no embedding, as a clause."""


def ask_model(index: OpenIndex, queries: list[str], *, mode: str) -> Asked:
    """The queries' embeddings, or the reason why there are none.

    Raises:
        ModelError: `mode` is vector and no model can be loaded.
    """
    if mode not in VECTOR_MODES:
        return Asked()
    try:
        return _embed_queries(index, queries, wait=mode == "vector")
    except ModelError as error:
        if mode == "vector":
            raise
        return Asked(reason=str(error))


def _embed_queries(index: OpenIndex, queries: list[str], *, wait: bool) -> Asked:
    """The queries' embeddings, or the reason why there are none.

    Args:
        queries: What a person typed.
        wait: Load the model now, even where a background thread is about to.

    Raises:
        ModelError: No model can be loaded.
    """
    if not index.settings.semantic:
        return Asked(reason="embeddings are switched off (--no-semantic)")
    if index.engine.status()["chunks"] == 0:
        return Asked(reason="the index is empty")
    if (
        index.background is not None
        and index.models.embedder is None
        and not wait
        and index.models.find_model().available
    ):
        index.background.wake()
        return Asked(reason="the embedding model is being loaded; ask again in a moment")
    embedder = index.models.load_embedder()
    live = index.live_model()
    # With another model a search must not begin to embed the whole library anew; the engine names the mismatch. A
    # background thread embeds beside the queries.
    same_model = live is None or live["fingerprint"] == embedder.fingerprint
    if same_model and index.background is None:
        # What cannot be stored now waits on; the answer says that the index could not be brought up to date.
        with contextlib.suppress(IndexBusyError, IndexUnwritableError):
            embed(index, budget_ms=INLINE_EMBED_MS)
    texts = [index.engine.embedding_text(without_nul(text)) for text in queries]
    return Asked(
        fingerprint=embedder.fingerprint,
        embeddings=[index.models.embedded(embedder, text) if text.strip() else None for text in texts],
        fluencies=[embedder.fluency(text) for text in texts],
        floor=embedder.floor,
    )


def embed_query(index: OpenIndex, query: str) -> NDArray[np.float32]:
    """The work of `Index.embed_query`."""
    return index.models.load_embedder().embed_query(index.engine.embedding_text(without_nul(query)))


def without_nul(text: str) -> str:
    """A query as the engine can be given it."""
    # SQLite ends a string at NUL, and no query means one: what stood around it is searched as two words.
    return text.replace("\0", " ")
