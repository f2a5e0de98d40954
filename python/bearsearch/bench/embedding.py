"""The sections background and memory: what embedding costs whoever searches meanwhile, and how much memory it takes.

Notes are sentences of the demo's notes, drawn anew: real language, because a model's work depends on its words. Both
need an installed model and measure nothing without one.
"""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bearsearch import Index
from bearsearch.bench.engine import peak_rss_mb
from bearsearch.bench.figures import Figure
from bearsearch.bench.plan import Plan
from bearsearch.demo.library import load_notes

__all__ = ["background", "memory"]

QUICK_NOTES, FULL_NOTES = 20, 500
QUICK_QUERIES, FULL_QUERIES = 20, 300
PAUSE_S = 0.02, 0.08
"""Between two queries, so that they meet the background's work at every point of it."""

QUICK_CHUNKS, FULL_CHUNKS = 100, 100_000
STEPS = 10


def _sentences() -> list[str]:
    text = "\n".join(note.text for note in load_notes())
    found = re.findall(r"[A-Z][^.!?\n#\[\]`|]{30,200}[.!?]", text)
    return list(dict.fromkeys(found))


def _write(vault: Path, numbers: range, *, most: int) -> None:
    """Notes of one to `most` sentences."""
    sentences = _sentences()
    for number in numbers:
        rng = random.Random(number)
        body = " ".join(rng.choices(sentences, k=rng.randint(1, most)))
        folder = vault / f"{number // 1000:03}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{body}\n", encoding="utf-8")


def _ask(index: Index, queries: int, *, seed: int) -> list[float]:
    """Milliseconds that hybrid queries took, each of them new and with its embedding."""
    rng = random.Random(seed)
    words = sorted({word for sentence in _sentences() for word in re.findall(r"[a-z]{5,}", sentence)})
    taken: list[float] = []
    for _ in range(queries):
        query = " ".join(rng.sample(words, 4))
        started = time.perf_counter()
        index.search(query, mode="hybrid")
        taken.append((time.perf_counter() - started) * 1000)
        time.sleep(rng.uniform(*PAUSE_S))
    return taken


def _p95(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1]


def background(plan: Plan) -> Iterator[Figure]:
    """Hybrid queries with nothing else to do, and while a background thread embeds as fast as it can."""
    notes, queries = (QUICK_NOTES, QUICK_QUERIES) if plan.quick else (FULL_NOTES, FULL_QUERIES)
    with tempfile.TemporaryDirectory(prefix="bearsearch-bench-") as folder:
        vault = Path(folder) / "vault"
        vault.mkdir()
        _write(vault, range(notes), most=12)
        with Index(Path(folder) / "index.sqlite", vault=vault) as index:
            index.sync()
            if index.embed().reason is not None:
                return
            # The same thread is there in both cases; what differs is whether it works.
            index.start_background()
            _ask(index, 5, seed=0)
            idle = _ask(index, queries, seed=1)
            # More than it can embed while the queries run.
            _write(vault, range(notes, notes + queries * 8), most=12)
            index.sync()
            _ask(index, 2, seed=2)
            busy = _ask(index, queries, seed=3)
            left = index.status().pending
        for name, taken in (("idle", idle), ("while a background thread embeds", busy)):
            yield _figure(f"a hybrid query with its embedding, {name}, median", statistics.median(taken), "ms")
            yield _figure(f"the same, {name}, p95", _p95(taken), "ms")
        yield _figure("p95 beside the background thread, times the idle p95", _p95(busy) / _p95(idle), "", goal=2)
        yield _figure("passages that still waited at the end", left, "")


def _figure(name: str, value: float, unit: str, *, goal: float | None = None) -> Figure:
    return Figure(section="background", name=name, value=value, unit=unit, goal=goal)


def memory(plan: Plan) -> Iterator[Figure]:
    """Memory of a process after each tenth of the passages was embedded; one of its own, because a peak never falls."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        yield from pool.submit(_memory, plan).result()


def _memory(plan: Plan) -> list[Figure]:
    return list(_after_each_tenth(plan))


def _after_each_tenth(plan: Plan) -> Iterator[Figure]:
    chunks = QUICK_CHUNKS if plan.quick else FULL_CHUNKS
    with tempfile.TemporaryDirectory(prefix="bearsearch-bench-") as folder:
        vault = Path(folder) / "vault"
        vault.mkdir()
        # Short ones, so that so many take minutes and not hours; a few long ones, because batches differ by length.
        _write(vault, range(chunks), most=2)
        _write(vault, range(0, chunks, 50), most=40)
        with Index(Path(folder) / "index.sqlite", vault=vault) as index:
            index.sync()
            yield Figure(section="memory", name="before the model is loaded", value=peak_rss_mb(), unit="MB")
            for step in range(1, STEPS + 1):
                if index.embed(limit=chunks // STEPS).reason is not None:
                    return
                name = f"peak after {step * chunks // STEPS:,} passages were embedded"
                yield Figure(section="memory", name=name, value=peak_rss_mb(), unit="MB")
