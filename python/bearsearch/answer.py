"""What becomes of the engine's hits before a caller sees them: values, an order that is diverse, and pages by token.

`service` decides what is done; nothing here asks the engine or a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bearsearch.errors import UsageError
from bearsearch.rows import moment
from bearsearch.types import Explanation, Hit, HitExplanation, Passage, QueryWord

if TYPE_CHECKING:
    from bearsearch import _core

__all__ = [
    "DIVERSE",
    "as_explanation",
    "as_hit",
    "cursor_of",
    "diverse",
    "estimated_tokens",
    "offset_of",
    "packed",
    "place_of",
]

CHARS_PER_TOKEN = 4
"""Of English prose; other scripts are counted by character."""

HIT_TOKENS = 24
"""What a hit costs beside its text: title, id, lines."""

SEEN_AGAIN = 0.8
"""What each hit of the same kind above it leaves of a hit's score, where diversity is asked for."""

DIVERSE = ("tags", "sources")
"""What hits can be diverse over."""


def as_hit(rank: int, hit: _core.HitDict, *, explain: bool) -> Hit:
    """The engine's hit as a value; `rank` is its place in the whole list, from 1."""
    explanation = HitExplanation(
        text_share=hit["text_share"], vector_share=hit["vector_share"], words=tuple(hit["words"])
    )
    return Hit(
        rank=rank,
        place=hit["place"],
        id=hit["id"],
        title=hit["title"],
        source=hit["source"],
        url=hit["url"],
        tags=tuple(hit["tags"]),
        updated_at=moment(hit["updated_at_ms"]),
        archived=hit["archived"],
        locked=hit["locked"],
        score=hit["score"],
        confidence=hit["confidence"],
        text_rank=hit["text_rank"],
        vector_rank=hit["vector_rank"],
        bm25=hit["bm25"],
        cosine=hit["cosine"],
        heading=hit["heading"],
        lines=hit["lines"],
        line_hits=tuple(hit["line_hits"]),
        total_hits=hit["total_hits"],
        snippet=hit["snippet"],
        highlights=tuple(hit["highlights"]),
        passage=hit["passage"],
        context=tuple(Passage(heading=heading, lines=lines, text=text) for heading, lines, text in hit["context"]),
        duplicates=tuple(hit["duplicates"]),
        explanation=explanation if explain else None,
    )


def as_explanation(response: _core.ResponseDict, fusion: str, elapsed_ms: dict[str, float]) -> Explanation:
    """How the engine read and answered a query."""
    return Explanation(
        understood=tuple(response["understood"]),
        fusion=fusion,
        words=tuple(QueryWord(word=word, documents=documents) for word, documents in response["words"]),
        elapsed_ms=elapsed_ms,
    )


def diverse(hits: Sequence[Hit], over: str, *, limit: int) -> list[Hit]:
    """The hits in an order that does not repeat itself: each one counts less for every hit of its kind above it.

    Args:
        hits: Best first.
        over: tags (two hits are of one kind when they share one) or sources.
        limit: Hits to return.

    Returns:
        Chosen one by one, with new ranks; scores stay as they were.

    Source: maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998), greedily, with kinds in place of likeness.
    """
    kinds: Callable[[Hit], set[str]] = (lambda hit: set(hit.tags)) if over == "tags" else (lambda hit: {hit.source})
    left = [hit for hit in hits if not math.isnan(hit.score)]
    # Scores of filters alone are places below 0; their order is by date, which a factor would turn around.
    lowest = min((hit.score for hit in left), default=0.0)
    shift = -lowest if lowest < 0 else 0.0
    seen: dict[str, int] = {}
    first = hits[0].rank if hits else 1
    chosen: list[Hit] = []
    while left and len(chosen) < limit:
        best = max(
            left,
            key=lambda hit: (hit.score + shift) * SEEN_AGAIN ** max((seen.get(k, 0) for k in kinds(hit)), default=0),
        )
        left.remove(best)
        for kind in kinds(best):
            seen[kind] = seen.get(kind, 0) + 1
        chosen.append(replace(best, rank=first + len(chosen)))
    return chosen


def estimated_tokens(text: str) -> int:
    """About how many tokens a language model makes of a text; rather too many than too few.

    >>> estimated_tokens("Feed the starter.")
    5
    """
    plain = sum(character.isascii() for character in text)
    return math.ceil(plain / CHARS_PER_TOKEN) + len(text) - plain


def packed(hits: Iterable[Hit], max_tokens: int) -> list[Hit]:
    """As many hits, with their whole passages, as fit into a number of tokens; at least the first, cut if it must be.

    Neighbours of a passage are counted and left out before a hit is.
    """
    chosen: list[Hit] = []
    left = max_tokens
    for hit in hits:
        text = hit.snippet if hit.passage is None else hit.passage
        cost = HIT_TOKENS + estimated_tokens(hit.title) + estimated_tokens(text)
        around = sum(estimated_tokens(passage.text) for passage in hit.context)
        if cost > left and not chosen:
            room = max(0, left - HIT_TOKENS - estimated_tokens(hit.title))
            return [replace(hit, passage=_cut(text, room), context=())]
        if cost > left:
            break
        if cost + around > left:
            hit, around = replace(hit, context=()), 0
        chosen.append(hit)
        left -= cost + around
    return chosen


def _cut(text: str, tokens: int) -> str:
    """The beginning of a text that fits, up to a blank where there is one."""
    while estimated_tokens(text) > tokens:
        shorter = text[: max(0, min(len(text) - 1, len(text) * tokens // max(1, estimated_tokens(text))))]
        text = shorter[: shorter.rfind(" ")] if " " in shorter else shorter
    return text


def cursor_of(offset: int | None, shown: int = 0) -> str | None:
    """What to pass to the next call to go on behind this page; None at the end.

    Args:
        offset: Places of the engine's list that are left behind.
        shown: Hits behind these that were shown already, of a part of the list that has an order of its own.
    """
    if offset is None:
        return None
    return f"after:{offset}+{shown}" if shown else f"after:{offset}"


def place_of(cursor: str | None) -> tuple[int, int]:
    """Where a page begins: places of the engine's list, and hits shown of the part behind them (`cursor_of`).

    >>> place_of("after:30+10"), place_of("after:10"), place_of(None)
    ((30, 10), (10, 0), (0, 0))

    Raises:
        UsageError: It is no cursor of an answer.
    """
    if cursor is None:
        return 0, 0
    word, _, place = cursor.partition(":")
    offset, _, shown = place.partition("+")
    numbers = (offset, shown or "0")
    if word != "after" or not all(number.isdecimal() for number in numbers):
        raise UsageError(f'cursor is "{cursor}"; pass the cursor of the answer before')
    return int(offset), int(numbers[1])


def offset_of(cursor: str | None) -> int:
    """Where a page of a list in the engine's own order begins.

    Raises:
        UsageError: It is no cursor of an answer in that order.
    """
    offset, shown = place_of(cursor)
    if shown:
        raise UsageError(f'cursor is "{cursor}", of an answer in another order; ask with the same options as before')
    return offset
