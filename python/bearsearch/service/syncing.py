"""Bringing the text index up to date with the sources, and with documents that a program hands over.

Finding out what changed, reading and storing it is one call of the engine for each source. What an answer does about
sources that changed is `freshness`; embeddings are `embedding`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable
from typing import Literal

from bearsearch.errors import IndexCorruptError
from bearsearch.service.mending import mend
from bearsearch.service.models import chunk_tokens
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.progress import ProgressFunction, reporter
from bearsearch.service.targets import HANDED_OVER, Target, require_targets
from bearsearch.types import Document, SourceReport, SyncReport

__all__ = ["index_documents", "sync", "sync_one"]

SOURCE_BUSY_TIMEOUT_MS = 5_000
"""How long to wait while Bear saves."""


def sync(
    index: OpenIndex,
    *,
    rebuild: bool | Literal["text", "embeddings"] = False,
    dry_run: bool = False,
    accept_loss: bool = False,
    register: bool = True,
    progress: ProgressFunction | None = None,
) -> SyncReport:
    """The work of `Index.sync`."""
    started = time.perf_counter()
    notices: list[str] = []
    sync_all = functools.partial(
        _sync_all,
        index,
        rebuild=rebuild,
        dry_run=dry_run,
        accept_loss=accept_loss,
        register=register,
        progress=progress,
    )
    try:
        reports = sync_all()
    except IndexCorruptError as error:
        if dry_run:
            raise
        notices.append(mend(index, error))
        reports = sync_all()
    if not dry_run:
        index.engine.finish_recovery()
    return SyncReport(
        sources=tuple(reports),
        chunks=index.engine.status()["chunks"],
        elapsed_ms=(time.perf_counter() - started) * 1000,
        dry_run=dry_run,
        notices=tuple(notices),
    )


def _sync_all(
    index: OpenIndex,
    *,
    rebuild: bool | Literal["text", "embeddings"],
    dry_run: bool,
    accept_loss: bool,
    register: bool,
    progress: ProgressFunction | None,
) -> list[SourceReport]:
    targets = require_targets(index, register=register and not dry_run)
    reports = [
        sync_one(index, target, rebuild=bool(rebuild), dry_run=dry_run, accept_loss=accept_loss, progress=progress)
        for target in targets
        if target.kind != HANDED_OVER
    ]
    if rebuild and not dry_run:
        if rebuild == "embeddings":
            index.engine.forget_embeddings()
        index.engine.prune()
    if not dry_run and any(report.removed or report.changed for report in reports):
        index.engine.checkpoint()
    return reports


def index_documents(
    index: OpenIndex, source: str, documents: Iterable[Document], *, progress: ProgressFunction | None
) -> SourceReport:
    """The work of `Index.index_documents`."""
    given = [(document.id, document.title, document.text, [*document.tags]) for document in documents]
    target = Target(HANDED_OVER, source, name=source, register=True)
    return sync_one(index, target, rebuild=False, dry_run=False, progress=progress, documents=given)


def sync_one(
    index: OpenIndex,
    target: Target,
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    accept_loss: bool = False,
    budget_ms: int | None = None,
    progress: ProgressFunction | None = None,
    documents: list[tuple[str, str, str, list[str]]] | None = None,
) -> SourceReport:
    """Compares one source with the index and stores what differs.

    Args:
        index: What to bring up to date.
        target: The source.
        rebuild: Store every note anew.
        dry_run: Compare and count, write nothing.
        accept_loss: Purge at once what vanished together with most other notes.
        budget_ms: Stop reading after so long; the next sync goes on. None takes the time it needs.
        progress: Called with the notes done so far.
        documents: Id, title, text and tags of each, where the target is `HANDED_OVER`.

    Returns:
        What was found and done; that the source cannot be read is in `error`.
    """
    settings = index.settings
    # A sync in a hurry leaves the chunks as they are, so it need not know the model, unless it cuts the first ones.
    hurried = budget_ms is not None and index.engine.status()["chunks"] > 0
    report = index.engine.sync(
        {
            "documents": documents or [],
            "kind": target.kind,
            "path": target.path,
            "name": target.name,
            "register": target.register,
            "dry_run": dry_run,
            "rebuild": rebuild,
            "accept_loss": accept_loss,
            "budget_ms": budget_ms,
            "max_tokens": None if hurried else chunk_tokens(index.models.find_model()),
            "index_locked_titles": settings.index_locked_titles,
            "exclude_tags": list(settings.exclude_tags),
            "exclude_globs": list(settings.exclude),
            "busy_timeout_ms": SOURCE_BUSY_TIMEOUT_MS,
        },
        reporter("indexing", progress),
    )
    return SourceReport(
        source=report["source"],
        kind=report["kind"],
        path=report["path"],
        documents=report["documents"],
        added=report["added"],
        changed=report["changed"],
        removed=report["removed"],
        locked=report["locked"],
        hidden=report["hidden"],
        remaining=report["remaining"],
        skipped=tuple(report["skipped"]),
        warnings=tuple(report["warnings"]),
        error=report["error"],
    )
