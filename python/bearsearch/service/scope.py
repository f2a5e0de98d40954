"""What an answer may be about: sources, tags, dates, in the caller's words and in the engine's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from bearsearch import _core
from bearsearch.service.freshness import freshen
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.targets import Target, require_targets, source_ids

__all__ = ["UNLIMITED", "Filters", "fresh_scope", "scope_of", "to_ms"]

UNLIMITED = 10**9
"""A limit at or above this asks for all notes."""


class Filters(NamedTuple):
    """What a search is limited to, as the caller gave it."""

    tags: Sequence[str]
    any_tags: Sequence[str]
    ids: Sequence[str]
    sources: Sequence[str]
    after: date | datetime | None
    before: date | datetime | None
    archived: bool


def fresh_scope(
    index: OpenIndex, sources: Sequence[str] = (), *, archived: bool
) -> tuple[_core.FilterOptions, bool, list[str]]:
    """Brings the text up to date; returns what an answer may be about, whether it may be stale, and why."""
    targets = require_targets(index)
    stale, notices = freshen(index, targets)
    return scope_of(index.engine, targets, sources=sources, archived=archived), stale, notices


def scope_of(
    engine: _core.Index, targets: list[Target], *, sources: Sequence[str] = (), archived: bool
) -> _core.FilterOptions:
    """All notes of the targets, or of those with these names."""
    return {
        "sources": source_ids(engine, targets, sources),
        "tags_all": [],
        "tags_any": [],
        "ids": [],
        "updated_from_ms": None,
        "updated_until_ms": None,
        "archived": archived,
    }


def to_ms(moment: date | datetime | None) -> int | None:
    """Milliseconds since 1970 UTC; a day begins at midnight UTC."""
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return round(moment.timestamp() * 1000)
