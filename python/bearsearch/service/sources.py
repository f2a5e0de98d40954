"""Adding, removing and listing the registered sources. Which of them a call reads is `targets`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bearsearch.errors import SourceError, UsageError
from bearsearch.service.freshness import FRESHNESS_BUDGET_MS
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.progress import ProgressFunction
from bearsearch.service.syncing import sync_one
from bearsearch.service.targets import HANDED_OVER, Target, absolute, kind_of
from bearsearch.types import SourceEntry, SourceReport

__all__ = ["add_source", "list_sources", "remove_source"]


def add_source(
    index: OpenIndex,
    path: str | Path,
    *,
    name: str | None,
    exclude: Sequence[str] | None,
    progress: ProgressFunction | None,
) -> SourceReport:
    """The work of `Index.add_source`."""
    if name is not None and (not name.strip() or ":" in name or "\n" in name):
        raise UsageError(f'a source cannot be called "{name}"; a name has letters and no colon')
    resolved = absolute(path)
    kind = kind_of(resolved)
    known = {(row["kind"], row["path"]) for row in index.engine.sources()}
    given = None if exclude is None else [pattern for pattern in exclude if pattern.strip()]
    added = index.engine.add_source(kind, resolved, name, given)
    report = sync_one(index, Target(kind, resolved, name=added, register=True), progress=progress)
    if report.error is not None:
        if (kind, resolved) not in known:
            index.engine.remove_source(added)
        raise SourceError(report.error)
    return report


def remove_source(index: OpenIndex, name: str) -> None:
    """The work of `Index.remove_source`."""
    found = [row["name"] for row in index.engine.sources() if row["name"] == name]
    found = found or [row["name"] for row in index.engine.sources() if row["path"] == absolute(name)]
    index.engine.remove_source(found[0] if found else name)
    index.engine.checkpoint()


def list_sources(index: OpenIndex) -> tuple[SourceEntry, ...]:
    """The work of `Index.list_sources`."""
    entries: list[SourceEntry] = []
    for row in index.engine.sources():
        if not row["registered"]:
            continue
        target = Target(row["kind"], row["path"], name=row["name"])
        report = None if row["kind"] == HANDED_OVER else sync_one(index, target, budget_ms=FRESHNESS_BUDGET_MS)
        entries.append(
            SourceEntry(
                name=row["name"],
                kind=row["kind"],
                path=row["path"],
                documents=report.documents if report else row["documents"],
                exclude=tuple(row["exclude"]),
                skipped=report.skipped if report else (),
                warnings=report.warnings if report else (),
                error=report.error if report else None,
            )
        )
    return tuple(entries)
