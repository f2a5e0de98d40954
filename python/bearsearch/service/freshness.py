"""No answer is older than the notes: before one, the text of its sources is brought up to date within a time.

What could not be is said with the answer. `syncing` does the work.
"""

from __future__ import annotations

from bearsearch import _core
from bearsearch.errors import IndexBusyError, IndexUnwritableError, SourceError
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.syncing import sync_one
from bearsearch.service.targets import HANDED_OVER, Target, target_ids

__all__ = ["FRESHNESS_BUDGET_MS", "freshen"]

FRESHNESS_BUDGET_MS = 1_500
"""How long a search may spend on reading notes that changed, before it answers without the rest."""


def freshen(index: OpenIndex, targets: list[Target]) -> tuple[bool, list[str]]:
    """Syncs the text of all targets before an answer; returns whether the answer may be stale, and why.

    Raises:
        SourceError: No source can be read and the index holds nothing of them, so there is nothing to answer from.
    """
    notices: list[str] = []
    unreadable: list[str] = []
    stale = False
    for target in targets:
        if target.kind == HANDED_OVER:
            continue
        try:
            report = sync_one(index, target, budget_ms=FRESHNESS_BUDGET_MS)
        except (IndexBusyError, IndexUnwritableError) as error:
            stale = True
            notices.append(f"{error}; the answer comes from the index as it was")
            continue
        if report.error is not None:
            stale = True
            unreadable.append(report.error)
            notices.append(f"{report.error}; the answer comes from the index as it was")
        if report.remaining:
            stale = True
            notices.append(
                f'{report.remaining} notes of "{report.source}" are not read yet; the next search goes on, or'
                " `bearsearch index` reads them all"
            )
        if report.hidden:
            notices.append(
                f'{report.hidden} notes of "{report.source}" vanished at once and are kept aside for 7 days;'
                " `bearsearch index --accept-loss` lets them go"
            )
        if report.skipped:
            skipped = "1 note" if len(report.skipped) == 1 else f"{len(report.skipped)} notes"
            notices.append(
                f'{skipped} of "{report.source}" could not be read; `bearsearch source list` says which and why'
            )
    if unreadable and len(unreadable) == len(targets) and not _holds_any(index.engine, targets):
        raise SourceError("; ".join(unreadable))
    return stale, notices


def _holds_any(engine: _core.Index, targets: list[Target]) -> bool:
    """Whether the index has a note of one of the targets."""
    ids = set(target_ids(engine, targets))
    rows = (row for row in engine.sources() if row["id"] in ids)
    return any(row["documents"] or row["hidden"] for row in rows)
