"""Reading notes: whole, by lines, by sections; and listing notes, tags and languages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from bearsearch import _core
from bearsearch.errors import UsageError
from bearsearch.excerpt import headings, merged, parse_spans, section_spans, widened
from bearsearch.rows import summary, summary_fields
from bearsearch.service.mending import whole
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.scope import UNLIMITED, Filters, fresh_scope, scope_of, to_ms
from bearsearch.service.targets import find_targets, target_ids
from bearsearch.types import GetResult, ListResult, Note, Tag

__all__ = ["get", "languages", "list_notes", "tags"]


def get(
    index: OpenIndex,
    ids: str | Sequence[str],
    *,
    lines: str | Sequence[str] | None,
    sections: Sequence[str],
    neighbours: int,
) -> GetResult:
    """The work of `Index.get`."""
    wanted = [ids] if isinstance(ids, str) else list(ids)
    if not any(reference.strip() for reference in wanted):
        raise UsageError("no note is named; give an id or a title")
    spans = parse_spans(lines) if lines is not None else []
    if neighbours < 0:
        raise UsageError(f"neighbours is {neighbours}; it counts paragraphs from 0")
    found, told = whole(index, lambda: _get(index, wanted, spans, sections, neighbours))
    return dataclasses.replace(found, notices=told + found.notices)


def _get(
    index: OpenIndex, wanted: Sequence[str], spans: Sequence[tuple[int, int]], sections: Sequence[str], neighbours: int
) -> GetResult:
    options, _, notices = fresh_scope(index, archived=True)
    notes: list[Note] = []
    missing: list[str] = []
    for reference in dict.fromkeys(wanted):
        found = index.engine.find(reference, options)
        for row in found:
            if not (spans or sections):
                notes.append(_note(row, None))
                continue
            text_lines = _lines_of(row["text"])
            asked = list(spans)
            for section in sections:
                below = section_spans(text_lines, section)
                asked += below
                if not below:
                    missing.append(f"{row['id']} # {section}")
                    notices.append(_other_sections(row["id"], section, text_lines))
            if neighbours:
                asked = [widened(text_lines, span, paragraphs=neighbours) for span in asked]
            notes += [_note(row, span) for span in merged(asked)]
        if not found:
            missing.append(reference)
    distinct = {(note.source, note.id, note.lines): note for note in notes}
    return GetResult(notes=tuple(distinct.values()), missing=tuple(missing), notices=tuple(notices))


def list_notes(index: OpenIndex, filters: Filters, *, limit: int, offset: int) -> ListResult:
    """The work of `Index.list`."""
    if limit < 1:
        raise UsageError(f"limit is {limit}; ask for at least 1 note")
    if offset < 0:
        raise UsageError(f"offset is {offset}; it counts notes from 0")
    found, told = whole(index, lambda: _list(index, filters, limit=min(limit, UNLIMITED), offset=offset))
    return dataclasses.replace(found, notices=told + found.notices)


def _list(index: OpenIndex, filters: Filters, *, limit: int, offset: int) -> ListResult:
    options, _, notices = fresh_scope(index, filters.sources, archived=filters.archived)
    options["tags_all"] = list(filters.tags)
    options["tags_any"] = list(filters.any_tags)
    options["updated_from_ms"] = to_ms(filters.after)
    options["updated_until_ms"] = to_ms(filters.before)
    rows, total = index.engine.list(options, limit, offset)
    return ListResult(notes=tuple(summary(row) for row in rows), total=total, notices=tuple(notices))


def tags(index: OpenIndex) -> tuple[Tag, ...]:
    """The work of `Index.tags`."""
    return whole(index, lambda: _tags(index))[0]


def _tags(index: OpenIndex) -> tuple[Tag, ...]:
    options, _, _ = fresh_scope(index, archived=False)
    return tuple(Tag(name=name, count=count) for name, count in index.engine.tags(options))


def languages(index: OpenIndex, *, sample: int) -> tuple[str, ...]:
    """The work of `Index.languages`."""
    from bearsearch.languages import guess

    targets = find_targets(index)
    if not target_ids(index.engine, targets):
        return ()
    options = scope_of(index.engine, targets, archived=False)
    rows, _ = index.engine.list(options, sample, 0)
    texts: list[str] = []
    for row in rows:
        texts += [found["text"][:2000] for found in index.engine.find(f"{row['source']}:{row['id']}", options)[:1]]
    return guess(texts)


def _lines_of(text: str) -> list[str]:
    # Lines end at \n, as the engine counts them; splitlines() would also end them at form feeds and the like.
    return text.removesuffix("\n").split("\n") if text else []


def _other_sections(note_id: str, section: str, lines: Sequence[str]) -> str:
    names = [" ".join(heading.path[-1].split())[:60].replace('"', "'") for heading in headings(lines)]
    shown = ", ".join(f'"{name}"' for name in names[:12]) + (", ..." if len(names) > 12 else "")
    return f'"{note_id}" has no section "{section}"; its sections are: {shown or "none"}'


def _note(row: _core.NoteDict, span: tuple[int, int] | None) -> Note:
    text = row["text"]
    all_lines = _lines_of(text)
    first, last = span or (1, len(all_lines))
    last = min(last, len(all_lines))
    return Note(
        **summary_fields(row),
        text=text if span is None else "\n".join(all_lines[first - 1 : last]),
        lines=(first, last),
        total_lines=len(all_lines),
    )
