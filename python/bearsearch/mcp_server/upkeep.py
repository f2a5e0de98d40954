"""The tools that look after the index; none of them writes to the notes."""

from collections.abc import Callable
from typing import Annotated, Any

import anyio.from_thread
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from bearsearch.mcp_server.answer import reply, visible
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.replies import StatusReply, SyncReply
from bearsearch.render import as_json, as_reply
from bearsearch.types import Progress

__all__ = ["Upkeep"]

EMBED_BUDGET_MS = 20_000
"""How long one `index_sync` embeds: some programs give up on a tool after 30 seconds."""


class Upkeep:
    """The tools over one library of notes."""

    def __init__(self, library: Library) -> None:
        self._library = library

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
        document = visible(as_json.sync(report, embedding)) | {"notices": visible(list(report.notices))}
        return reply(as_reply.sync(report, embedding), document)

    def index_status(self) -> Annotated[CallToolResult, StatusReply]:
        """Show which notes are indexed, how many texts still wait for an embedding, and which model runs.

        Use it when a search finds less than expected, or to learn the names of the sources.
        """
        value = self._library.index().status()
        return reply(as_reply.status(value), visible(as_json.status(value)))


def _progress_of(context: Context[Any]) -> Callable[[Progress], None]:
    """Report the service's progress to the client; a call that was cancelled ends at its next progress.

    The client hears no more than about 100 times of one stage: between two reports the work would wait for the
    event loop.
    """
    last: dict[str, int] = {}

    def report(progress: Progress) -> None:
        anyio.from_thread.check_cancelled()
        step = max(progress.total // 100, 1)
        if 0 < progress.done < progress.total and progress.done - last.get(progress.stage, -step) < step:
            return
        last[progress.stage] = progress.done
        anyio.from_thread.run(context.report_progress, progress.done, progress.total or None, progress.stage)

    return report
