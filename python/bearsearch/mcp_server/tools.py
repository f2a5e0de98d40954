"""Which tools there are, each with its title and whether it writes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mcp_types import ToolAnnotations

from bearsearch.mcp_server.fetching import Fetching
from bearsearch.mcp_server.graph import GraphTools
from bearsearch.mcp_server.library import Library
from bearsearch.mcp_server.reading import Reading
from bearsearch.mcp_server.upkeep import Upkeep
from bearsearch.mcp_server.writing import Writing

__all__ = ["Tool", "tools"]

READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
SYNCING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CREATING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


class Tool(NamedTuple):
    """One tool; its function's name is its name, and its docstring the model's manual."""

    function: Callable[..., Any]
    title: str
    annotations: ToolAnnotations


def tools(library: Library, *, note_create: bool) -> list[Tool]:
    """The tools over one library of notes.

    Args:
        library: What they work on.
        note_create: With the one that writes notes.
    """
    reading, upkeep, fetching = Reading(library), Upkeep(library), Fetching(library)
    found = [
        Tool(reading.note_search, "Search notes", READ_ONLY),
        Tool(reading.note_get, "Read notes", READ_ONLY),
        Tool(reading.note_similar, "Find similar notes", READ_ONLY),
        Tool(reading.note_list, "List notes", READ_ONLY),
        Tool(reading.tag_list, "List tags", READ_ONLY),
        Tool(GraphTools(library).note_links, "Follow links", READ_ONLY),
        Tool(upkeep.index_sync, "Update the index", SYNCING),
        Tool(upkeep.index_status, "Show the index", READ_ONLY),
        Tool(fetching.search, "Search (short form)", READ_ONLY),
        Tool(fetching.fetch, "Fetch a note (short form)", READ_ONLY),
    ]
    if note_create:
        found.append(Tool(Writing(library).note_create, "Create a note", CREATING))
    return found
