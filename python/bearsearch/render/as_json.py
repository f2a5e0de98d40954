"""The service's values as JSON documents: the keys that docs/json.md promises, the same on the command line and in MCP.

A key is never renamed and never taken away; new ones may join. What is for a person only (`notices`) or can be
worked out from the rest (`highlights`) is left out.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from bearsearch.types import (
    BrokenLink,
    BrokenLinks,
    CreatedNote,
    EmbedReport,
    Examination,
    GetResult,
    Hubs,
    IndexStatus,
    LinkHop,
    Links,
    ListResult,
    Note,
    SearchResult,
    SettingValue,
    SourceEntry,
    SourceReport,
    SyncReport,
    Tag,
)

__all__ = [
    "LEFT_OUT",
    "RENAMED",
    "broken",
    "created",
    "dumps",
    "get",
    "hubs",
    "lines",
    "links",
    "moment",
    "note",
    "notes",
    "search",
    "setting",
    "settings",
    "source",
    "sources",
    "status",
    "sync",
    "tags",
]

LEFT_OUT = frozenset({"notices", "highlights", "place"})
"""Fields that no document carries."""

RENAMED = {"from_note": "from", "to_note": "to"}
"""Keys that no Python name can be, by the field that holds them."""


def _plain(value: object) -> Any:
    """Dataclasses as objects with their field names as keys, dates as ISO 8601 in UTC with a `Z`, tuples as lists."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return moment(value)
    if dataclasses.is_dataclass(value):
        names = (field.name for field in dataclasses.fields(value))
        return {name: _plain(getattr(value, name)) for name in names if name not in LEFT_OUT}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def moment(value: datetime | None) -> str | None:
    """A date as ISO 8601 in UTC, to the second, with a `Z`; None stays None."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def search(result: SearchResult) -> dict[str, Any]:
    """The document of a search; without hits its list is empty."""
    return _plain(result)


def get(result: GetResult) -> dict[str, Any]:
    """The document of `get`: the notes and what was not found."""
    return _plain(result)


def note(value: Note) -> dict[str, Any]:
    """One note of `get`'s document."""
    return _plain(value)


def notes(result: ListResult) -> dict[str, Any]:
    """The document of `list`: notes without their texts, and how many there are in all."""
    return _plain(result)


def created(value: CreatedNote) -> dict[str, Any]:
    """The document of a new note."""
    return _plain(value)


def tags(values: Sequence[Tag]) -> dict[str, Any]:
    """The document of `tags`."""
    return {"tags": [_plain(tag) for tag in values]}


def links(value: Links) -> dict[str, Any]:
    """The document of `links`: the note, and by distance the steps to the notes around it."""
    return {
        "root": f"{value.root.source}:{value.root.id}",
        "title": value.root.title,
        "hops": [[_between(hop) for hop in hops] for hops in value.hops],
        "broken": [_between(link) for link in value.broken],
        "left_out": value.left_out,
    }


def _between(value: LinkHop | BrokenLink) -> dict[str, Any]:
    plain: dict[str, Any] = _plain(value)
    return {RENAMED.get(key, key): item for key, item in plain.items()}


def broken(value: BrokenLinks) -> dict[str, Any]:
    """The document of `links --broken`."""
    return {"links": [_between(link) for link in value.links], "total": value.total}


def hubs(value: Hubs) -> dict[str, Any]:
    """The document of `links --hubs`: each note with the numbers of its neighbours."""
    found = [{**_plain(hub.note), "incoming": hub.incoming, "outgoing": hub.outgoing} for hub in value.hubs]
    return {"hubs": found, "total": value.total}


def source(value: SourceReport) -> dict[str, Any]:
    """The document of `source add`: what was read."""
    return _plain(value)


def sources(values: Sequence[SourceEntry]) -> dict[str, Any]:
    """The document of `source list`."""
    return {"sources": [_plain(entry) for entry in values]}


def status(value: IndexStatus) -> dict[str, Any]:
    """The document of `status`."""
    return _plain(value)


def examination(value: Examination) -> dict[str, Any]:
    """The document of `doctor`."""
    return _plain(value)


def setting(value: SettingValue) -> dict[str, Any]:
    """One setting of `settings`' document."""
    return _plain(value)


def settings(values: Sequence[SettingValue], config_path: str) -> dict[str, Any]:
    """The document of `config list`.

    Args:
        values: Every setting.
        config_path: The settings file, whether or not it exists.
    """
    return {"config_path": config_path, "settings": [_plain(value) for value in values]}


def sync(report: SyncReport, embedding: EmbedReport | None) -> dict[str, Any]:
    """The document of `index`: what the sync did, and under `embedding` what the embedding step did.

    Args:
        report: What the sync did.
        embedding: What the embedding step did; None when there was none.
    """
    return {**_plain(report), "embedding": _plain(embedding)}


def dumps(document: object) -> str:
    """A document for people and programs: indented, in Unicode, with a line break at the end."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def lines(documents: list[dict[str, Any]]) -> str:
    """One document per line; nothing for none."""
    return "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
