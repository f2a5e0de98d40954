"""How notes hang together: links, orphans, broken links, hubs, and the map of meanings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bearsearch import _core
from bearsearch.errors import UsageError
from bearsearch.rows import broken_link, hub, link_hop, summary
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.scope import UNLIMITED, fresh_scope
from bearsearch.types import BrokenLinks, Hubs, Links, ListResult, MapNote, NoteMap

__all__ = ["broken_links", "hubs", "links", "map_notes", "orphans"]

MAX_LINK_DEPTH = 3
"""Steps that `links` goes at most: from most notes, three lead to most of a library."""


def links(
    index: OpenIndex,
    note: str,
    *,
    depth: int,
    direction: Literal["out", "in", "both"],
    limit: int,
    archived: bool,
) -> Links | None:
    """The work of `Index.links`."""
    if not note.strip():
        raise UsageError("no note is named; give an id or a title")
    if not 1 <= depth <= MAX_LINK_DEPTH:
        raise UsageError(f"depth is {depth}; links go 1 to {MAX_LINK_DEPTH} steps")
    options, notices = _graph_scope(index, limit, (), archived=archived)
    found = index.engine.links(note, depth, direction, options, min(limit, UNLIMITED))
    roots = found["roots"]
    if len(roots) > 1:
        named = ", ".join(f"{row['source']}:{row['id']}" for row in roots[:10])
        raise UsageError(f'{len(roots)} notes are called "{note}"; name one of them: {named}')
    if not roots:
        return None
    return Links(
        root=summary(roots[0]),
        hops=tuple(tuple(link_hop(hop) for hop in hops) for hops in found["hops"]),
        broken=tuple(broken_link(link) for link in found["broken"]),
        left_out=found["left_out"],
        notices=tuple(notices),
    )


def orphans(index: OpenIndex, *, limit: int, sources: Sequence[str], archived: bool) -> ListResult:
    """The work of `Index.orphans`."""
    options, notices = _graph_scope(index, limit, sources, archived=archived)
    found, total = index.engine.orphans(options, min(limit, UNLIMITED))
    return ListResult(notes=tuple(map(summary, found)), total=total, notices=tuple(notices))


def broken_links(index: OpenIndex, *, limit: int, sources: Sequence[str], archived: bool) -> BrokenLinks:
    """The work of `Index.broken_links`."""
    options, notices = _graph_scope(index, limit, sources, archived=archived)
    found, total = index.engine.broken_links(options, min(limit, UNLIMITED))
    return BrokenLinks(links=tuple(map(broken_link, found)), total=total, notices=tuple(notices))


def hubs(index: OpenIndex, *, limit: int, sources: Sequence[str], archived: bool) -> Hubs:
    """The work of `Index.hubs`."""
    options, notices = _graph_scope(index, limit, sources, archived=archived)
    found, total = index.engine.hubs(options, min(limit, UNLIMITED))
    return Hubs(hubs=tuple(map(hub, found)), total=total, notices=tuple(notices))


def map_notes(index: OpenIndex, *, limit: int, sources: Sequence[str], archived: bool) -> NoteMap:
    """The work of `Index.map_notes`."""
    from bearsearch.map.layout import place

    options, notices = _graph_scope(index, limit, sources, archived=archived)
    found = index.engine.map(options, min(limit, UNLIMITED))
    if found["without_vector"]:
        notices.append(
            f"{found['without_vector']} notes have no embedding yet and are not drawn; `bearsearch index` adds them"
        )
    linked: list[set[int]] = [set() for _ in found["notes"]]
    for one, other in found["links"]:
        linked[one].add(other)
        linked[other].add(one)
    drawn = zip(found["notes"], place(found["vectors"]).tolist(), linked, strict=True)
    return NoteMap(
        notes=tuple(
            MapNote(
                id=row["id"],
                title=row["title"],
                source=row["source"],
                url=row["url"],
                tags=tuple(row["tags"]),
                x=float(x),
                y=float(y),
                links=len(others),
            )
            for row, (x, y), others in drawn
        ),
        links=tuple(found["links"]),
        total=found["total"],
        notices=tuple(notices),
    )


def _graph_scope(
    index: OpenIndex, limit: int, sources: Sequence[str], *, archived: bool
) -> tuple[_core.FilterOptions, list[str]]:
    if limit < 1:
        raise UsageError(f"limit is {limit}; ask for at least 1")
    options, _, notices = fresh_scope(index, sources, archived=archived)
    return options, notices
