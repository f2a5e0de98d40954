"""Retrieval quality, measured: datasets in, figures out.

`evaluate` measures one dataset, `evaluate_own` the user's own notes; `bearsearch eval` prints what they return.
Documents are indexed and searched through `bearsearch.Index`, exactly as a user's notes are. docs/eval.md explains
the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bearsearch import Index
from bearsearch.errors import UsageError
from bearsearch.eval.datasets import Dataset, Query, load
from bearsearch.eval.measure import Measured, Score, measure, scratch_index
from bearsearch.eval.report import Evaluated, as_json, as_text
from bearsearch.eval.systems import SYSTEMS, System, chosen
from bearsearch.types import Progress

__all__ = [
    "SYSTEMS",
    "Dataset",
    "Evaluated",
    "Measured",
    "Query",
    "Score",
    "System",
    "as_json",
    "as_text",
    "evaluate",
    "evaluate_own",
    "load",
]


def evaluate(
    dataset: Dataset,
    *,
    systems: Sequence[str] = (),
    baseline: str | None = None,
    keep: Path | None = None,
    model: str | None = None,
    model_path: str | None = None,
    semantic: bool | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluated:
    """Measures search on a dataset, in a scratch index.

    Args:
        dataset: From `load`.
        systems: Names of `SYSTEMS`; none means all but rerank.
        baseline: The system that the others are compared with; None takes the first that ran.
        keep: Folder that keeps the scratch index for the next time.
        model: As for `bearsearch.Index`.
        model_path: As for `bearsearch.Index`.
        semantic: As for `bearsearch.Index`.
        progress: Called with documents, texts and queries done.

    Raises:
        UsageError: The dataset has no query with an answer, or there is no such system.
    """
    ways = chosen(tuple(systems))
    _check(dataset.name, dataset.queries)
    options = {"model": model, "model_path": model_path}
    with scratch_index(dataset, keep=keep, progress=progress, semantic=semantic, **options) as index:
        return _evaluated(dataset.name, dataset.queries, index, ways, baseline, progress)


def evaluate_own(
    index: Index,
    *,
    systems: Sequence[str] = (),
    baseline: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluated:
    """Measures search on the user's own notes, with questions made from them.

    Args:
        index: The user's index; it is brought up to date, its embeddings too.
        systems: As for `evaluate`.
        baseline: As for `evaluate`.
        progress: As for `evaluate`.

    Raises:
        UsageError: There is no note to ask about, or no such system.
        SourceNotFoundError: There is no source.
    """
    from bearsearch.eval.own import own_queries

    ways = chosen(tuple(systems))
    index.sync(register=False, progress=progress)
    index.embed(progress=progress)
    queries = tuple(own_queries(index))
    _check("your notes", queries)
    return _evaluated("own notes", queries, index, ways, baseline, progress)


def _check(name: str, queries: Sequence[Query]) -> None:
    if not queries:
        raise UsageError(f"{name}: no query has a relevant document, so there is nothing to measure")


def _evaluated(
    name: str,
    queries: tuple[Query, ...],
    index: Index,
    systems: Sequence[System],
    baseline: str | None,
    progress: Callable[[Progress], None] | None,
) -> Evaluated:
    runs, missing = measure(index, queries, systems, progress=progress)
    names = [run.system.name for run in runs]
    if baseline is not None and baseline not in SYSTEMS:
        raise UsageError(f"there is no system {baseline!r} to compare with; they are: {', '.join(SYSTEMS)}")
    return Evaluated(
        name=name,
        documents=index.status().documents,
        queries=queries,
        runs=tuple(runs),
        missing=missing,
        baseline=baseline or next(iter(names), None),
    )
