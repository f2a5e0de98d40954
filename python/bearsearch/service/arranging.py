"""The engine's hits in the order and number that the caller wants: by a cross-encoder, diverse, packed into tokens.

Asks the engine nothing. How hits are made diverse and packed is `bearsearch.answer`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from bearsearch import _core
from bearsearch.answer import as_hit, cursor_of, diverse, packed, place_of
from bearsearch.errors import ModelError
from bearsearch.service.models import Models
from bearsearch.types import Hit, Leg

__all__ = ["RERANKED", "Options", "arranged"]

RERANKED = 30
"""Hits that a cross-encoder orders again: what it lifts from further down is rare, and each one costs."""


class Options(NamedTuple):
    """How a search is answered, as the caller wants it."""

    mode: str
    fusion: str
    limit: int
    fresh: bool
    explain: bool
    context: int
    max_tokens: int | None
    cursor: str | None
    diverse: str | None
    rerank: bool
    fts5: bool

    @property
    def reorders(self) -> bool:
        """Whether the answer has another order than the engine's list."""
        return self.rerank or self.diverse is not None


def arranged(
    models: Models, query: str, response: _core.ResponseDict, options: Options, legs: dict[str, Leg]
) -> tuple[list[Hit], str | None]:
    """The engine's hits in the order and number that the caller wants, and the cursor behind them."""
    start, shown = place_of(options.cursor)
    hits = [as_hit(rank, hit, explain=options.explain) for rank, hit in enumerate(response["hits"], start + 1)]
    if options.rerank:
        hits, legs["rerank"] = _reranked(models, query, hits)
    if options.diverse is not None:
        hits = diverse(hits, options.diverse, limit=len(hits))
    page = hits[shown : shown + options.limit]
    if options.max_tokens is not None:
        page = packed(page, options.max_tokens)
    elif options.rerank:
        page = [replace(hit, passage=None) for hit in page]
    shown += len(page)
    if shown >= len(hits):
        return page, cursor_of(response["next"])
    if options.reorders:
        # What the engine found is arranged in the same way again, and gone on with inside.
        return page, cursor_of(start, shown)
    return page, cursor_of(response["hits"][shown - 1]["place"])


def _reranked(models: Models, query: str, hits: list[Hit]) -> tuple[list[Hit], Leg]:
    """The first hits in a cross-encoder's order, and what it did."""
    try:
        reranker = models.load_reranker()
        first = hits[:RERANKED]
        scores = reranker.scores(query, [f"{hit.title}\n{hit.passage or hit.snippet}" for hit in first])
    except ModelError as error:
        return hits, Leg(ran=False, hits=0, reason=str(error))
    order = sorted(range(len(first)), key=lambda place: (-scores[place], place))
    arranged = [*(first[place] for place in order), *hits[RERANKED:]]
    return [replace(hit, rank=rank) for rank, hit in enumerate(arranged, hits[0].rank if hits else 1)], Leg(
        ran=True, hits=len(first), reason=None
    )
