"""Computing and storing the vectors of texts that wait for one. The queries' own are `queries`; models are `models`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bearsearch.errors import ModelError
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.progress import ProgressFunction, reporter
from bearsearch.types import EmbedReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bearsearch.embedding import Embedder

__all__ = ["count_pending", "embed"]

EMBED_PAGE = 512
"""Texts fetched at once while embedding: enough to sort by length, about a megabyte."""


def embed(
    index: OpenIndex,
    *,
    limit: int | None = None,
    budget_ms: int | None = None,
    threads: int | None = None,
    allow_download: bool = False,
    progress: ProgressFunction | None = None,
    on_message: Callable[[str], None] | None = None,
) -> EmbedReport:
    """The work of `Index.embed`."""
    started = time.perf_counter()
    if not index.settings.semantic:
        return _embed_report(None, 0, 0, 0, started, "embeddings are switched off (--no-semantic)")
    try:
        if allow_download:
            index.models.prepare_model(on_message)
        embedder = index.models.load_embedder(allow_download=allow_download, on_message=on_message)
    except ModelError as error:
        return _embed_report(None, 0, 0, count_pending(index), started, str(error))
    import numpy as np

    model_id = index.engine.use_model(embedder.name, embedder.fingerprint, embedder.dim)["id"]
    waiting = index.engine.coverage(model_id)["pending"]
    total = waiting if limit is None else min(limit, waiting)
    report = reporter("embedding", progress)
    done = failed = after = 0
    page = EMBED_PAGE if budget_ms is None else 1
    if report is not None:
        report(0, total)
    while done + failed < total:
        before = time.perf_counter()
        texts = index.engine.pending(model_id, after, min(page, total - done - failed))
        if not texts:
            break
        after = texts[-1][0]
        vectors, failures = _embed_page(embedder, texts, threads)
        if vectors:
            ids = np.fromiter(vectors.keys(), dtype=np.int64, count=len(vectors))
            done += index.engine.add_embeddings(model_id, ids, np.stack(list(vectors.values())))
        if failures:
            index.engine.fail_embeddings(model_id, failures)
            failed += len(failures)
        if report is not None:
            report(done + failed, total)
        if budget_ms is not None:
            now = time.perf_counter()
            left_ms = budget_ms - (now - started) * 1000
            per_text_ms = (now - before) * 1000 / len(texts)
            page = min(8, int(left_ms / per_text_ms / 2) if per_text_ms > 0 else 8)
            if page < 1:
                break
    if budget_ms is None:
        index.engine.quantize(index.settings.codec)
    pending = index.engine.coverage(model_id)["pending"]
    return _embed_report(embedder, done, failed, pending, started, None)


def count_pending(index: OpenIndex) -> int:
    """Texts that wait for a vector."""
    live = index.live_model()
    return index.engine.coverage(live["id"])["pending"] if live else index.engine.status()["chunks"]


def _embed_page(
    embedder: Embedder, texts: list[tuple[int, str]], threads: int | None
) -> tuple[dict[int, NDArray[np.float32]], list[tuple[int, str]]]:
    """Vectors by text id, and what failed; one bad text does not take its page along."""
    try:
        rows = embedder.embed_documents([text for _, text in texts], threads=threads)
        return {text_id: row for (text_id, _), row in zip(texts, rows, strict=True)}, []
    except ModelError:
        raise
    except Exception as error:
        if len(texts) == 1:
            return {}, [(texts[0][0], f"{type(error).__name__}: {error}")]
    vectors: dict[int, NDArray[np.float32]] = {}
    failures: list[tuple[int, str]] = []
    for text in texts:
        found, failed = _embed_page(embedder, [text], threads)
        vectors |= found
        failures += failed
    return vectors, failures


def _embed_report(
    embedder: Embedder | None, embedded: int, failed: int, pending: int, started: float, reason: str | None
) -> EmbedReport:
    return EmbedReport(
        model=embedder.name if embedder else None,
        dim=embedder.dim if embedder else None,
        embedded=embedded,
        failed=failed,
        pending=pending,
        elapsed_ms=(time.perf_counter() - started) * 1000,
        reason=reason,
    )
