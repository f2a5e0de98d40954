"""A query -> what the list shows. The only part of the interactive search that asks the service.

Runs on a worker thread: the service may be asked from any.
"""

import time
from dataclasses import dataclass, field

from bearsearch.cli.filters import Filters
from bearsearch.errors import BearsearchError
from bearsearch.render.as_text import count
from bearsearch.render.visible import on_one_line
from bearsearch.service import Index
from bearsearch.types import Hit, Note, NoteSummary

__all__ = ["LIMIT", "Answer", "Question", "answer", "line_of", "matched_words", "read"]

LIMIT = 50
"""Notes in the list: more than anybody scrolls through."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    query: str
    mode: str = "auto"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown for a question."""

    rows: tuple[Hit | NoteSummary, ...] = ()
    """Hits; without a query the notes that changed last."""
    status: str = ""
    """How many, by what, how fast."""
    remarks: tuple[str, ...] = ()
    """What the user should know, as sentences."""
    failed: bool = False
    """Whether `status` says why there is no answer."""
    provisional: bool = field(default=False)
    """Whether asking again in a moment gives more, because the model is being loaded."""


def answer(index: Index, question: Question, filters: Filters) -> Answer:
    """The notes for a question; an error becomes its sentence."""
    started = time.perf_counter()
    try:
        if not question.query.strip():
            recent = index.list(limit=LIMIT, **filters)
            return Answer(
                rows=recent.notes,
                status=f"{count(recent.total, 'note')}, the newest first",
                remarks=recent.notices,
            )
        result = index.search(question.query, mode=question.mode, limit=LIMIT, **filters)
    except BearsearchError as error:
        return Answer(status=str(error), failed=True)
    elapsed_ms = (time.perf_counter() - started) * 1000
    legs = [f"{name} {leg.hits}" for name, leg in result.legs.items() if leg.ran]
    found = count(result.total, "note") if result.hits else "nothing found"
    loading = question.mode in ("auto", "hybrid") and "being loaded" in (result.legs["vector"].reason or "")
    return Answer(
        rows=result.hits,
        status=f"{found} \u00b7 {result.mode}: {', '.join(legs)} \u00b7 {elapsed_ms:.0f} ms",
        remarks=("loading the model; words only for now",) if loading else result.notices,
        provisional=loading,
    )


def read(index: Index, row: Hit | NoteSummary) -> Note | None:
    """The note behind a row; None when it is gone, or cannot be read now."""
    try:
        found = index.get(f"{row.source}:{row.id}")
    except BearsearchError:
        return None
    return next(iter(found.notes), None)


def line_of(row: Hit | NoteSummary) -> int:
    """The line that opening a row should show: the first that holds a word of the query in its best passage."""
    if not isinstance(row, Hit):
        return 1
    first, last = row.lines
    return next((line for line in row.line_hits if first <= line <= last), first)


def matched_words(row: Hit | NoteSummary) -> tuple[str, ...]:
    """The query's words as they stand in a hit's excerpt, each once."""
    if not isinstance(row, Hit):
        return ()
    words = (on_one_line(row.snippet[first:last]).strip() for first, last in row.highlights)
    return tuple({word.casefold(): word for word in words if word}.values())
