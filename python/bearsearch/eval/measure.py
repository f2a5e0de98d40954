"""Asks every query of a dataset in every way, and keeps what came back and how long it took.

Lives here: the scratch index and the loop. Not here: what the numbers mean (`metrics`) and how they look (`report`).
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bearsearch import Index
from bearsearch.errors import ModelError
from bearsearch.eval.datasets import Dataset, Query
from bearsearch.eval.metrics import mrr_at_k, ndcg_at_k, recall_at_k
from bearsearch.eval.systems import System
from bearsearch.types import Progress, SearchResult

__all__ = ["Measured", "Score", "measure", "scratch_index"]

DEPTH = 100
"""Notes asked for when quality is measured: as many as recall@100 looks at."""

PAGE = 10
"""Notes asked for when time is measured: what a person sees."""

TIMED = 200
"""Queries that are timed; beyond it the median does not move."""

RARE_SHARE = 0.03
"""A word that stands in at most this share of the documents is a rare one, for groundedness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one system made of one query."""

    ndcg_at_10: float
    recall_at_10: float
    recall_at_100: float
    mrr_at_10: float
    grounded: float | None
    """Share of the query's rare words that the first ten passages hold; None when it has no rare word."""


@dataclass(slots=True)
class Measured:
    """What one system made of a dataset."""

    system: System
    scores: list[Score] = field(default_factory=list[Score])
    """One per query, in the dataset's order."""
    times_ms: list[float] = field(default_factory=list[float])
    """Whole searches for ten notes, without the query's embedding."""
    parts_ms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """The same by part: text, vector, fusion, evidence, ..."""


@contextlib.contextmanager
def scratch_index(
    dataset: Dataset,
    *,
    keep: Path | None,
    progress: Callable[[Progress], None] | None = None,
    model: str | None = None,
    model_path: str | None = None,
    semantic: bool | None = None,
) -> Generator[Index]:
    """An index of the dataset's documents, and of nothing else, with all embeddings that can be had.

    Args:
        dataset: What to index.
        keep: Folder where the index stays, and is found again by the dataset's name; vectors of texts that did not
            change are used again. None indexes in a temporary folder.
        progress: Called with documents and texts done.
        model: As for `bearsearch.Index`.
        model_path: As for `bearsearch.Index`.
        semantic: As for `bearsearch.Index`.
    """
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bearsearch-eval-")))
        folder.mkdir(parents=True, exist_ok=True)
        notes = dataset.notes
        is_folder = notes is not None and notes.is_dir()
        index = stack.enter_context(
            Index(
                folder / f"{dataset.name}.sqlite",
                vault=notes if is_folder else None,
                db=None if is_folder else notes,
                model=model,
                model_path=model_path,
                semantic=semantic,
            )
        )
        if notes is None:
            index.index_documents(dataset.name, dataset.documents(), progress=progress)
        else:
            index.sync(progress=progress)
        index.embed(progress=progress)
        yield index


def measure(
    index: Index,
    queries: Sequence[Query],
    systems: Sequence[System],
    *,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[list[Measured], dict[str, str]]:
    """Asks each query in each way.

    Args:
        index: Holds the documents; it is not compared with its sources while queries run.
        queries: What to ask.
        systems: In which ways.
        progress: Called with the queries done.

    Returns:
        What each system made of it, and the reason of each that could not run by its name.
    """
    runs, missing = _able(index, queries, systems)
    for done, query in enumerate(queries):
        if progress is not None:
            progress(Progress(stage="searching", done=done, total=len(queries), per_second=None))
        for run in runs:
            run.scores.append(_score(_ask(index, query, run.system, DEPTH), query))
    # A pass of its own: what is timed is a page of ten, with the query's embedding and the words' postings in memory.
    for query in queries[:TIMED]:
        for run in runs:
            started = time.perf_counter()
            result = _ask(index, query, run.system, PAGE)
            elapsed_ms = (time.perf_counter() - started) * 1000
            parts = dict(result.explanation.elapsed_ms) if result.explanation else dict[str, float]()
            run.times_ms.append(elapsed_ms - parts.get("embedding", 0.0))
            for part, part_ms in parts.items():
                run.parts_ms.setdefault(part, []).append(part_ms)
    return runs, missing


def _able(index: Index, queries: Sequence[Query], systems: Sequence[System]) -> tuple[list[Measured], dict[str, str]]:
    """The systems that can answer the first query, and why the others cannot."""
    runs: list[Measured] = []
    missing: dict[str, str] = {}
    for system in systems:
        try:
            if system.rerank:
                from bearsearch.embedding.rerank import load_reranker

                # Whoever evaluates it asked for its weights; a search on its own never fetches them.
                load_reranker(index.settings, allow_download=True)
            result = _ask(index, queries[0], system, PAGE) if queries else None
        except ModelError as error:
            missing[system.name] = str(error)
            continue
        leg = result.legs["vector"] if result is not None and system.needs_model else None
        if leg is not None and not leg.ran:
            missing[system.name] = leg.reason or "no vector can be searched"
        elif result is not None and system.rerank and not result.legs["rerank"].ran:
            missing[system.name] = result.legs["rerank"].reason or "no cross-encoder"
        else:
            runs.append(Measured(system))
    return runs, missing


def _ask(index: Index, query: Query, system: System, limit: int) -> SearchResult:
    return index.search(
        query.text,
        mode=system.mode,
        fusion=system.fusion,
        rerank=system.rerank,
        limit=limit,
        archived=True,
        fresh=False,
        explain=True,
    )


def _score(result: SearchResult, query: Query) -> Score:
    # A note that is not shown because it repeats one above it stands right behind that one.
    shown = [note for hit in result.hits for note in (hit.id, *hit.duplicates)]
    ranking = list(dict.fromkeys(shown))
    return Score(
        ndcg_at_10=ndcg_at_k(ranking, query.gains, k=10),
        recall_at_10=recall_at_k(ranking, query.gains, k=10),
        recall_at_100=recall_at_k(ranking, query.gains, k=100),
        mrr_at_10=mrr_at_k(ranking, query.gains, k=10),
        grounded=_grounded(result),
    )


def _grounded(result: SearchResult) -> float | None:
    if result.explanation is None:
        return None
    most = max(1, int(result.index.documents * RARE_SHARE))
    rare = {word.word for word in result.explanation.words if 0 < word.documents <= most}
    if not rare:
        return None
    held = {word for hit in result.hits[:PAGE] if hit.explanation for word in hit.explanation.words}
    return len(rare & held) / len(rare)
