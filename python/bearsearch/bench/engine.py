"""The sections index, freshness, search and startup: one generated Bear library, what it costs to keep and to ask.

Times are medians; each figure says over how many notes. Embeddings are real where a model is installed, and measured
over the first few hundred passages only, because computing them is another program's speed.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bearsearch import Index
from bearsearch.bench.figures import Figure
from bearsearch.bench.library import COMMON_WORD, RARE_WORD, make_library
from bearsearch.bench.plan import Plan

__all__ = ["freshness", "index", "median_ms", "peak_rss_mb", "search", "startup"]

QUICK_NOTES, FULL_NOTES = 2_000, 10_000
MANY_NOTES = 100_000


def _notes(plan: Plan) -> int:
    return QUICK_NOTES if plan.quick else FULL_NOTES


@contextmanager
def _home(plan: Plan, notes: int) -> Generator[tuple[Path, Path]]:
    """An empty home and a library of so many notes; the library is kept in the plan's work folder, if there is one."""
    with tempfile.TemporaryDirectory(prefix="bearsearch-bench-") as folder:
        home = Path(folder)
        kept = plan.work_dir or home
        kept.mkdir(parents=True, exist_ok=True)
        library = kept / f"library-{notes}.sqlite"
        if not library.exists():
            make_library(library, notes)
            # A file written just now cannot be told from one that is still being written.
            old = time.time() - 60
            os.utime(library, (old, old))
        yield home, library


def _open(home: Path, library: Path, *, semantic: bool = False) -> Index:
    return Index(home / "index.sqlite", db=library, semantic=semantic)


def median_ms(work: Callable[[], object], *, times: int) -> float:
    """Median time of so many runs, in milliseconds."""
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def peak_rss_mb() -> float:
    """The most memory that this process has had so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def index(plan: Plan) -> Iterator[Figure]:
    """From nothing to searchable by word, and the size of that."""
    notes = _notes(plan)
    with _home(plan, notes) as (home, library), _open(home, library) as made:
        report = made.sync()
        seconds = report.elapsed_ms / 1000
        goal = 8.0 if notes == FULL_NOTES else None
        yield Figure(section="index", name=f"first text index, {notes:,} notes", value=seconds, unit="s", goal=goal)
        yield Figure(section="index", name="notes per second", value=notes / seconds, unit="")
        yield Figure(section="index", name="peak memory of the process", value=peak_rss_mb(), unit="MB", goal=300)
        text = library.stat().st_size / 2**20
        size = made.status().index_size_bytes / 2**20
        yield Figure(section="index", name="size of the index by size of the library", value=size / text, unit="x")
        again = median_ms(lambda: made.sync(), times=5)
        yield Figure(section="index", name="a second run, nothing changed", value=again, unit="ms", goal=60)


def freshness(plan: Plan) -> Iterator[Figure]:
    """What it costs to know that nothing changed, and to find what did."""
    for notes, goal in [(_notes(plan), 40.0)] + ([] if plan.quick else [(MANY_NOTES, 300.0)]):
        with _home(plan, notes) as (home, source), _open_copy(home, source) as (made, library):
            made.sync()
            made.sync()
            gate = median_ms(lambda: made.sync(register=False), times=20)
            yield Figure(section="freshness", name=f"unchanged by stat, {notes:,} notes", value=gate, unit="ms", goal=1)

            def rewritten(library: Path = library, made: Index = made) -> None:
                # The file's time moves, as it does when Bear tidies up, and no note changes.
                os.utime(library)
                made.sync(register=False)

            rows = median_ms(rewritten, times=5)
            name = f"unchanged by comparing rows, {notes:,} notes"
            yield Figure(section="freshness", name=name, value=rows, unit="ms", goal=goal)

            taken: list[float] = []
            for turn in range(5):
                _edit(library, f"zygomorphic{turn}x")
                started = time.perf_counter()
                found = made.search(f"zygomorphic{turn}x", mode="fts", limit=1).hits
                taken.append((time.perf_counter() - started) * 1000)
                assert found, "the edited note was not found"
            yield Figure(
                section="freshness",
                name=f"one changed note until it is found, {notes:,} notes",
                value=statistics.median(taken),
                unit="ms",
                goal=60 if notes <= FULL_NOTES else None,
            )


@contextmanager
def _open_copy(home: Path, source: Path) -> Generator[tuple[Index, Path]]:
    """An index over a copy of the library that may be changed."""
    library = home / "copy.sqlite"
    library.write_bytes(source.read_bytes())
    os.utime(library, (time.time() - 60, time.time() - 60))
    with _open(home, library) as made:
        # A file that was written or touched within the last two seconds may be written on, and is always looked into.
        time.sleep(2.1)
        yield made, library


def _edit(library: Path, word: str) -> None:
    """Change one note the way Bear saves it."""
    with closing(sqlite3.connect(library, isolation_level=None)) as db:
        db.execute("UPDATE ZSFNOTE SET ZTEXT = ZTEXT || ?, Z_OPT = Z_OPT + 1 WHERE Z_PK = 3", (f"\n{word}\n",))


def search(plan: Plan) -> Iterator[Figure]:
    """Warm queries in one process; hybrid ones with the time of the query's own embedding told apart."""
    notes = _notes(plan)
    with _home(plan, notes) as (home, library), _open(home, library, semantic=True) as made:
        made.sync()
        for name, query in (
            ("a rare word", RARE_WORD),
            ("a common word", COMMON_WORD),
            ("three words", f"{COMMON_WORD} bade kilo"),
            ("three words and a tag", f"{COMMON_WORD} bade kilo tag:topic/3"),
        ):
            value = median_ms(lambda query=query: made.search(query, mode="fts"), times=30)
            yield Figure(section="search", name=f"fts, {name}, {notes:,} notes", value=value, unit="ms")
        if made.embed(limit=100 if plan.quick else 500).reason is not None:
            return
        query = f"{COMMON_WORD} bade kilo"
        made.search(query, mode="vector")

        def beside() -> float:
            # Texts still wait here, and a search embeds some of them before it answers: that time is not the query's.
            started = time.perf_counter()
            explanation = made.search(query, explain=True).explanation
            elapsed = (time.perf_counter() - started) * 1000
            return elapsed - (explanation.elapsed_ms["embedding"] if explanation is not None else 0.0)

        value = statistics.median(beside() for _ in range(15))
        embedding = median_ms(lambda: made.embed_query(query), times=30)
        yield Figure(section="search", name="a query's embedding", value=embedding, unit="ms")
        yield Figure(section="search", name="hybrid, beside the query's embedding", value=value, unit="ms", goal=10)


def startup(plan: Plan) -> Iterator[Figure]:
    """Whole processes, cold: from the command to its last byte."""
    with _home(plan, QUICK_NOTES) as (home, library):
        with _open(home, library) as made:
            made.sync()
        common = ["--index", str(home / "index.sqlite"), "--db", str(library)]
        for name, arguments, goal in (
            ("--help", ["--help"], 120.0),
            ("--version", ["--version"], 120.0),
            ("search --mode fts", ["search", COMMON_WORD, "--mode", "fts", *common], 200.0),
            ("search, with a model", ["search", COMMON_WORD, *common], 1_300.0),
        ):
            command = [sys.executable, "-m", "bearsearch", *arguments]
            value = median_ms(
                lambda command=command: subprocess.run(command, capture_output=True, check=False), times=5
            )
            yield Figure(section="startup", name=f"bearsearch {name}", value=value, unit="ms", goal=goal)
