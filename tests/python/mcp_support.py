"""What the tests of the MCP server share: clients of both protocol eras, over stdio and in memory."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from bearsearch.mcp_server.app import build
from bearsearch.mcp_server.library import Library
from bearsearch.service import Index

ERAS = ("auto", "legacy")
"""The client's modes: the newest protocol revision, and the revisions with a handshake."""

T = TypeVar("T")


def run(work: Awaitable[T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work, timeout=90)

    return asyncio.run(bounded())


def text_of(result: CallToolResult) -> str:
    """The text half of a reply."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def data_of(result: CallToolResult) -> dict[str, Any]:
    """The structured half of a reply that is no error."""
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return result.structured_content


@asynccontextmanager
async def over_stdio(*arguments: str, era: str = "auto", program: list[str] | None = None) -> AsyncIterator[Client]:
    """A client of a server in a process of its own, which inherits the test's home."""
    import os

    command = program or [sys.executable, "-m", "bearsearch", "mcp"]
    server = StdioServerParameters(command=command[0], args=[*command[1:], *arguments], env=dict(os.environ))
    async with Client(server, mode=era) as client:
        yield client


@asynccontextmanager
async def in_memory(
    open_index: Callable[[], Index], *, note_create: bool = False, era: str = "auto"
) -> AsyncIterator[Client]:
    """A client of a server in this process."""
    library = Library(open_index)
    try:
        async with Client(build(library, note_create=note_create), mode=era) as client:
            yield client
    finally:
        library.close()


def opener(tmp_path: Path, **named: Path) -> Callable[[], Index]:
    """Opens an index of words only, made from the named source."""
    return lambda: Index(tmp_path / "index.sqlite", semantic=False, **named)
