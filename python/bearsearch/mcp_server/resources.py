"""Notes as resources, for programs that let a person attach one: `bear://note/ID`, and `note://SOURCE/ID` for each
source. A resource is looked up in the index by its id; no path of it is ever opened.
"""

from urllib.parse import quote, unquote

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Annotations, Resource, ResourceTemplate

from bearsearch.errors import BearsearchError
from bearsearch.mcp_server.budget import MAXIMUM_TOKENS, clipped, shortened
from bearsearch.mcp_server.fetching import resource_uri
from bearsearch.mcp_server.library import Library
from bearsearch.render.visible import for_model, from_model, on_one_line

__all__ = ["BEAR_TEMPLATE", "MARKDOWN", "NOTE_TEMPLATE", "Resources"]

BEAR_TEMPLATE = "bear://note/{note_id}"
NOTE_TEMPLATE = "note://{source}/{+note_id}"
MARKDOWN = "text/markdown"

LISTED = 50
"""Notes in the list of resources: the newest ones; the rest is found by completion and search."""


class Resources:
    """The resources over one library of notes."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def by_id(self, note_id: str) -> str:
        """One note's text by its id, of whichever source."""
        return self._text(note_id)

    def by_source(self, source: str, note_id: str) -> str:
        """One note's text by source and id; in a folder of Markdown an id is the path below it."""
        return self._text(f"{unquote(source)}:{unquote(note_id)}")

    def _text(self, reference: str) -> str:
        try:
            result = self._library.index().get(from_model(reference))
        except BearsearchError as error:
            raise ResourceError(str(error)) from error
        if not result.notes:
            raise ResourceNotFoundError(f'no note has the id "{reference}"; find its id with note_search')
        [(note, left_out)] = shortened(result.notes[:1], MAXIMUM_TOKENS)
        if note.locked:
            return "This note is locked: its text is encrypted and never read.\n"
        text = for_model(note.text)
        if left_out is not None:
            text += f"\n[cut after line {note.lines[1]} of {note.total_lines}; note_get reads the rest]\n"
        return text

    def listed(self) -> list[Resource]:
        """The newest notes."""
        result = self._library.index().list(limit=LISTED)
        return [
            Resource(
                uri=resource_uri(note.source, note.id),
                name=for_model(note.id),
                title=for_model(on_one_line(clipped(note.title))) or "(untitled)",
                description=f"A note of {for_model(on_one_line(note.source))}.",
                mime_type=MARKDOWN,
                annotations=Annotations(
                    last_modified=note.updated_at.isoformat(timespec="seconds") if note.updated_at else None
                ),
            )
            for note in result.notes
        ]

    def templates(self) -> list[ResourceTemplate]:
        """One template per source, so that a program can offer each."""
        return [
            ResourceTemplate(
                uri_template=f"note://{quote(source.name, safe='')}/{{+note_id}}",
                name=f"note of {for_model(on_one_line(source.name))}",
                title=f"A note of {for_model(on_one_line(source.name))}",
                description="One note by its id"
                + (", the path below the folder." if source.kind == "markdown" else "."),
                mime_type=MARKDOWN,
            )
            for source in self._library.index().status().sources
        ]
