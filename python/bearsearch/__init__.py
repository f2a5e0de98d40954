"""bearsearch: local hybrid search over a person's notes.

    >>> import bearsearch
    >>> with bearsearch.Index(":demo:") as index:  # doctest: +SKIP
    ...     index.sync()
    ...     index.embed()
    ...     [hit.title for hit in index.search("sourdough starter").hits]

A name is public by standing in ``__all__``. Importing this package loads only the exceptions; everything else is
fetched when it is first used, so that `bearsearch --help` waits for no engine, and the engine for no numpy, embedding
runtime or MCP SDK.
"""

import importlib
from typing import TYPE_CHECKING

from bearsearch import errors
from bearsearch.errors import *  # noqa: F403

if TYPE_CHECKING:
    from bearsearch import types
    from bearsearch._core import __version__
    from bearsearch.service import Index
    from bearsearch.types import (
        BackgroundStatus,
        BrokenLink,
        BrokenLinks,
        Check,
        Correction,
        CreatedNote,
        Document,
        EmbedReport,
        Examination,
        Explanation,
        GetResult,
        Hit,
        HitExplanation,
        Hub,
        Hubs,
        IndexState,
        IndexStatus,
        Leg,
        LinkHop,
        Links,
        ListResult,
        MapNote,
        Note,
        NoteMap,
        NoteSummary,
        Passage,
        Progress,
        QueryWord,
        SearchResult,
        SettingValue,
        SourceEntry,
        SourceReport,
        SourceStatus,
        SyncReport,
        Tag,
    )

__all__ = [
    "BackgroundStatus",
    "BrokenLink",
    "BrokenLinks",
    "Check",
    "Correction",
    "CreatedNote",
    "Document",
    "EmbedReport",
    "Examination",
    "Explanation",
    "GetResult",
    "Hit",
    "HitExplanation",
    "Hub",
    "Hubs",
    "Index",
    "IndexState",
    "IndexStatus",
    "Leg",
    "LinkHop",
    "Links",
    "ListResult",
    "MapNote",
    "Note",
    "NoteMap",
    "NoteSummary",
    "Passage",
    "Progress",
    "QueryWord",
    "SearchResult",
    "SettingValue",
    "SourceEntry",
    "SourceReport",
    "SourceStatus",
    "SyncReport",
    "Tag",
    "__version__",
    "errors",
    "types",
]
__all__ += errors.__all__

_HOMES = {"Index": "bearsearch.service", "__version__": "bearsearch._core"}
"""Modules of the names that are neither exceptions nor in `bearsearch.types`."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'bearsearch' has no attribute {name!r}")
    module = importlib.import_module(_HOMES.get(name, "bearsearch.types"))
    value: object = module if name == "types" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
