"""The section vaults: a generated folder of Markdown, what it costs to index, to compare and to walk.

Files have 1 KB in folders of 500, out of the vocabulary of `bearsearch.bench.library`. The first 10,000 notes link to
four others each. Times are medians, but for the first index of generated notes, which is one. With `--notes`, folders
that somebody wrote are measured instead.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from bearsearch import Index, _core
from bearsearch.bench.engine import median_ms
from bearsearch.bench.figures import Figure
from bearsearch.bench.library import VOCABULARY, word
from bearsearch.bench.plan import Plan

__all__ = ["make_vault", "vaults"]

QUICK_FILES, FULL_FILES = 5_000, 100_000
COMPARED_FILES = 10_000
LINKS_PER_NOTE = 4
WORDS_PER_FILE = 150
FILES_PER_FOLDER = 500
DEPTH = 3


def make_vault(root: Path, files: int) -> None:
    """Write a folder of so many notes to `root`, where nothing is yet."""
    rng = random.Random(1)
    words = [word(number) for number in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))
    linked = min(files, COMPARED_FILES)
    for number in range(files):
        folder = root / f"area {number // FILES_PER_FOLDER:03}"
        if number % FILES_PER_FOLDER == 0:
            folder.mkdir(parents=True)
        drawn = rng.choices(words, cum_weights=weights, k=WORDS_PER_FILE)
        head = f"---\ntags: [topic/{number % 40}]\nstatus: {drawn[0]}\n---\n# {' '.join(drawn[:3])} {number}\n\n"
        paragraphs = [" ".join(drawn[at : at + 50]) + "." for at in range(3, WORDS_PER_FILE, 50)]
        if number < linked:
            paragraphs.append(" ".join(f"[[note {rng.randrange(linked)}]]" for _ in range(LINKS_PER_NOTE)))
        (folder / f"note {number}.md").write_text(head + "\n\n".join(paragraphs) + "\n", encoding="utf-8")


def vaults(plan: Plan) -> Iterator[Figure]:
    """First index, no-change check, and a walk over links."""
    if plan.notes:
        for root in plan.notes:
            yield from _own(root.resolve())
        return
    files = QUICK_FILES if plan.quick else FULL_FILES
    with tempfile.TemporaryDirectory(prefix="bearsearch-bench-") as folder:
        for count in sorted({min(files, COMPARED_FILES), files}):
            root = (plan.work_dir or Path(folder)) / f"vault-{count}"
            if not root.exists():
                make_vault(root, count)
            path = Path(folder) / f"index-{count}.sqlite"
            with Index(path, vault=root, semantic=False) as made:
                started = time.perf_counter()
                made.sync()
                seconds = time.perf_counter() - started
                rate = f"first text index, {count:,} files of 1 KB, per 1,000"
                yield Figure(section="vaults", name=rate, value=seconds / count * 1e6, unit="ms", goal=1000 / 3)
                yield Figure(section="vaults", name="files per second", value=count / seconds, unit="")
                unchanged = median_ms(made.sync, times=9)
                goal = 80 if count == COMPARED_FILES else None
                name = f"no-change check, {count:,} files"
                yield Figure(section="vaults", name=name, value=unchanged, unit="ms", goal=goal)
            if count <= COMPARED_FILES:
                yield _walk(path, count)


def _own(root: Path) -> Iterator[Figure]:
    """A folder that somebody wrote: the medians of five first indexes and of nine checks."""
    with tempfile.TemporaryDirectory(prefix="bearsearch-bench-") as folder:
        paths = iter(Path(folder) / f"index-{number}.sqlite" for number in range(5))
        notes = 0

        def first() -> None:
            nonlocal notes
            with Index(next(paths), vault=root, semantic=False) as made:
                notes = made.sync().sources[0].documents

        first_ms = median_ms(first, times=5)
        yield Figure(
            section="vaults", name=f"{root.name}, first text index, {notes:,} notes", value=first_ms, unit="ms"
        )
        with Index(Path(folder) / "index-0.sqlite", vault=root, semantic=False) as made:
            unchanged = median_ms(made.sync, times=9)
        yield Figure(section="vaults", name=f"{root.name}, no-change check", value=unchanged, unit="ms")


def _walk(path: Path, files: int) -> Figure:
    """Three steps out from 50 notes, the engine alone: the freshness check is measured on its own."""
    engine = _core.Index(str(path))
    scope: _core.FilterOptions = {
        "sources": [row["id"] for row in engine.sources()],
        "tags_all": [],
        "tags_any": [],
        "ids": [],
        "updated_from_ms": None,
        "updated_until_ms": None,
        "archived": False,
    }
    notes = [f"area {number // FILES_PER_FOLDER:03}/note {number}.md" for number in range(0, files, files // 50)]
    left = iter(notes * 9)
    each = median_ms(lambda: engine.links(next(left), DEPTH, "out", scope, 200), times=len(notes) * 9)
    name = f"walk of {DEPTH} steps over {files * LINKS_PER_NOTE:,} links"
    return Figure(section="vaults", name=name, value=each, unit="ms", goal=5)
