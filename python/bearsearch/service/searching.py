"""Search by words and meaning, and by likeness to a note: the question to the engine, and the answer as values.

The ranking is the engine's. The queries' embeddings are `queries`, the order of what is shown is `arranging`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time

from bearsearch.answer import DIVERSE, as_explanation, as_hit, offset_of, place_of
from bearsearch.errors import ModelError, UsageError
from bearsearch.service.arranging import RERANKED, Options, arranged
from bearsearch.service.embedding import count_pending
from bearsearch.service.freshness import freshen
from bearsearch.service.mending import whole
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.queries import VECTOR_MODES, ask_model, without_nul
from bearsearch.service.scope import UNLIMITED, Filters, fresh_scope, to_ms
from bearsearch.service.targets import require_targets, source_ids
from bearsearch.types import Correction, IndexState, Leg, SearchResult

__all__ = ["search", "similar"]


def search(index: OpenIndex, queries: list[str], options: Options, filters: Filters) -> SearchResult:
    """The work of `Index.search`."""
    options = _checked(queries, options)
    with index.background.query() if index.background else contextlib.nullcontext():
        found, told = whole(index, lambda: _search(index, queries, options, filters))
        return dataclasses.replace(found, notices=told + found.notices)


def _checked(queries: list[str], options: Options) -> Options:
    """The options as they are carried out.

    Raises:
        UsageError: The query is empty, or an option is out of its range.
    """
    if not any(text.strip() for text in queries):
        raise UsageError("the query is empty; give at least one word")
    if options.limit < 1:
        raise UsageError(f"limit is {options.limit}; ask for at least 1 note")
    if options.context < 0:
        raise UsageError(f"context is {options.context}; ask for 0 or more passages")
    if options.max_tokens is not None and options.max_tokens < 1:
        raise UsageError(f"max_tokens is {options.max_tokens}; ask for at least 1")
    if options.diverse is not None and options.diverse not in DIVERSE:
        raise UsageError(f'hits cannot be diverse over "{options.diverse}"; use {" or ".join(DIVERSE)}')
    if options.fts5 and options.mode not in {"auto", "fts"}:
        raise UsageError(f"FTS5's syntax is about words, and the mode is {options.mode}; use fts")
    return options._replace(mode="fts" if options.fts5 else options.mode, limit=min(options.limit, UNLIMITED))


def _search(index: OpenIndex, queries: list[str], options: Options, filters: Filters) -> SearchResult:
    targets = require_targets(index)
    mode = options.mode
    clock = _Clock()
    stale, notices = freshen(index, targets) if options.fresh else (False, [])
    clock.lap("freshness")
    asked = ask_model(index, queries, mode=mode)
    clock.lap("embedding")
    unread = [None] * len(queries)
    response = index.engine.search(
        {
            "queries": list(
                zip(
                    (without_nul(text) for text in queries),
                    asked.embeddings or unread,
                    asked.fluencies or [1.0] * len(queries),
                    strict=True,
                )
            ),
            "mode": mode,
            "fusion": options.fusion,
            "floor": asked.floor,
            "limit": max(options.limit, RERANKED) if options.rerank else options.limit * (3 if options.diverse else 1),
            "offset": place_of(options.cursor)[0] if options.reorders else offset_of(options.cursor),
            "context": options.context,
            "passages": options.max_tokens is not None or options.rerank,
            "fts5": options.fts5,
            "sources": source_ids(index.engine, targets, filters.sources),
            "tags_all": list(filters.tags),
            "tags_any": list(filters.any_tags),
            "ids": list(filters.ids),
            "updated_from_ms": to_ms(filters.after),
            "updated_until_ms": to_ms(filters.before),
            "archived": filters.archived,
            "fingerprint": asked.fingerprint,
            "no_embedding": asked.reason,
        }
    )
    clock.restart()
    clock.laps |= dict(response["elapsed_ms"])
    legs = {name: Leg(ran=leg["ran"], hits=leg["hits"], reason=leg["reason"]) for name, leg in response["legs"].items()}
    if mode == "vector" and not legs["vector"].ran:
        raise ModelError(legs["vector"].reason or "no vector can be searched")
    if mode in VECTOR_MODES and not legs["vector"].ran and index.settings.semantic:
        notices.append(f"meaning was not searched: {legs['vector'].reason}")
    if legs["text"].reason and mode in {"auto", "hybrid", "fts"}:
        notices.append(f"words were searched without the full-text index: {legs['text'].reason}")
    corrections = tuple(
        Correction(typed=typed, searched=tuple(searched)) for typed, searched in response["corrections"]
    )
    for correction in corrections:
        notices.append(f'no note has "{correction.typed}"; searched also for {", ".join(correction.searched)}')
    for name in response["unknown_sources"]:
        known = ", ".join(sorted(row["name"] for row in index.engine.sources()))
        notices.append(f'there is no source named "{name}"; the sources are: {known}')
    if response["pending"] and index.background is not None:
        index.background.wake()
        notices.append(f"{response['pending']} passages still wait for an embedding, which is being computed")
    elif response["pending"]:
        notices.append(
            f"{response['pending']} passages still wait for an embedding; `bearsearch index` computes them all"
        )
    hits, following = arranged(index.models, queries[0], response, options, legs)
    clock.lap("arranging")
    return SearchResult(
        query=queries[0] if len(queries) == 1 else " | ".join(queries),
        mode=response["mode"],
        requested_mode=mode,
        good_match=response["good_match"],
        legs=legs,
        index=IndexState(
            documents=response["documents"], chunks=response["chunks"], pending=response["pending"], stale=stale
        ),
        total=response["total"],
        hits=tuple(hits),
        corrections=corrections,
        cursor=following,
        explanation=as_explanation(response, options.fusion, clock.laps) if options.explain else None,
        notices=tuple(notices),
    )


def similar(index: OpenIndex, reference: str, *, limit: int, archived: bool) -> SearchResult:
    """The work of `Index.similar`."""
    if limit < 1:
        raise UsageError(f"limit is {limit}; ask for at least 1 note")
    filters, stale, notices = fresh_scope(index, archived=archived)
    found = index.engine.similar(without_nul(reference), filters, min(limit, UNLIMITED))
    if found is None:
        raise UsageError(f'no note has the id or title "{reference}"; `bearsearch search` shows ids')
    hits = tuple(as_hit(rank, hit, explain=False) for rank, hit in enumerate(found["hits"], 1))
    if found["reason"]:
        notices.append(found["reason"])
    idle = Leg(ran=False, hits=0, reason="a note was asked for, not words")
    return SearchResult(
        query=found["title"],
        mode="vector",
        requested_mode="vector",
        good_match=bool(hits),
        legs={
            "text": idle,
            "vector": Leg(ran=found["reason"] is None, hits=len(hits), reason=found["reason"]),
            "typo": idle,
            "like": idle,
        },
        index=IndexState(
            documents=sum(row["documents"] for row in index.engine.sources()),
            chunks=index.engine.status()["chunks"],
            pending=count_pending(index),
            stale=stale,
        ),
        total=len(hits),
        hits=hits,
        notices=tuple(notices),
    )


class _Clock:
    """Time of the steps of one call, in milliseconds."""

    __slots__ = ("_since", "laps")

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def restart(self) -> None:
        self._since = time.perf_counter()

    def lap(self, step: str) -> None:
        now = time.perf_counter()
        self.laps[step] = (now - self._since) * 1000
        self._since = now
