"""The tool that writes: it creates a note and changes none. Registered only when the server was started for it."""

from collections.abc import Sequence
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from bearsearch.mcp_server.answer import reply, visible
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.replies import CreateReply
from bearsearch.render import as_json, as_reply
from bearsearch.render.visible import from_model

__all__ = ["Writing"]


class Writing:
    """The tool over one library of notes."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def note_create(
        self,
        title: Annotated[str, Field(description="Title, one line.")],
        content: Annotated[str, Field(description="Text in Markdown, without the title.")] = "",
        tags: Annotated[Sequence[str], Field(description="Tags, without #.")] = (),
        source: Annotated[
            str, Field(description="Where to: a source's name. Bear if it is there, else the only folder.")
        ] = "",
    ) -> Annotated[CallToolResult, CreateReply]:
        """Create a note: in Bear (macOS), or as a new file in a folder of Markdown. No note is ever changed.

        Use it only when the user asks for a new note. The reply has its id and link; `confirmed` false means that
        it was handed over and not seen yet, so do not create it again before note_search was tried.
        """
        created = self._library.index().create(
            title=from_model(title), content=content, tags=tags, source=from_model(source) or None
        )
        return reply(as_reply.created(created), visible(as_json.created(created)))
