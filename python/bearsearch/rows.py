"""The engine's dictionaries of links and sources as the values of `bearsearch.types`. Converts and decides nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bearsearch.types import BrokenLink, Hub, LinkHop, NoteSummary

if TYPE_CHECKING:
    from bearsearch import _core

__all__ = ["broken_link", "hub", "link_hop", "moment", "summary", "summary_fields"]


def moment(ms: int | None) -> datetime | None:
    """Milliseconds since 1970 UTC as an aware date; None stays None."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def summary_fields(row: _core.DocumentDict) -> dict[str, Any]:
    """What every value of a note has, by its names in `NoteSummary`."""
    return {
        "id": row["id"],
        "title": row["title"],
        "source": row["source"],
        "url": row["url"],
        "tags": tuple(row["tags"]),
        "created_at": moment(row["created_at_ms"]),
        "updated_at": moment(row["updated_at_ms"]),
        "archived": row["archived"],
        "pinned": row["pinned"],
        "locked": row["locked"],
    }


def summary(row: _core.DocumentDict) -> NoteSummary:
    """A note without its text."""
    return NoteSummary(**summary_fields(row))


def link_hop(row: _core.HopDict) -> LinkHop:
    """One step of a walk along links."""
    return LinkHop(**row)


def broken_link(row: _core.BrokenLinkDict) -> BrokenLink:
    """A link that leads nowhere."""
    return BrokenLink(**row)


def hub(row: _core.HubDict) -> Hub:
    """A note with the numbers of its neighbours."""
    return Hub(note=summary(row), incoming=row["incoming"], outgoing=row["outgoing"])
