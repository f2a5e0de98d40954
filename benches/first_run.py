"""The main job on real notes, measured.

    python benches/first_run.py NOTES QUERIES [--work-dir DIR]

Makes a Bear library of NOTES, a folder of Markdown, indexes it, and asks QUERIES: a JSONL file of {"query", "kind",
"relevant": [paths under NOTES]}. Prints the tables of `docs/first-run.md`. Times are of this machine; a cold process is
the installed command, the median of nine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bearsearch
from bearsearch.eval.metrics import ndcg_at_k

GENERATOR = Path(__file__).parents[1] / "tests" / "make_bear_db.py"
CUT = 10
MODES = {"text": "fts", "vector": "vector", "hybrid": "hybrid"}


@dataclass(frozen=True)
class Question:
    """A query and the notes that answer it, by their ids in the Bear library."""

    query: str
    kind: str
    gains: dict[str, int]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The main job on real notes, measured.")
    parser.add_argument("notes", type=Path, help="a folder of Markdown")
    parser.add_argument("queries", type=Path, help="a JSONL file of queries with the notes that answer them")
    parser.add_argument(
        "--work-dir", type=Path, help="keep the library and the index here (default: a temporary folder)"
    )
    options = parser.parse_args(arguments)
    if options.work_dir is None:
        with tempfile.TemporaryDirectory(prefix="bearsearch-first-run-") as folder:
            run(options.notes, options.queries, Path(folder))
    else:
        options.work_dir.mkdir(parents=True, exist_ok=True)
        run(options.notes, options.queries, options.work_dir)
    return 0


def run(notes: Path, queries: Path, folder: Path) -> None:
    library = folder / "bear.sqlite"
    ids = make_library(notes, library)
    questions = read_questions(queries, ids)
    environment = {**os.environ, "BEARSEARCH_HOME": str(folder / "home")}
    os.environ.update(environment)

    with bearsearch.Index(db=library) as index:
        report = index.sync()
        again = min(index.sync().elapsed_ms for _ in range(5))
        embedded = index.embed(progress=progress)
        status = index.status()
        print(f"\n{report.sources[0].documents:,} notes, {status.chunks:,} passages, model {status.model}\n")
        table(
            ("step", "time"),
            [
                ("text index from nothing", f"{report.elapsed_ms / 1000:.2f} s"),
                ("a second run, nothing changed", f"{again:.2f} ms"),
                ("embedding", f"{embedded.elapsed_ms / 1000:.0f} s"),
                ("passages embedded per second", f"{embedded.embedded / embedded.elapsed_ms * 1000:.0f}"),
                ("size of the index", f"{status.index_size_bytes / 1e6:.1f} MB"),
            ],
        )
        answer_all(index, questions)
    cold_starts(environment, library)


def make_library(notes: Path, library: Path) -> dict[str, str]:
    """Make the Bear library, unless it is there; return each note's id by its path under the folder."""
    manifest = library.with_name(f"{library.name}.manifest.json")
    if not manifest.exists():
        command = [
            sys.executable,
            str(GENERATOR),
            "create",
            str(library),
            "--no-edge",
            "--notes",
            "0",
            "--markdown",
            str(notes),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        old = time.time() - 60  # a file written just now cannot be told from one that is still being written
        os.utime(library, (old, old))
    made = json.loads(manifest.read_text(encoding="utf-8"))["notes"]
    return {note["kind"].removeprefix("markdown:"): note["id"] for note in made}


def read_questions(path: Path, ids: dict[str, str]) -> list[Question]:
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return [Question(one["query"], one["kind"], {ids[note]: 1 for note in one["relevant"]}) for one in lines]


def answer_all(index: bearsearch.Index, questions: Sequence[Question]) -> None:
    kinds = list(dict.fromkeys(question.kind for question in questions))
    rows: list[tuple[str, ...]] = []
    for name, mode in MODES.items():
        gains: defaultdict[str, list[float]] = defaultdict(list)
        times: list[float] = []
        for question in questions:
            started = time.perf_counter()
            hits = index.search(question.query, mode=mode, limit=CUT).hits
            times.append((time.perf_counter() - started) * 1000)
            gains[question.kind].append(ndcg_at_k([hit.id for hit in hits], question.gains, k=CUT))
        everything = [gain for kind in kinds for gain in gains[kind]]
        means = [f"{statistics.fmean(gains[kind]):.3f}" for kind in kinds]
        times.sort()
        p95 = times[math.ceil(len(times) * 0.95) - 1]
        rows.append(
            (name, f"{statistics.fmean(everything):.3f}", *means, f"{statistics.median(times):.1f}", f"{p95:.1f}")
        )
    print(f"\nnDCG@{CUT} of {len(questions)} queries; times with the query's own embedding\n")
    table(("mode", "all", *kinds, "p50 ms", "p95 ms"), rows)
    texts = [question.query for question in questions]
    embedding = [timed(lambda text=text: index.embed_query(text)) for text in texts]
    print(f"\nof which embedding the query: p50 {statistics.median(embedding):.1f} ms")


def cold_starts(environment: dict[str, str], library: Path) -> None:
    commands = {
        "--help": ["--help"],
        "search --mode fts": ["search", "rebase", "--mode", "fts", "--db", str(library)],
        "search": ["search", "rebase a branch", "--db", str(library)],
    }
    rows: list[tuple[str, ...]] = []
    for name, words in commands.items():
        command = [sys.executable, "-m", "bearsearch", *words]

        def start(command: list[str] = command) -> None:
            subprocess.run(command, env=environment, check=True, capture_output=True)

        rows.append((name, f"{statistics.median([timed(start) for _ in range(9)]):.0f} ms"))
    print()
    table(("cold process", "time"), rows)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def progress(progress: bearsearch.Progress) -> None:
    print(f"\rembedding {progress.done:,} of {progress.total:,}", end="", file=sys.stderr, flush=True)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    raise SystemExit(main())
