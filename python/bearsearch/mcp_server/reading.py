"""The tools that find and read notes. A method's docstring is the model's manual: when to use it, what comes back,
what to pass on.

Each calls the service once and gives a structured reply beside a short text. They are plain functions, which the
SDK runs on worker threads, so that a long one does not hold up the protocol. Errors of the service pass through;
`bearsearch.mcp_server.app` turns them into sentences for the model.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult
from pydantic import Field

from bearsearch import answer
from bearsearch.errors import UsageError
from bearsearch.mcp_server.answer import Rendered, budget_of, day, fitted, reply, visible
from bearsearch.mcp_server.budget import DEFAULT_TOKENS, MAXIMUM_TOKENS, Rest, begun_lines, clipped, shortened
from bearsearch.mcp_server.cursor import marked_cursor, next_cursor, offset_of
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.replies import GetReply, ListReply, SearchReply, TagsReply
from bearsearch.render import as_json, as_reply
from bearsearch.render.visible import from_model
from bearsearch.types import Hit, Note, NoteSummary, Tag

__all__ = ["Reading"]

Mode = Literal["auto", "hybrid", "fts", "vector", "like"]
MaxTokens = Annotated[int, Field(description=f"Longest reply; at most {MAXIMUM_TOKENS} tokens.")]
AllTags = Annotated[Sequence[str], Field(description="Only notes with all these tags (or a tag below).")]
AnyTags = Annotated[Sequence[str], Field(description="Only notes with one of these tags.")]
Sources = Annotated[Sequence[str], Field(description="Only notes of these sources, by name.")]
After = Annotated[str, Field(description="Only notes changed on this day or later: 2026-01-31.")]
Before = Annotated[str, Field(description="Only notes changed before this day.")]
Archived = Annotated[bool, Field(description="Archived notes too.")]
Cursor = Annotated[str, Field(description="To go on: the cursor of the reply before, with the same arguments.")]


class Reading:
    """The tools over one library of notes."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def note_search(
        self,
        query: Annotated[
            str,
            Field(
                description='What to look for, in the user\'s own words. Also: "a phrase", -without, tag:x, title:x, '
                "after:2026-01-31, before:2026-02-28."
            ),
        ] = "",
        queries: Annotated[
            Sequence[str], Field(description="More wordings of the same question, searched together.")
        ] = (),
        tags: AllTags = (),
        any_tags: AnyTags = (),
        ids: Annotated[Sequence[str], Field(description="Only these notes.")] = (),
        sources: Sources = (),
        after: After = "",
        before: Before = "",
        archived: Archived = False,
        mode: Annotated[
            Mode,
            Field(description="auto is best; fts: words only; vector: meaning only; like: exact characters."),
        ] = "auto",
        context: Annotated[int, Field(description="So many passages before and behind the best one of each note.")] = 0,
        passages: Annotated[bool, Field(description="Whole passages instead of excerpts of them.")] = False,
        limit: Annotated[int, Field(description="At most this many notes, from 1.")] = 10,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, SearchReply]:
        """Find the user's notes by word, by meaning and despite typos. Start here.

        Returns the best notes first, each with id, title, tags, link, the best passage and its line numbers. Read
        more of a note with note_get, its id and those lines. An empty list means that no note fits; say so rather
        than guess.
        """
        budget = budget_of(max_tokens)
        asked = [text for text in (query, *queries) if text.strip()]
        filters: dict[str, Any] = {
            "mode": mode,
            "tags": tags,
            "any_tags": any_tags,
            "ids": [from_model(reference) for reference in ids],
            "sources": sources,
            "archived": archived,
        }
        marked = {"queries": asked, "after": after, "before": before, **filters}
        place = offset_of(cursor, marked)
        result = self._library.index().search(
            asked[0] if len(asked) == 1 else asked or "",
            limit=limit,
            after=day(after),
            before=day(before),
            context=context,
            max_tokens=budget if passages else None,
            cursor=answer.cursor_of(place or None),
            **filters,
        )

        def render(shown: Sequence[Hit]) -> Rendered:
            behind = result.cursor if len(shown) == len(result.hits) else answer.cursor_of(shown[-1].place)
            following = _marked(behind, marked)
            part = dataclasses.replace(result, hits=tuple(map(_clipped, shown)), cursor=following)
            document = visible(_unexplained(as_json.search(part))) | {
                "truncated": following is not None,
                "notices": visible(list(result.notices)),
            }
            return as_reply.search(part, going_on=place > 0, following=following), document

        return fitted(result.hits, budget, render)

    def note_get(
        self,
        ids: Annotated[
            Sequence[str],
            Field(description="Ids from note_search, SOURCE:ID, or titles in any case."),
        ] = (),
        titles: Annotated[Sequence[str], Field(description="The same by title: all notes of a title come.")] = (),
        lines: Annotated[
            Sequence[str],
            Field(description="Only these lines, from 1: 10, 10-20 or 10:20; several are allowed; or `next_lines`."),
        ] = (),
        sections: Annotated[
            Sequence[str], Field(description="Only what stands below these headings: Packing, or Trip > Packing.")
        ] = (),
        neighbours: Annotated[
            int, Field(description="With lines or sections: so many paragraphs before and after them too.")
        ] = 0,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, GetReply]:
        """Read notes, whole or in part, by id or title.

        Archived notes are returned and marked; the text of locked notes never is. What was not found is listed under
        `missing`. A long note is cut, and `next_lines` is what to pass as lines to read on.
        """
        budget = budget_of(max_tokens)
        references = [from_model(reference) for reference in (*ids, *titles) if reference.strip()]
        if not references:
            raise UsageError("no note is named; give `ids` with ids of note_search, or `titles`")
        ranges, begun = begun_lines(lines)
        result = self._library.index().get(
            references,
            lines=ranges or None,
            sections=[from_model(section) for section in sections if section.strip()],
            neighbours=neighbours,
        )
        notes = shortened(result.notes, budget // 2, begun=begun)
        document = {
            "notes": [_read(note, rest) for note, rest in notes],
            "missing": visible(list(result.missing)),
            "truncated": any(rest is not None for _, rest in notes),
            "notices": visible(list(result.notices)),
        }
        return reply(as_reply.get(result, [(note, rest and rest.lines) for note, rest in notes]), document)

    def note_list(
        self,
        tags: AllTags = (),
        any_tags: AnyTags = (),
        sources: Sources = (),
        after: After = "",
        before: Before = "",
        archived: Archived = False,
        limit: Annotated[int, Field(description="At most this many notes, from 1.")] = 10,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, ListReply]:
        """List notes by date, the newest first, without their texts.

        Use it for "what did I write last week" or "all notes with this tag"; to find something, use note_search.
        """
        budget = budget_of(max_tokens)
        filters: dict[str, Any] = {"tags": tags, "any_tags": any_tags, "sources": sources, "archived": archived}
        marked = {"after": after, "before": before, **filters}
        offset = offset_of(cursor, marked)
        result = self._library.index().list(limit=limit, offset=offset, after=day(after), before=day(before), **filters)

        def render(notes: Sequence[NoteSummary]) -> Rendered:
            shown = dataclasses.replace(result, notes=tuple(notes))
            following = next_cursor(offset + len(notes), result.total, marked)
            document = visible(as_json.notes(shown)) | {
                "truncated": following is not None,
                "cursor": following,
                "notices": visible(list(result.notices)),
            }
            return as_reply.notes(shown, following=following), document

        return fitted([dataclasses.replace(note, title=clipped(note.title)) for note in result.notes], budget, render)

    def note_similar(
        self,
        note: Annotated[str, Field(description="The note: an id from another tool, or its title.")],
        limit: Annotated[int, Field(description="At most this many notes, from 1.")] = 10,
        archived: Archived = False,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, SearchReply]:
        """Find notes near a note in meaning, by the vectors that it already has; no model is needed.

        Use it for "what else have I written about this" when a note is at hand; to look for words, use note_search.
        """
        budget = budget_of(max_tokens)
        result = self._library.index().similar(from_model(note), limit=limit, archived=archived)

        def render(shown: Sequence[Hit]) -> Rendered:
            part = dataclasses.replace(result, hits=tuple(map(_clipped, shown)))
            document = visible(_unexplained(as_json.search(part))) | {
                "truncated": len(shown) < len(result.hits),
                "notices": visible(list(result.notices)),
            }
            return as_reply.search(part), document

        return fitted(result.hits, budget, render)

    def tag_list(
        self,
        prefix: Annotated[str, Field(description="Only tags that begin so, in any case: work finds work/trips.")] = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, TagsReply]:
        """List all tags with the number of notes that carry each.

        Use it to learn how the user sorts notes, before narrowing a search with `tags`.
        """
        budget = budget_of(max_tokens)
        marked = {"prefix": prefix}
        offset = offset_of(cursor, marked)
        folded = prefix.strip().lstrip("#").casefold()
        values = [tag for tag in self._library.index().tags() if tag.name.casefold().startswith(folded)]

        def render(tags: Sequence[Tag]) -> Rendered:
            following = next_cursor(offset + len(tags), len(values), marked)
            document = visible(as_json.tags(tags)) | {
                "total": len(values),
                "truncated": following is not None,
                "cursor": following,
            }
            return as_reply.tags(tags, total=len(values), following=following), document

        return fitted(values[offset:], budget, render)


def _clipped(hit: Hit) -> Hit:
    return dataclasses.replace(hit, title=clipped(hit.title), heading=clipped(hit.heading))


def _marked(cursor: str | None, arguments: Mapping[str, Any]) -> str | None:
    """The service's cursor as one of ours; None at the end."""
    return None if cursor is None else marked_cursor(answer.offset_of(cursor), arguments)


def _unexplained(document: dict[str, Any]) -> dict[str, Any]:
    """A search's document without the explanations, which are for people who tune searches."""
    for part in (document, *document["hits"]):
        part.pop("explanation", None)
    return document


def _read(note: Note, rest: Rest | None) -> dict[str, Any]:
    more = {"truncated": rest is not None, "next_lines": None if rest is None else rest.lines}
    return visible(as_json.note(note)) | more
