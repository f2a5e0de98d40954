"""The demo itself: builds the library, indexes it, and shows beside each other what each mode finds.

Lives on `bearsearch.Index` alone, as any program could. What is asked stands in `queries.toml`.
"""

import itertools
import statistics
import tempfile
import time
import tomllib
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bearsearch import Index
from bearsearch.demo.library import create_bear_library
from bearsearch.errors import ModelError
from bearsearch.types import EmbedReport, Progress, SyncReport

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["DemoQuery", "load_queries", "run"]

_MODES = ("fts", "vector", "hybrid")
_SHOWN = 3
"""Notes shown per mode: enough to compare, few enough to take in."""
_PLAIN_WIDTH = 120
"""Columns of the output where there is no terminal to ask."""
_PLAIN_STEPS = 4
"""Lines that a stage writes where no bar can be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuery:
    """One question of the demo."""

    query: str
    shows: str
    """What the question is there to show, as a clause."""
    tags: tuple[str, ...]
    """Tags that a note must carry to be found."""


def load_queries() -> list[DemoQuery]:
    """The questions of `queries.toml`, in their order."""
    text = resources.files("bearsearch.demo").joinpath("queries.toml").read_text(encoding="utf-8")
    return [
        DemoQuery(query=entry["query"], shows=entry["shows"], tags=tuple(entry.get("tags", ())))
        for entry in tomllib.loads(text)["queries"]
    ]


def run(
    index_path: Path | None,
    out: TextIO,
    *,
    model: str | None = None,
    model_path: Path | None = None,
    semantic: bool | None = None,
    queries: Sequence[DemoQuery] | None = None,
) -> None:
    """Index the demo library and write to `out` what each mode finds for each query.

    Args:
        index_path: Where the index stays afterwards, with the library beside it as `demo-library.sqlite` (replaced when
            it is there); None works in a temporary folder and leaves nothing behind.
        out: Gets everything; colours and a progress bar only when it is a terminal.
        model: Embedding model; None takes the usual choice.
        model_path: Folder with the model's files; None takes the usual places.
        semantic: False searches by words alone; None follows the user's settings.
        queries: What to ask; None asks what is in `queries.toml`.

    Raises:
        IndexUnavailableError: The index cannot be written at `index_path`.

    A missing model is no error: the demo says so and goes on with words.
    """
    # rich costs 50 ms to import, and `load_queries` needs none of it.
    from rich.console import Console

    console = Console(file=out, highlight=False, width=None if out.isatty() else _PLAIN_WIDTH)
    with ExitStack() as stack:
        if index_path is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bearsearch-demo-")))
        else:
            folder = index_path.parent
            folder.mkdir(parents=True, exist_ok=True)
        library = folder / "demo-library.sqlite"
        library.unlink(missing_ok=True)
        create_bear_library(library)
        index = stack.enter_context(
            Index(
                index_path or folder / "index.sqlite", db=library, model=model, model_path=model_path, semantic=semantic
            )
        )
        # The user's choice of a model holds, nothing else of theirs: the demo reads its own library, all of it.
        index.settings = replace(index.settings, vault=None, exclude_tags=(), exclude=(), index_locked_titles=True)
        with _progress(console) as progress:
            synced = index.sync(progress=progress)
            embedded = index.embed(progress=progress)
        _show_library(console, synced, embedded)
        _show_queries(console, index, load_queries() if queries is None else queries)
        if index_path is not None:
            console.print(f'\nAsk your own: bearsearch --index {index_path} search "..."', markup=False)


@contextmanager
def _progress(console: "Console") -> Generator[Callable[[Progress], None], None, None]:
    """What the service calls with its progress: a bar on a terminal, a few plain lines elsewhere."""
    if not console.is_terminal:
        written: dict[str, int] = {}

        def write(progress: Progress) -> None:
            step = progress.done * _PLAIN_STEPS // max(progress.total, 1)
            if step > written.get(progress.stage, 0):
                written[progress.stage] = step
                console.print(f"{progress.stage} {progress.done}/{progress.total}")

        yield write
        return

    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
    tasks: dict[str, TaskID] = {}

    def draw(progress: Progress) -> None:
        total = progress.total or None
        if progress.stage not in tasks:
            tasks[progress.stage] = bars.add_task(progress.stage, total=total)
        bars.update(tasks[progress.stage], completed=progress.done, total=total)

    with bars:
        yield draw


def _show_library(console: "Console", synced: SyncReport, embedded: EmbedReport) -> None:
    (source,) = synced.sources
    console.print(
        f"{source.documents} notes ({source.locked} locked) in {synced.chunks} chunks,"
        f" indexed by word in {synced.elapsed_ms:.0f} ms",
        markup=False,
    )
    if embedded.reason is not None:
        console.print(f"no vectors: {embedded.reason}", markup=False)
    else:
        console.print(
            f"{embedded.embedded} texts embedded in {embedded.elapsed_ms / 1000:.1f} s"
            f" with {embedded.model} ({embedded.dim} dimensions)",
            markup=False,
        )


def _show_queries(console: "Console", index: Index, queries: Sequence[DemoQuery]) -> None:
    """Per query one small table, a column per mode; at the end the median times."""
    from rich.table import Table
    from rich.text import Text

    times_ms: dict[str, list[float]] = {mode: [] for mode in _MODES}
    # The first search loads the model; the times below are those of a program that is already running.
    index.search("warm up")
    for query in queries:
        columns: list[tuple[str, list[str]]] = []
        for mode in _MODES:
            titles, elapsed_ms = _ask(index, mode, query)
            if elapsed_ms is None:
                columns.append((mode, titles))
            else:
                times_ms[mode].append(elapsed_ms)
                columns.append((f"{mode}  {elapsed_ms:.1f} ms", titles))
        tags = "".join(f"  --tag {tag}" for tag in query.tags)
        console.print()
        console.print(Text.assemble((query.query + tags, "bold"), "  ", (query.shows, "dim")))
        table = Table.grid(expand=True, padding=(0, 2, 0, 0))
        for _ in columns:
            # Equal widths; a title that does not fit is cut, so that each note keeps its own line.
            table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_row(*(Text(head, "cyan") for head, _ in columns))
        for titles in itertools.zip_longest(*(titles for _, titles in columns), fillvalue=""):
            table.add_row(*(Text(title) for title in titles))
        console.print(table)
    console.print()
    medians = ", ".join(f"{mode} {statistics.median(times):.1f} ms" for mode, times in times_ms.items() if times)
    console.print(f"median per query, freshness check included: {medians}")


def _ask(index: Index, mode: str, query: DemoQuery) -> tuple[list[str], float | None]:
    """Titles of the best notes and the time it took; a sentence and None when the mode has no model to run with."""
    started = time.perf_counter()
    try:
        result = index.search(query.query, mode=mode, limit=_SHOWN, tags=query.tags)
    except ModelError:
        return ["(no model)"], None
    elapsed_ms = (time.perf_counter() - started) * 1000
    titles = [(hit.title or "(untitled)") + (" [locked]" if hit.locked else "") for hit in result.hits]
    return titles or ["-"], elapsed_ms
