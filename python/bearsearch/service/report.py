"""What there is to say about the index itself: its status, and the examination. The checks are `bearsearch.doctor`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from bearsearch import _core
from bearsearch.errors import IndexUnavailableError, ModelError
from bearsearch.rows import moment
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.targets import HANDED_OVER, find_targets, no_sources
from bearsearch.types import Check, Examination, IndexStatus, SourceStatus

__all__ = ["examine", "status"]


def status(index: OpenIndex) -> IndexStatus:
    """The work of `Index.status`."""
    facts = index.engine.status()
    rows = index.engine.sources()
    live = index.live_model()
    coverage = index.engine.coverage(live["id"]) if live else None
    choice = index.models.find_model()
    return IndexStatus(
        index=facts["path"],
        index_size_bytes=facts["size_bytes"],
        schema_version=facts["schema_version"],
        documents=sum(row["documents"] for row in rows),
        archived=sum(row["archived"] for row in rows),
        locked=sum(row["locked"] for row in rows),
        chunks=facts["chunks"],
        embedded=coverage["embedded"] if coverage else 0,
        pending=coverage["pending"] if coverage else facts["chunks"],
        failed=coverage["failed"] if coverage else 0,
        model=live["name"] if live else None,
        dim=live["dim"] if live else None,
        model_available=choice.available,
        model_detail=choice.detail,
        vector_backend=facts["vector_backend"],
        last_full_index_at=moment(facts["last_full_index_at_ms"]),
        stale=any(_is_stale(row) for row in rows),
        background=index.background.status() if index.background else None,
        sources=tuple(
            SourceStatus(
                name=row["name"],
                kind=row["kind"],
                path=row["path"],
                documents=row["documents"],
                hidden=row["hidden"],
                last_sync_at=moment(row["last_sync_at_ms"]),
                stale=_is_stale(row),
                error=row["error"],
            )
            for row in rows
        ),
    )


def _is_stale(row: _core.SourceDict) -> bool:
    """Whether a source could not be compared, or never to its end."""
    return row["error"] is not None or row["last_sync_at_ms"] is None


def examine(index: OpenIndex, *, prepare: bool, on_message: Callable[[str], None] | None) -> Examination:
    """The work of `Index.doctor`."""
    from bearsearch import doctor

    if prepare and index.settings.semantic:
        # What stays wrong is among the findings.
        with contextlib.suppress(ModelError):
            index.models.prepare_model(on_message)
            index.models.load_embedder(allow_download=True, on_message=on_message)
    checks: list[Check] = []
    try:
        engine = index.engine
        targets = find_targets(index)
        checks += [
            doctor.check_source(target.name or target.kind, target.kind, target.path)
            for target in targets
            if target.kind != HANDED_OVER
        ]
        if not targets:
            checks.append(Check(name="sources", ok=False, detail=str(no_sources()), advice=None))
        checks += doctor.check_index(engine, index.settings.index)
        if index.settings.semantic:
            found, embedder = doctor.check_model(index.models.find_model(), index.models.load_embedder)
            checks.append(found)
            checks += doctor.check_vectors(engine, embedder)
        checks.append(doctor.check_versions(engine.status()["vector_backend"]))
    except IndexUnavailableError as error:
        checks.append(Check(name="index", ok=False, detail=str(error), advice="`bearsearch index` mends what it can"))
    return Examination(ok=all(check.ok for check in checks), checks=tuple(checks))
