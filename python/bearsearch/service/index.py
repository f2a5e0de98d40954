"""The class that every door and every program uses: its methods, what they mean, and which room answers.

Decides nothing. Rooms that search, `get` and `list` pass through are imported with this module, the others by the
method that needs them, because a process of the command line calls one method and ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from bearsearch.config import Settings, load_settings
from bearsearch.service import embedding, queries, reading, searching, sources, syncing
from bearsearch.service.arranging import Options
from bearsearch.service.open_index import OpenIndex
from bearsearch.service.progress import ProgressFunction
from bearsearch.service.scope import Filters
from bearsearch.types import (
    BrokenLinks,
    CreatedNote,
    Document,
    EmbedReport,
    Examination,
    GetResult,
    Hubs,
    IndexStatus,
    Links,
    ListResult,
    NoteMap,
    SearchResult,
    SourceEntry,
    SourceReport,
    SyncReport,
    Tag,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Index"]


class Index:
    """One index file and the sources that it is made from.

    Opening creates the file when there is none; it loads no model and reads no notes. All methods may be called from
    any thread; each releases the GIL while the engine works.

    Args:
        path: The index file; None takes it from the settings, in the end the platform's data folder.
        db: A Bear database to work with instead of the registered sources.
        vault: A folder of Markdown, or a backup of Bear's, to work with instead of the registered sources.
        model: Name of the embedding model; None lets the index and what is installed decide.
        model_path: Folder with the model's files.
        semantic: False never loads a model: words only.
        quick: For a process that asks once and ends: the model loads faster and embeds slower.

    Raises:
        IndexUnavailableError: The file cannot be opened, or one of its children for a damaged, newer or busy index.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> vault = folder / "vault"
    >>> vault.mkdir()
    >>> _ = (vault / "bread.md").write_text("# Bread\\n\\nFeed the starter.", encoding="utf-8")
    >>> with Index(folder / "index.sqlite", vault=vault, semantic=False) as index:
    ...     [hit.title for hit in index.search("starter").hits]
    ['Bread']
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        db: str | Path | None = None,
        vault: str | Path | None = None,
        model: str | None = None,
        model_path: str | Path | None = None,
        semantic: bool | None = None,
        quick: bool = False,
    ) -> None:
        given = {"index": path, "db": db, "vault": vault, "model": model, "model_path": model_path}
        self._open = OpenIndex(load_settings({**given, "semantic": semantic}), quick=quick)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the background thread and lets go of model and file; using the index again opens them again."""
        self._open.close()

    def start_background(self, *, delay_s: float = 0.0) -> None:
        """Keeps the index up to date on a thread of its own: syncs, then embeds what waits, queries first.

        For processes that live long, such as a server. Ends with `close`; calling it twice changes nothing.

        Args:
            delay_s: Rest before the first work, so that a process that starts can answer first.
        """
        from bearsearch.service import upkeep

        upkeep.start_background(self._open, delay_s=delay_s)

    @property
    def settings(self) -> Settings:
        """What the index works with; settings put in their place hold for all later calls."""
        return self._open.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._open.settings = settings

    @property
    def path(self) -> Path:
        """The index file."""
        return self.settings.index

    def add_source(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        exclude: Sequence[str] | None = None,
        progress: ProgressFunction | None = None,
    ) -> SourceReport:
        """Registers a folder of Markdown, a Bear database or a backup of Bear's for all later calls, and reads it.

        Adding what is there already reads it again, and gives it the name and the patterns that are named.

        Args:
            path: The folder, or the file.
            name: What `in:NAME` and `NAME:ID` call it; None takes it from the path.
            exclude: Patterns in gitignore syntax that this source leaves out, beside those in the settings; None leaves
                them as they are.
            progress: Called with the notes done so far.

        Raises:
            SourceError: It cannot be read; then it is not registered.
            UsageError: Another source has the name, a name cannot be used, or a pattern cannot be read.
        """
        return sources.add_source(self._open, path, name=name, exclude=exclude, progress=progress)

    def remove_source(self, name: str) -> None:
        """Forgets a source and everything that the index holds of it; the notes themselves are never touched.

        Args:
            name: Its name, or the path it was added with.

        Raises:
            UsageError: There is no such source.
        """
        sources.remove_source(self._open, name)

    def list_sources(self) -> tuple[SourceEntry, ...]:
        """The registered sources, each compared just now: what is in the index, and what could not be read and why."""
        return sources.list_sources(self._open)

    def sync(
        self,
        *,
        rebuild: bool | Literal["text", "embeddings"] = False,
        dry_run: bool = False,
        accept_loss: bool = False,
        register: bool = True,
        progress: ProgressFunction | None = None,
    ) -> SyncReport:
        """Brings the text index up to date with the sources; embeddings are another step.

        Args:
            rebuild: True or "text" stores every note anew and keeps the vectors of unchanged texts; "embeddings" also
                forgets all vectors.
            dry_run: Compare and count, write nothing.
            accept_loss: Purge at once what vanished together with most other notes, instead of waiting 7 days.
            register: Remember the sources named by `db` and `vault` for later calls.
            progress: Called with the notes done so far.

        Raises:
            SourceNotFoundError: There is no source at all. One that cannot be read is reported, not raised.
            IndexUnavailableError: The index cannot be written. A damaged one is moved aside and built again.
        """
        return syncing.sync(
            self._open,
            rebuild=rebuild,
            dry_run=dry_run,
            accept_loss=accept_loss,
            register=register,
            progress=progress,
        )

    def index_documents(
        self, source: str, documents: Iterable[Document], *, progress: ProgressFunction | None = None
    ) -> SourceReport:
        """Indexes documents that the caller has in memory, as a source of their own.

        They are not compared with anything when the index is searched. The next call for the same source replaces them
        all: what is not among the new documents goes, what is unchanged keeps its vectors.

        Args:
            source: Name of the source, for `in:NAME` and `sources`.
            documents: The documents; of several with one id the last counts.
            progress: Called with the documents done so far.

        Raises:
            IndexUnavailableError: The index cannot be written.
        """
        return syncing.index_documents(self._open, source, documents, progress=progress)

    def watch(self, *, on_report: Callable[[SyncReport, EmbedReport | None], object], stop: threading.Event) -> None:
        """Follows the registered sources: syncs and embeds after every change, until `stop` is set.

        Args:
            on_report: Receives what was done, whenever something was.
            stop: Ends the following within about a second.

        Raises:
            UsageError: The package `watchfiles` is not installed, or no source is there.
        """
        from bearsearch.service import upkeep

        upkeep.watch(self._open, on_report=on_report, stop=stop)

    def embed(
        self,
        *,
        limit: int | None = None,
        budget_ms: int | None = None,
        threads: int | None = None,
        allow_download: bool = False,
        progress: ProgressFunction | None = None,
        on_message: Callable[[str], None] | None = None,
    ) -> EmbedReport:
        """Computes vectors for texts that wait for one.

        Every page of vectors is committed, so an interrupted run goes on where it stopped. A text that cannot be
        embedded is recorded with its reason and skipped.

        Args:
            limit: Texts at most; None embeds all.
            budget_ms: Stop before this time is likely to be exceeded; None takes the time it needs.
            threads: Cores to use; None takes the setting.
            allow_download: Fetch a model when none is installed, and make the faster form of the installed one.
            progress: Called with the texts done so far.
            on_message: Called with sentences for a person, such as that a download begins.

        Returns:
            What was done; a missing model is a reason in the report, not an error.
        """
        return embedding.embed(
            self._open,
            limit=limit,
            budget_ms=budget_ms,
            threads=threads,
            allow_download=allow_download,
            progress=progress,
            on_message=on_message,
        )

    def search(
        self,
        query: str | Sequence[str],
        *,
        mode: str = "auto",
        limit: int = 10,
        tags: Sequence[str] = (),
        any_tags: Sequence[str] = (),
        ids: Sequence[str] = (),
        sources: Sequence[str] = (),
        after: date | datetime | None = None,
        before: date | datetime | None = None,
        archived: bool = False,
        context: int = 0,
        max_tokens: int | None = None,
        cursor: str | None = None,
        diverse: str | None = None,
        rerank: bool = False,
        fusion: str = "share",
        fts_syntax: bool = False,
        explain: bool = False,
        fresh: bool = True,
    ) -> SearchResult:
        """Finds notes by word, by meaning and despite typos.

        The sources are compared first, so that the answer is never older than the notes; what cannot be compared is
        named in `notices` and makes `index.stale` true.

        Args:
            query: What a person types, or several queries that are answered as one.
            mode: auto, hybrid, fts, vector or like.
            limit: Notes to return, at least 1; a huge one means all.
            tags: Every one of these tags, or a child of it.
            any_tags: At least one of these tags, or a child of one.
            ids: Only these notes.
            sources: Only sources with these names.
            after: Updated on or after this day or moment; a day begins at midnight UTC.
            before: Updated before this day or moment.
            archived: Find notes that their owner put away, too.
            context: Passages of the same note to return before and behind the best one.
            max_tokens: Return whole passages, as many as fit into about so many tokens, and a cursor to go on with.
            cursor: Go on behind the answer that this cursor comes from; the search must be the same, its limit too.
            diverse: tags or sources: hits that repeat those above them come later.
            rerank: Let a cross-encoder order the first hits again; its weights are a download of their own.
            fts_syntax: The query is an expression in FTS5's own syntax; words only.
            fusion: How words and meaning become one list: share, by how much of what is possible each of them saw in a
                note; or rrf, by ranks alone (reciprocal rank fusion, k = 60).
            explain: Say how the query was read, how long each step took, and why each note stands where it does.
            fresh: Compare the sources first; False answers from the index as it is.

        Raises:
            UsageError: The query is empty, the limit below 1, the mode or a source unknown.
            ModelError: `mode` is vector and no vector can be searched.
            SourceNotFoundError: There is no source at all.
            IndexUnavailableError: The index cannot be read.
        """
        options = Options(
            mode=mode,
            fusion=fusion,
            limit=limit,
            fresh=fresh,
            explain=explain,
            context=context,
            max_tokens=max_tokens,
            cursor=cursor,
            diverse=diverse,
            rerank=rerank,
            fts5=fts_syntax,
        )
        filters = Filters(tags, any_tags, ids, sources, after, before, archived)
        return searching.search(self._open, [query] if isinstance(query, str) else [*query], options, filters)

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """The embedding that `search` would use for a query: float32 of the model's dimension, unit length.

        Raises:
            ModelError: No model can be loaded.
        """
        return queries.embed_query(self._open, query)

    def similar(self, reference: str, *, limit: int = 10, archived: bool = False) -> SearchResult:
        """Finds notes near a note in meaning, by the vectors that it already has; loads no model.

        Args:
            reference: The note's id, NAME:ID, or title.
            limit: Notes to return, at least 1.
            archived: Find notes that their owner put away, too.

        Raises:
            UsageError: No note has that id or title, or the limit is below 1.
            SourceNotFoundError: There is no source at all.
            IndexUnavailableError: The index cannot be read.
        """
        return searching.similar(self._open, reference, limit=limit, archived=archived)

    def get(
        self,
        ids: str | Sequence[str],
        *,
        lines: str | Sequence[str] | None = None,
        sections: Sequence[str] = (),
        neighbours: int = 0,
    ) -> GetResult:
        """Reads notes by id, by `NAME:ID`, or by title.

        Args:
            ids: What to read; a title is compared without case, and all notes of that title come, newest first.
            lines: Only these lines of each: `10`, `10:20`, `10-20` or `10..20`, from 1, inclusive; or several such.
            sections: Only the sections below these headings; a heading, or the end of its path such as `Trip > Food`.
            neighbours: With `lines` or `sections`, so many paragraphs before and after them too.

        Returns:
            One entry per note, or per span of lines that was asked for; a section that a note does not have is
            `missing`, as `ID # SECTION`.

        Raises:
            UsageError: Nothing is asked for, `lines` is not a range, or `neighbours` is below 0.
            IndexUnavailableError: The index cannot be read.
        """
        return reading.get(self._open, ids, lines=lines, sections=sections, neighbours=neighbours)

    def create(
        self, *, title: str, content: str = "", tags: Sequence[str] = (), source: str | None = None
    ) -> CreatedNote:
        """Creates a note; none is ever changed or overwritten.

        Args:
            title: One line.
            content: Markdown, without the title.
            tags: Names without `#`.
            source: Name of the source to write to; None takes Bear if it is a source, else the only folder.

        Returns:
            The note as it was found afterwards; Bear is given a few seconds.

        Raises:
            UsageError: Title and content are both empty, a tag has no meaning, or the source is not clear.
            SourceError: Bear or the folder cannot take it.
        """
        from bearsearch.service import creating

        return creating.create(self._open, title=title, content=content, tags=tags, source=source)

    def list(
        self,
        *,
        limit: int = 10,
        offset: int = 0,
        tags: Sequence[str] = (),
        any_tags: Sequence[str] = (),
        sources: Sequence[str] = (),
        after: date | datetime | None = None,
        before: date | datetime | None = None,
        archived: bool = False,
    ) -> ListResult:
        """Notes by date, newest first; the filters mean the same as in `search`.

        Raises:
            UsageError: The limit is below 1, the offset below 0, or a source unknown.
        """
        filters = Filters(tags, any_tags, (), sources, after, before, archived)
        return reading.list_notes(self._open, filters, limit=limit, offset=offset)

    def tags(self) -> tuple[Tag, ...]:
        """All tags of notes that are not archived, by name."""
        return reading.tags(self._open)

    def languages(self, *, sample: int = 40) -> tuple[str, ...]:
        """English names of the languages that most notes are written in, guessed from the newest ones.

        Args:
            sample: Notes to look at. Compares nothing with the sources and loads no model.
        """
        return reading.languages(self._open, sample=sample)

    def links(
        self,
        note: str,
        *,
        depth: int = 1,
        direction: Literal["out", "in", "both"] = "both",
        limit: int = 200,
        archived: bool = False,
    ) -> Links | None:
        """The notes around one note, breadth first along links.

        Args:
            note: Its id, `SOURCE:ID`, or title.
            depth: Steps to go, 1 to 3.
            direction: out follows its links, in those to it, both either.
            limit: Steps told at most, the nearest first.
            archived: Archived notes too.

        Returns:
            What was found; None when no note has the id or title.

        Raises:
            UsageError: Several notes have the title, or an argument is out of its range.
        """
        from bearsearch.service import graph

        return graph.links(self._open, note, depth=depth, direction=direction, limit=limit, archived=archived)

    def orphans(self, *, limit: int = 50, sources: Sequence[str] = (), archived: bool = False) -> ListResult:
        """Notes that neither link to another note nor are linked to, newest first.

        Raises:
            UsageError: The limit is below 1, or a source unknown.
        """
        from bearsearch.service import graph

        return graph.orphans(self._open, limit=limit, sources=sources, archived=archived)

    def broken_links(self, *, limit: int = 50, sources: Sequence[str] = (), archived: bool = False) -> BrokenLinks:
        """Links that lead to no note, in the order of the notes' titles and their lines.

        Raises:
            UsageError: The limit is below 1, or a source unknown.
        """
        from bearsearch.service import graph

        return graph.broken_links(self._open, limit=limit, sources=sources, archived=archived)

    def hubs(self, *, limit: int = 20, sources: Sequence[str] = (), archived: bool = False) -> Hubs:
        """Notes with links, those with most neighbours first.

        Raises:
            UsageError: The limit is below 1, or a source unknown.
        """
        from bearsearch.service import graph

        return graph.hubs(self._open, limit=limit, sources=sources, archived=archived)

    def map_notes(self, *, limit: int = 5_000, sources: Sequence[str] = (), archived: bool = False) -> NoteMap:
        """The newest notes, placed so that those of a like meaning lie near each other; from stored vectors alone.

        Raises:
            UsageError: The index holds no embeddings, the limit is below 1, or a source unknown.
        """
        from bearsearch.service import graph

        return graph.map_notes(self._open, limit=limit, sources=sources, archived=archived)

    def status(self) -> IndexStatus:
        """What is indexed, what waits, which model and which kernels run. Compares nothing and loads no model."""
        from bearsearch.service import report

        return report.status(self._open)

    def doctor(self, *, prepare: bool = False, on_message: Callable[[str], None] | None = None) -> Examination:
        """Examines sources, index, model and stored vectors, and says what to do about each finding.

        Loads the model, computes with it, and reads the whole index file; shows no text of notes.

        Args:
            prepare: First fetch the model that is missing or damaged, or make the faster form of the installed one.
            on_message: Called with sentences for a person, such as that a download begins.
        """
        from bearsearch.service import report

        return report.examine(self._open, prepare=prepare, on_message=on_message)
