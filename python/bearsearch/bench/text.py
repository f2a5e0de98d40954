"""The section text: warm queries over 100,000 passages, words of every frequency, beside tantivy and SQLite's own BM25.

The passages are drawn from a vocabulary whose frequencies fall off like a language's (Zipf), one passage a document;
queries draw one to five of its words, common ones included. Vectors are made to lie as real ones do (`_Topical`),
because how many of them a scan measures exactly depends on that; only time is measured with them. Peers that are not
installed are named as missing.
"""

from __future__ import annotations

import importlib
import math
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearsearch import Document, Index
from bearsearch.bench.figures import Figure
from bearsearch.bench.plan import Plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["text"]

QUICK_PASSAGES, FULL_PASSAGES = 10_000, 100_000
VOCABULARY = 60_000
LETTERS = "abcdefghijklmnoprstu"
WORDS = (40, 70)
"""Shortest and longest passage: shorter ones would all count as this long, and the longest is one chunk even for a
model that spells out invented words."""
QUERIES = 200
DIM = 384
TOPICS, FIELDS = 4_000, 100
LIMIT = 10


def _word(number: int) -> str:
    """A word for each number, with none a form of another: they part within their first letters.

    >>> _word(0), _word(59_999)
    ('aaaaq', 'dkttq')
    """
    base = len(LETTERS)
    return "".join(LETTERS[number // base**place % base] for place in (3, 2, 1, 0)) + "q"


def _passages(count: int) -> Iterator[Document]:
    rng = random.Random(1)
    words = [_word(number) for number in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))
    for number in range(count):
        drawn = rng.choices(words, cum_weights=weights, k=rng.randint(*WORDS))
        yield Document(id=str(number), title="", text=" ".join(drawn))


def _queries() -> list[str]:
    """One to five words each: a third of them from the hundred commonest, the rest from anywhere by frequency."""
    rng = random.Random(2)
    words = [_word(number) for number in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 50) for rank in range(VOCABULARY)))
    queries: list[str] = []
    for _ in range(QUERIES):
        drawn = rng.choices(words, cum_weights=weights, k=rng.randint(1, 5))
        drawn = [rng.choice(words[:100]) if rng.random() < 1 / 3 else word for word in drawn]
        queries.append(" ".join(dict.fromkeys(drawn)))
    return queries


class _Topical:
    """An `Embedder` whose vectors lie about as those of a real model do.

    A text is about its rarest word: that word belongs to one of 4,000 topics, a topic to one of 100 fields, and a
    vector is the sum of its topic's direction, which is near its field's, and of one of its own; variances fall off
    over the dimensions. Compared with 10,077 embeddings of all-MiniLM-L6-v2, spread to 30,000 by adding half the
    difference of two others to each: a query's cosines to all have a standard deviation of .087 here and .079 there,
    its nearest vector one of .56 and .52, and a scan for 10, 200 and 600 measures 60, 1,245 and 3,865 vectors exactly
    here, 56, 1,082 and 3,377 there (medians).
    """

    name = "topics, for timing"
    fingerprint = "0" * 63 + "1"
    dim = DIM
    max_tokens = 512
    document_prefix = query_prefix = ""
    windowed = 0
    floor = 0.0

    def __init__(self) -> None:
        import numpy as np

        rng = np.random.default_rng(3)
        self._spread = ((np.arange(DIM) + 10) ** -0.5).astype(np.float32)
        fields = self._directions(rng, FIELDS)
        topics = fields[rng.integers(0, FIELDS, TOPICS)] + self._directions(rng, TOPICS)
        self._topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)
        self._topic_of = rng.integers(0, TOPICS, VOCABULARY)
        self._ranks = {_word(rank): rank for rank in range(VOCABULARY)}

    def fluency(self, text: str) -> float:
        return 1.0

    def embed_query(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        ranks = [self._ranks.get(word, 0) for word in text.split()]
        rarest = max(ranks, default=0)
        own = self._directions(np.random.default_rng([rarest, sum(ranks)]), 1)[0]
        total = self._topics[self._topic_of[rarest]] + own
        return total / np.linalg.norm(total)

    def embed_documents(self, texts: Sequence[str], *, threads: int | None = None) -> NDArray[np.float32]:
        import numpy as np

        return np.stack([self.embed_query(text) for text in texts])

    def _directions(self, rng: np.random.Generator, count: int) -> NDArray[np.float32]:
        import numpy as np

        drawn = rng.standard_normal((count, DIM), dtype=np.float32) * self._spread
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


class _Timed(Index):
    """An index whose vectors come from `_Topical`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._open.models.embedder = _Topical()  # type: ignore[assignment]


def _times_ms(ask: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """The second of two passes, in ascending order: everything that can be in memory is."""
    taken: list[float] = []
    for turn in range(2):
        for query in queries:
            started = time.perf_counter()
            ask(query)
            if turn:
                taken.append((time.perf_counter() - started) * 1000)
    return sorted(taken)


def _at(times: Sequence[float], share: float) -> float:
    return times[max(0, math.ceil(share * len(times)) - 1)]


def text(plan: Plan) -> Iterator[Figure]:
    """Warm text and hybrid queries, and how they compare with peers."""
    count = QUICK_PASSAGES if plan.quick else FULL_PASSAGES
    size = f"{count:,} passages"
    queries = _queries()

    def figure(name: str, value: float, unit: str = "ms", goal: float | None = None) -> Figure:
        return Figure(section="text", name=f"{name}, {size}", value=value, unit=unit, goal=goal)

    with tempfile.TemporaryDirectory(prefix="bearsearch-bench-") as folder:
        kept = plan.work_dir or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        with _Timed(kept / f"text-{count}.sqlite") as index:
            if index.status().documents != count:
                index.index_documents("passages", _passages(count))
            index.embed()

            def ask(query: str, mode: str) -> list[str]:
                return [hit.id for hit in index.search(query, mode=mode, limit=LIMIT, fresh=False).hits]

            ours = _times_ms(lambda query: ask(query, "fts"), queries)
            yield figure("text, p50", _at(ours, 0.5))
            yield figure("text, p95", _at(ours, 0.95), goal=15)
            common = sorted(queries, key=lambda query: min(_rank(word) for word in query.split()))[: QUERIES // 4]
            yield figure(
                "text, p95 of queries with the commonest words", _at(_times_ms(lambda q: ask(q, "fts"), common), 0.95)
            )
            hybrid = _times_ms(lambda query: ask(query, "hybrid"), queries)
            yield figure("hybrid beside the query's embedding, p50", _at(hybrid, 0.5))
            yield figure("hybrid beside the query's embedding, p95", _at(hybrid, 0.95), goal=20)
            answers = {query: ask(query, "fts") for query in queries}
        yield from _fts5(kept, count, queries, answers, figure)
        theirs = _tantivy(Path(folder), count, queries)
        if theirs is None:
            yield figure("tantivy, missing: pip install 'bearsearch[bench]'", math.nan)
        else:
            yield figure("tantivy, p50", _at(theirs, 0.5))
            yield figure("tantivy, p95", _at(theirs, 0.95))
            yield figure("text by tantivy, p50", _at(ours, 0.5) / _at(theirs, 0.5), "x", 6)


def _rank(word: str) -> int:
    """The number of a word: how many are commoner.

    >>> _rank("aaaaq"), _rank("dkttq")
    (0, 59999)
    """
    rank = 0
    for letter in word[:-1]:
        rank = rank * len(LETTERS) + LETTERS.index(letter)
    return rank


def _fts5(
    kept: Path,
    count: int,
    queries: Sequence[str],
    answers: dict[str, list[str]],
    figure: Callable[..., Figure],
) -> Iterator[Figure]:
    """SQLite's own bm25() over the same passages: its time, and how many of its first ten are ours too.

    Equal scores stand in any order, so a passage counts as found when it scores as high as the tenth.
    """
    path = kept / f"text-{count}-fts5.sqlite"
    made = path.exists()
    with closing(sqlite3.connect(path)) as db:
        if not made:
            db.execute("CREATE VIRTUAL TABLE passages USING fts5(text, tokenize='unicode61')")
            rows = ((int(one.id), one.text) for one in _passages(count))
            db.executemany("INSERT INTO passages(rowid, text) VALUES (?, ?)", rows)
            db.commit()
        sql = "SELECT rowid, bm25(passages) FROM passages WHERE passages MATCH ? ORDER BY 2 LIMIT ?"

        def ask(query: str) -> list[tuple[int, float]]:
            return db.execute(sql, (" OR ".join(query.split()), LIMIT + 40)).fetchall()

        sample = queries[: QUERIES // 4]
        times = _times_ms(ask, sample)
        yield figure("SQLite's bm25(), p50", _at(times, 0.5))
        yield figure("SQLite's bm25(), p95", _at(times, 0.95))
        shares: list[float] = []
        for query in sample:
            best = ask(query)
            tenth = best[min(LIMIT, len(best)) - 1][1] if best else 0.0
            good = {str(row) for row, cost in best if cost <= tenth + 1e-3 * abs(tenth)}
            ours = answers[query]
            shares.append(sum(one in good for one in ours) / max(1, min(LIMIT, len(best))))
        yield figure("first ten in common with SQLite's bm25()", sum(shares) / len(shares), "of 1")


def _tantivy(folder: Path, count: int, queries: Sequence[str]) -> list[float] | None:
    """Times of tantivy over the same passages, scored by BM25; None when it is not installed."""
    try:
        tantivy: Any = importlib.import_module("tantivy")
    except ImportError:
        return None
    schema: Any = tantivy.SchemaBuilder().add_text_field("text").add_integer_field("id", stored=True).build()
    (folder / "tantivy").mkdir()
    index = tantivy.Index(schema, path=str(folder / "tantivy"))
    writer = index.writer(256 << 20, 1)
    for one in _passages(count):
        writer.add_document(tantivy.Document(text=one.text, id=int(one.id)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    return _times_ms(lambda query: searcher.search(index.parse_query(query, ["text"]), LIMIT).hits, queries)
