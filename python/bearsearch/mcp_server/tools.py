"""The tools. A method's docstring is the model's manual: when to use it, what comes back, what to pass on.

Each calls the service once and gives a structured reply beside a short text. They are plain functions, which the
SDK runs on worker threads, so that a long one does not hold up the protocol. Errors of the service pass through;
`bearsearch.mcp_server.app` turns them into sentences for the model.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Annotated, Any, Literal

import anyio.from_thread
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from bearsearch import bear_url
from bearsearch.dates import parse_date
from bearsearch.errors import UsageError
from bearsearch.mcp_server.budget import DEFAULT_TOKENS, MAXIMUM_TOKENS, fitting, shortened
from bearsearch.mcp_server.graph import GraphTools
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.replies import (
    CreateReply,
    GetReply,
    ListReply,
    SearchReply,
    StatusReply,
    SyncReply,
    TagsReply,
)
from bearsearch.render import as_json, as_reply
from bearsearch.render.visible import for_model, from_model
from bearsearch.types import Progress

__all__ = ["READ_ONLY", "Tools"]

READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
SYNCING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CREATING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)

EMBED_BUDGET_MS = 20_000
"""How long one `index_sync` embeds: some programs give up on a tool after 30 seconds."""


Mode = Literal["auto", "hybrid", "fts", "vector", "like"]
MaxTokens = Annotated[int, Field(description=f"Longest reply; at most {MAXIMUM_TOKENS} tokens.")]


class Tools:
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
        tags: Annotated[Sequence[str], Field(description="Only notes with all these tags (or a tag below).")] = (),
        any_tags: Annotated[Sequence[str], Field(description="Only notes with one of these tags.")] = (),
        ids: Annotated[Sequence[str], Field(description="Only these notes.")] = (),
        sources: Annotated[Sequence[str], Field(description="Only notes of these sources, by name.")] = (),
        after: Annotated[str, Field(description="Only notes changed on this day or later: 2026-01-31.")] = "",
        before: Annotated[str, Field(description="Only notes changed before this day.")] = "",
        archived: Annotated[bool, Field(description="Archived notes too.")] = False,
        mode: Annotated[
            Mode,
            Field(description="auto is best; fts: words only; vector: meaning only; like: exact characters."),
        ] = "auto",
        limit: Annotated[int, Field(description="At most this many notes, from 1.")] = 10,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, SearchReply]:
        """Find the user's notes by word, by meaning and despite typos. Start here.

        Returns the best notes first, each with id, title, tags, link, the best passage and its line numbers. Read
        more of a note with note_get and its id. An empty list means that no note fits; say so rather than guess.
        """
        asked = [text for text in (query, *queries) if text.strip()]
        budget = _budget(max_tokens)
        result = self._library.index().search(
            asked[0] if len(asked) == 1 else asked or "",
            mode=mode,
            limit=limit,
            tags=tags,
            any_tags=any_tags,
            ids=[from_model(asked) for asked in ids],
            sources=sources,
            after=_date(after),
            before=_date(before),
            archived=archived,
        )
        document = _visible(as_json.search(result))
        hits = document["hits"]
        # Structured content and text say the same, and a program may show a model both: half the budget each.
        shown = fitting(hits, budget // 2)
        document |= {"hits": hits[:shown], "truncated": shown < len(hits), "notices": list(result.notices)}
        return _reply(as_reply.search(result, shown=shown), document)

    def note_get(
        self,
        ids: Annotated[
            Sequence[str],
            Field(description="Ids from note_search, SOURCE:ID, or titles in any case."),
        ],
        lines: Annotated[str, Field(description="Only these lines, from 1: 10, 10-20 or 10:20.")] = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, GetReply]:
        """Read notes, whole or some lines of them, by id or title.

        Archived notes are returned and marked; the text of locked notes never is. What was not found is listed under
        `missing`. A long note is cut, and the reply says which lines to ask for next.
        """
        result = self._library.index().get([from_model(asked) for asked in ids], lines=lines or None)
        notes = shortened(result.notes, _budget(max_tokens) // 2)
        document = {
            "notes": [_visible(as_json.note(note)) | {"truncated": cut} for note, cut in notes],
            "missing": list(result.missing),
            "truncated": any(cut for _, cut in notes),
            "notices": list(result.notices),
        }
        return _reply(as_reply.get(result, notes), document)

    def note_list(
        self,
        tags: Annotated[Sequence[str], Field(description="Only notes with all these tags (or a tag below).")] = (),
        any_tags: Annotated[Sequence[str], Field(description="Only notes with one of these tags.")] = (),
        sources: Annotated[Sequence[str], Field(description="Only notes of these sources, by name.")] = (),
        after: Annotated[str, Field(description="Only notes changed on this day or later: 2026-01-31.")] = "",
        before: Annotated[str, Field(description="Only notes changed before this day.")] = "",
        archived: Annotated[bool, Field(description="Archived notes too.")] = False,
        limit: Annotated[int, Field(description="At most this many notes, from 1.")] = 10,
        offset: Annotated[int, Field(description="Leave out this many; pass how many you have seen.")] = 0,
    ) -> Annotated[CallToolResult, ListReply]:
        """List notes by date, the newest first, without their texts.

        Use it for "what did I write last week" or "all notes with this tag"; to find something, use note_search.
        """
        result = self._library.index().list(
            limit=limit,
            offset=offset,
            tags=tags,
            any_tags=any_tags,
            sources=sources,
            after=_date(after),
            before=_date(before),
            archived=archived,
        )
        document = _visible(as_json.notes(result))
        shown = fitting(document["notes"], DEFAULT_TOKENS // 2)
        document |= {
            "notes": document["notes"][:shown],
            "truncated": shown < len(result.notes),
            "notices": list(result.notices),
        }
        return _reply(as_reply.notes(result, shown=shown), document)

    def tag_list(self) -> Annotated[CallToolResult, TagsReply]:
        """List all tags with the number of notes that carry each.

        Use it to learn how the user sorts notes, before narrowing a search with `tags`.
        """
        values = self._library.index().tags()
        document = _visible(as_json.tags(values))
        shown = fitting(document["tags"], DEFAULT_TOKENS // 2)
        document |= {"tags": document["tags"][:shown], "truncated": shown < len(values)}
        return _reply(as_reply.tags(values, shown=shown), document)

    def index_sync(
        self,
        context: Context[Any],
        rebuild: Annotated[bool, Field(description="Build the text index again instead of comparing.")] = False,
    ) -> Annotated[CallToolResult, SyncReply]:
        """Bring the index up to date, and embed for up to 20 seconds what still waits.

        Searches do the first part themselves, so this is rarely needed: use it when index_status shows many texts
        without an embedding, and again while `pending` is above 0. Nothing is written to the notes.
        """
        index = self._library.index()
        progress = _progress_of(context)
        report = index.sync(rebuild="text" if rebuild else False, progress=progress)
        embedding = index.embed(budget_ms=EMBED_BUDGET_MS, progress=progress)
        document = as_json.sync(report, embedding) | {"notices": list(report.notices)}
        return _reply(as_reply.sync(report, embedding), document)

    def index_status(self) -> Annotated[CallToolResult, StatusReply]:
        """Show which notes are indexed, how many texts still wait for an embedding, and which model runs.

        Use it when a search finds less than expected, or to learn the names of the sources.
        """
        value = self._library.index().status()
        return _reply(as_reply.status(value), as_json.status(value))

    def note_create(
        self,
        title: Annotated[str, Field(description="Title, one line.")],
        content: Annotated[str, Field(description="Text in Markdown, without the title.")] = "",
        tags: Annotated[Sequence[str], Field(description="Tags, without #.")] = (),
    ) -> Annotated[CallToolResult, CreateReply]:
        """Create a note in Bear. Use it only when the user asks for a new note.

        Bear is asked to create it and does not answer, so the reply has no id; find the note by its title a moment
        later.
        """
        bear_url.create_note(title=title, content=content, tags=tags)
        return _reply(
            f"Bear was asked to create the note {for_model(title)!r}. It does not confirm; find it with note_search.",
            {"title": title, "tags": list(tags)},
        )

    def read_tools(self) -> list[tuple[Callable[..., Any], str, ToolAnnotations]]:
        """The tools that every server has, each with its title and annotations."""
        return [
            (self.note_search, "Search notes", READ_ONLY),
            (self.note_get, "Read notes", READ_ONLY),
            (self.note_list, "List notes", READ_ONLY),
            (self.tag_list, "List tags", READ_ONLY),
            (GraphTools(self._library).note_links, "Follow links", READ_ONLY),
            (self.index_sync, "Update the index", SYNCING),
            (self.index_status, "Show the index", READ_ONLY),
        ]

    def write_tools(self) -> list[tuple[Callable[..., Any], str, ToolAnnotations]]:
        """The tools that write notes; registered only when asked for."""
        return [(self.note_create, "Create a note", CREATING)]


def _date(text: str) -> date | datetime | None:
    return parse_date(text) if text.strip() else None


def _budget(max_tokens: int) -> int:
    if max_tokens < 1:
        raise UsageError(f"max_tokens is at least 1, but {max_tokens} came")
    return min(max_tokens, MAXIMUM_TOKENS)


def _visible(value: Any) -> Any:
    """The document with every invisible character of its strings written as a code point."""
    if isinstance(value, str):
        return for_model(value)
    if isinstance(value, list):
        return [_visible(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: _visible(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def _reply(text: str, document: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document)


def _progress_of(context: Context[Any]) -> Callable[[Progress], None]:
    """Report the service's progress to the client; a call that was cancelled ends at its next progress."""

    def report(progress: Progress) -> None:
        anyio.from_thread.check_cancelled()
        anyio.from_thread.run(context.report_progress, progress.done, progress.total or None, progress.stage)

    return report
