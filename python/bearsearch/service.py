"""The use cases: sources, sync, embed, search, get, list, tags, links, status. Every door calls this, adds nothing.

Prints nothing, knows no terminal and no protocol, and writes no SQL. The engine is `bearsearch._core`; models are
`bearsearch.embedding`, loaded only when a vector is needed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias, TypeVar

from bearsearch import _core
from bearsearch.answer import DIVERSE, as_explanation, as_hit, cursor_of, diverse, offset_of, packed, place_of
from bearsearch.background import Background
from bearsearch.config import load_settings
from bearsearch.errors import (
    IndexBusyError,
    IndexCorruptError,
    IndexUnavailableError,
    IndexUnwritableError,
    ModelError,
    SourceError,
    SourceNotFoundError,
    UsageError,
)
from bearsearch.excerpt import headings, merged, parse_spans, section_spans, widened
from bearsearch.rows import broken_link, hub, link_hop, moment, summary, summary_fields
from bearsearch.types import (
    BrokenLinks,
    Check,
    Correction,
    CreatedNote,
    Document,
    EmbedReport,
    Examination,
    GetResult,
    Hit,
    Hubs,
    IndexState,
    IndexStatus,
    Leg,
    Links,
    ListResult,
    MapNote,
    Note,
    NoteMap,
    Progress,
    SearchResult,
    SourceEntry,
    SourceReport,
    SourceStatus,
    SyncReport,
    Tag,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bearsearch.embedding import Embedder, ModelChoice
    from bearsearch.embedding.rerank import Reranker

__all__ = ["Index"]

INLINE_EMBED_MS = 300
"""How long a search may spend on embedding what waits, before it answers."""

FRESHNESS_BUDGET_MS = 1_500
"""How long a search may spend on reading notes that changed, before it answers without the rest."""

EMBED_PAGE = 512
"""Texts fetched at once while embedding: enough to sort by length, about a megabyte."""

SOURCE_BUSY_TIMEOUT_MS = 5_000
"""How long to wait while Bear saves."""

RERANKED = 30
"""Hits that a cross-encoder orders again: what it lifts from further down is rare, and each one costs."""

MAX_LINK_DEPTH = 3
"""Steps that `links` goes at most: from most notes, three lead to most of a library."""

REMEMBERED_QUERIES = 512
"""Query embeddings that are kept, for whoever pages or asks again in another mode: less than a megabyte."""

UNLIMITED = 10**9
"""A limit at or above this asks for all notes."""

MAX_CHUNK_TOKENS = 512
"""Models that take more tokens get chunks of 300 words all the same, so a larger limit changes nothing."""

HANDED_OVER = "given"
"""Kind of the sources whose documents a program hands over: there is nothing to compare them with."""

BACKUP_ENDINGS = (".bearbk", ".bear2bk")
"""How Bear calls its backups, the older name first."""

DATABASE_ENDINGS = (".sqlite", ".sqlite3", ".db")
"""How a file is called that may be Bear's database."""

WRITABLE_KINDS = frozenset({"bear", "markdown"})
"""Kinds of sources that take new notes."""

CREATE_WAIT_S = 6.0
"""How long a note that was handed to Bear may take to arrive; usually it is there within 30 ms."""

CREATE_POLL_S = 0.1

VECTOR_MODES = frozenset({"auto", "hybrid", "vector"})

ProgressFunction: TypeAlias = Callable[[Progress], None]

_Answer = TypeVar("_Answer")


class _Target:
    """A source that a call reads: where it is, and whether it is to be registered."""

    __slots__ = ("kind", "name", "path", "register")

    def __init__(self, kind: str, path: str, *, name: str | None = None, register: bool = False) -> None:
        self.kind = kind
        self.path = path
        self.name = name
        self.register = register


class _Asked(NamedTuple):
    """What the model makes of a call's queries."""

    fingerprint: str | None = None
    """Of the model; None when there is no embedding."""
    embeddings: Sequence[NDArray[np.float32] | None] = ()
    """One for each query; None for one without words."""
    fluencies: Sequence[float] = ()
    """How well the model's vocabulary covers each query, in [0, 1]."""
    floor: float = 0.0
    """Cosine of texts that have nothing to do with each other."""
    reason: str | None = None
    """Why there is no embedding, as a clause."""


class _Options(NamedTuple):
    """How a search is answered, as the caller wants it."""

    mode: str
    fusion: str
    limit: int
    fresh: bool
    explain: bool
    context: int
    max_tokens: int | None
    cursor: str | None
    diverse: str | None
    rerank: bool
    fts5: bool

    @property
    def reorders(self) -> bool:
        """Whether the answer has another order than the engine's list."""
        return self.rerank or self.diverse is not None


class _Filters(NamedTuple):
    """What a search is limited to, as the caller gave it."""

    tags: Sequence[str]
    any_tags: Sequence[str]
    ids: Sequence[str]
    sources: Sequence[str]
    after: date | datetime | None
    before: date | datetime | None
    archived: bool


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
        self.settings = load_settings({**given, "semantic": semantic})
        self._quick = quick
        self._opened: _core.Index | None = None
        self._background: Background | None = None
        # A damaged file is reported by the first use, because `sync` can mend it; what nothing can mend, now.
        with contextlib.suppress(IndexCorruptError):
            self._engine  # noqa: B018
        self._embedder: Embedder | None = None
        self._asked_before: dict[str, NDArray[np.float32]] = {}
        self._reranker: Reranker | None = None
        self._loading = threading.Lock()
        self._choice: ModelChoice | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the background thread and lets go of model and file; using the index again opens them again."""
        if self._background is not None:
            self._background.stop()
            self._background = None
        self._embedder = None
        self._asked_before = {}
        self._reranker = None
        self._choice = None
        self._opened = None

    def start_background(self, *, delay_s: float = 0.0) -> None:
        """Keeps the index up to date on a thread of its own: syncs, then embeds what waits, queries first.

        For processes that live long, such as a server. Ends with `close`; calling it twice changes nothing.

        Args:
            delay_s: Rest before the first work, so that a process that starts can answer first.
        """
        if self._background is None:
            self._background = Background(
                sync=lambda: self.sync(register=False),
                embed=lambda count: self.embed(limit=count, threads=1),
                delay_s=delay_s,
            )
            self._background.start()

    @property
    def _engine(self) -> _core.Index:
        if self._opened is None:
            self._opened = _core.Index(str(self.settings.index))
        return self._opened

    @property
    def path(self) -> Path:
        """The index file."""
        return self.settings.index

    # ---------------------------------------------------------------- sources

    def _targets(self, *, register: bool = False) -> list[_Target]:
        """The sources that this call reads.

        Those named by `db` and `vault`, else the registered ones, else Bear's own database where there is one.
        """
        named: list[_Target] = []
        if self.settings.db is not None:
            named.append(_Target("bear", str(self.settings.db), register=register))
        if self.settings.vault is not None:
            named.append(_Target(_kind_of(str(self.settings.vault)), str(self.settings.vault), register=register))
        if named:
            return named
        rows = self._engine.sources()
        known = [_Target(row["kind"], row["path"], name=row["name"]) for row in rows if row["registered"]]
        if known:
            return known
        bear = _core.default_bear_path()
        if bear is not None and Path(bear).exists():
            return [_Target("bear", bear, register=register)]
        return []

    def _some_targets(self, *, register: bool = False) -> list[_Target]:
        """As `_targets`, of which there must be one.

        Raises:
            SourceNotFoundError: There is no source at all.
        """
        targets = self._targets(register=register)
        if not targets:
            raise self._no_sources()
        return targets

    def _target_ids(self, targets: Iterable[_Target]) -> list[int]:
        wanted = {(target.kind, target.path) for target in targets}
        return [row["id"] for row in self._engine.sources() if (row["kind"], row["path"]) in wanted]

    def _no_sources(self) -> SourceNotFoundError:
        looked = _core.default_bear_path()
        where = f" (looked for Bear's database at '{looked}')" if looked else ""
        return SourceNotFoundError(
            f"there are no notes to search yet{where}; name a Bear database with --db PATH or a folder of Markdown with"
            " --vault PATH"
        )

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
        if name is not None and (not name.strip() or ":" in name or "\n" in name):
            raise UsageError(f'a source cannot be called "{name}"; a name has letters and no colon')
        resolved = _absolute(path)
        kind = _kind_of(resolved)
        known = {(row["kind"], row["path"]) for row in self._engine.sources()}
        given = None if exclude is None else [pattern for pattern in exclude if pattern.strip()]
        added = self._engine.add_source(kind, resolved, name, given)
        report = self._sync_one(_Target(kind, resolved, name=added, register=True), progress=progress)
        if report.error is not None:
            if (kind, resolved) not in known:
                self._engine.remove_source(added)
            raise SourceError(report.error)
        return report

    def remove_source(self, name: str) -> None:
        """Forgets a source and everything that the index holds of it; the notes themselves are never touched.

        Args:
            name: Its name, or the path it was added with.

        Raises:
            UsageError: There is no such source.
        """
        found = [row["name"] for row in self._engine.sources() if row["name"] == name]
        found = found or [row["name"] for row in self._engine.sources() if row["path"] == _absolute(name)]
        self._engine.remove_source(found[0] if found else name)
        self._engine.checkpoint()

    def list_sources(self) -> tuple[SourceEntry, ...]:
        """The registered sources, each compared just now: what is in the index, and what could not be read and why."""
        entries: list[SourceEntry] = []
        for row in self._engine.sources():
            if not row["registered"]:
                continue
            target = _Target(row["kind"], row["path"], name=row["name"])
            report = None if row["kind"] == HANDED_OVER else self._sync_one(target, budget_ms=FRESHNESS_BUDGET_MS)
            entries.append(
                SourceEntry(
                    name=row["name"],
                    kind=row["kind"],
                    path=row["path"],
                    documents=report.documents if report else row["documents"],
                    exclude=tuple(row["exclude"]),
                    skipped=report.skipped if report else (),
                    warnings=report.warnings if report else (),
                    error=report.error if report else None,
                )
            )
        return tuple(entries)

    # ---------------------------------------------------------------- sync

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
        started = time.perf_counter()
        notices: list[str] = []
        sync_all = functools.partial(
            self._sync_all,
            rebuild=rebuild,
            dry_run=dry_run,
            accept_loss=accept_loss,
            register=register,
            progress=progress,
        )
        try:
            reports = sync_all()
        except IndexCorruptError as error:
            if dry_run:
                raise
            notices.append(self._mend(error))
            reports = sync_all()
        if not dry_run:
            self._engine.finish_recovery()
        return SyncReport(
            sources=tuple(reports),
            chunks=self._engine.status()["chunks"],
            elapsed_ms=(time.perf_counter() - started) * 1000,
            dry_run=dry_run,
            notices=tuple(notices),
        )

    def _sync_all(
        self,
        *,
        rebuild: bool | Literal["text", "embeddings"],
        dry_run: bool,
        accept_loss: bool,
        register: bool,
        progress: ProgressFunction | None,
    ) -> list[SourceReport]:
        targets = self._some_targets(register=register and not dry_run)
        reports = [
            self._sync_one(target, rebuild=bool(rebuild), dry_run=dry_run, accept_loss=accept_loss, progress=progress)
            for target in targets
            if target.kind != HANDED_OVER
        ]
        if rebuild and not dry_run:
            if rebuild == "embeddings":
                self._engine.forget_embeddings()
            self._engine.prune()
        if not dry_run and any(report.removed or report.changed for report in reports):
            self._engine.checkpoint()
        return reports

    def _mend(self, error: IndexCorruptError) -> str:
        """Moves the damaged file aside and begins a new one with the vectors that could still be read."""
        saved = _core.replace_damaged(str(self.path), ours=self.settings.origin("index") == "default")
        if saved is None:
            return f"the index was damaged, and another process has just built it again ({error})"
        return (
            f"the index was damaged and is built again; {saved} embeddings could be saved, the damaged file is"
            f" '{self.path}.damaged' until every source is read again ({error})"
        )

    def _whole(self, answer: Callable[[], _Answer]) -> tuple[_Answer, tuple[str, ...]]:
        """An answer, and what there is to say when the index was damaged and had to be begun anew for it.

        The notes are then read within the time that every answer has for that; the next one goes on.
        """
        answered: _Answer | None = None
        try:
            answered = answer()
            # A leg may have failed over damage and the others answered without it.
            self._engine.refuse_damaged()
            return answered, ()
        except IndexCorruptError as error:
            try:
                told = self._mend(error)
            except IndexUnavailableError as reason:
                if answered is None:
                    raise
                return answered, (str(reason),)
        if self._background is not None:
            self._background.wake()
        answered = answer()
        with contextlib.suppress(IndexBusyError, IndexUnwritableError):
            self._engine.finish_recovery()
        return answered, (told,)

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
        given = [(document.id, document.title, document.text, [*document.tags]) for document in documents]
        target = _Target(HANDED_OVER, source, name=source, register=True)
        return self._sync_one(target, rebuild=False, dry_run=False, progress=progress, documents=given)

    def _sync_one(
        self,
        target: _Target,
        *,
        rebuild: bool = False,
        dry_run: bool = False,
        accept_loss: bool = False,
        budget_ms: int | None = None,
        progress: ProgressFunction | None = None,
        documents: list_[tuple[str, str, str, list_[str]]] | None = None,
    ) -> SourceReport:
        settings = self.settings
        # A sync in a hurry leaves the chunks as they are, so it need not know the model, unless it cuts the first ones.
        hurried = budget_ms is not None and self._engine.status()["chunks"] > 0
        report = self._engine.sync(
            {
                "documents": documents or [],
                "kind": target.kind,
                "path": target.path,
                "name": target.name,
                "register": target.register,
                "dry_run": dry_run,
                "rebuild": rebuild,
                "accept_loss": accept_loss,
                "budget_ms": budget_ms,
                "max_tokens": None if hurried else _chunk_tokens(self._find_model()),
                "index_locked_titles": settings.index_locked_titles,
                "exclude_tags": list(settings.exclude_tags),
                "exclude_globs": list(settings.exclude),
                "busy_timeout_ms": SOURCE_BUSY_TIMEOUT_MS,
            },
            _reporter("indexing", progress),
        )
        return SourceReport(
            source=report["source"],
            kind=report["kind"],
            path=report["path"],
            documents=report["documents"],
            added=report["added"],
            changed=report["changed"],
            removed=report["removed"],
            locked=report["locked"],
            hidden=report["hidden"],
            remaining=report["remaining"],
            skipped=tuple(report["skipped"]),
            warnings=tuple(report["warnings"]),
            error=report["error"],
        )

    def _freshen(self, targets: list[_Target]) -> tuple[bool, list[str]]:
        """Syncs the text of all targets before an answer; returns whether the answer may be stale, and why.

        Raises:
            SourceError: No source can be read and the index holds nothing of them, so there is nothing to answer from.
        """
        notices: list[str] = []
        unreadable: list[str] = []
        stale = False
        for target in targets:
            if target.kind == HANDED_OVER:
                continue
            try:
                report = self._sync_one(target, budget_ms=FRESHNESS_BUDGET_MS)
            except (IndexBusyError, IndexUnwritableError) as error:
                stale = True
                notices.append(f"{error}; the answer comes from the index as it was")
                continue
            if report.error is not None:
                stale = True
                unreadable.append(report.error)
                notices.append(f"{report.error}; the answer comes from the index as it was")
            if report.remaining:
                stale = True
                notices.append(
                    f'{report.remaining} notes of "{report.source}" are not read yet; the next search goes on, or'
                    " `bearsearch index` reads them all"
                )
            if report.hidden:
                notices.append(
                    f'{report.hidden} notes of "{report.source}" vanished at once and are kept aside for 7 days;'
                    " `bearsearch index --accept-loss` lets them go"
                )
            if report.skipped:
                notices.append(
                    f'{len(report.skipped)} notes of "{report.source}" could not be read; see `bearsearch status`'
                )
        if unreadable and len(unreadable) == len(targets) and not self._holds_any(targets):
            raise SourceError("; ".join(unreadable))
        return stale, notices

    def _holds_any(self, targets: list[_Target]) -> bool:
        """Whether the index has a note of one of the targets."""
        ids = set(self._target_ids(targets))
        rows = (row for row in self._engine.sources() if row["id"] in ids)
        return any(row["documents"] or row["hidden"] for row in rows)

    def watch(self, *, on_report: Callable[[SyncReport, EmbedReport | None], object], stop: threading.Event) -> None:
        """Follows the registered sources: syncs and embeds after every change, until `stop` is set.

        Args:
            on_report: Receives what was done, whenever something was.
            stop: Ends the following within about a second.

        Raises:
            UsageError: The package `watchfiles` is not installed, or no source is there.
        """
        from bearsearch.watch import follow

        wanted = {(target.kind, target.path) for target in self._targets()}
        sources = [source for source in self.status().sources if (source.kind, source.path) in wanted]
        follow(
            sources,
            sync=lambda: self.sync(register=False),
            embed=self.embed,
            on_report=on_report,
            stop=stop,
        )

    # ---------------------------------------------------------------- models

    def _live_model(self) -> _core.ModelDict | None:
        return next((model for model in self._engine.models() if model["live"]), None)

    def _find_model(
        self, *, allow_download: bool = False, on_message: Callable[[str], None] | None = None
    ) -> ModelChoice:
        """The model that would embed now; looks for files only. Kept, because looking costs some file operations."""
        from bearsearch.embedding import find_model

        if self._choice is None or (allow_download and not self._choice.available):
            live = self._live_model()
            self._choice = find_model(
                self.settings,
                allow_download=allow_download,
                index_model=live["name"] if live else None,
                on_message=on_message,
            )
        return self._choice

    def _prepare_model(self, on_message: Callable[[str], None] | None) -> None:
        """Before a new index is embedded: makes the faster form of the weights package, once on a machine."""
        from bearsearch.embedding import PACKAGE_MODEL

        choice = self._find_model()
        if choice.name != PACKAGE_MODEL or choice.origin != "package" or self._live_model() is not None:
            return
        from bearsearch.embedding.prepare import can_prepare, prepare

        if can_prepare():
            # The package's own file serves as well, only slower.
            with contextlib.suppress(ModelError):
                prepare(self.settings, on_message=on_message)
                self._choice = None

    def _load_embedder(
        self, *, allow_download: bool = False, on_message: Callable[[str], None] | None = None
    ) -> Embedder:
        from bearsearch.embedding import load_embedder

        with self._loading:
            if self._embedder is None:
                choice = self._find_model(allow_download=allow_download, on_message=on_message)
                self._embedder = load_embedder(choice, self.settings, quick=self._quick)
            return self._embedder

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
        started = time.perf_counter()
        if not self.settings.semantic:
            return _embed_report(None, 0, 0, 0, started, "embeddings are switched off (--no-semantic)")
        try:
            if allow_download:
                self._prepare_model(on_message)
            embedder = self._load_embedder(allow_download=allow_download, on_message=on_message)
        except ModelError as error:
            return _embed_report(None, 0, 0, self._pending(), started, str(error))
        import numpy as np

        model_id = self._engine.use_model(embedder.name, embedder.fingerprint, embedder.dim)["id"]
        waiting = self._engine.coverage(model_id)["pending"]
        total = waiting if limit is None else min(limit, waiting)
        report = _reporter("embedding", progress)
        done = failed = after = 0
        page = EMBED_PAGE if budget_ms is None else 1
        if report is not None:
            report(0, total)
        while done + failed < total:
            before = time.perf_counter()
            texts = self._engine.pending(model_id, after, min(page, total - done - failed))
            if not texts:
                break
            after = texts[-1][0]
            vectors, failures = _embed_page(embedder, texts, threads)
            if vectors:
                ids = np.fromiter(vectors.keys(), dtype=np.int64, count=len(vectors))
                done += self._engine.add_embeddings(model_id, ids, np.stack(list(vectors.values())))
            if failures:
                self._engine.fail_embeddings(model_id, failures)
                failed += len(failures)
            if report is not None:
                report(done + failed, total)
            if budget_ms is not None:
                now = time.perf_counter()
                left_ms = budget_ms - (now - started) * 1000
                per_text_ms = (now - before) * 1000 / len(texts)
                page = min(8, int(left_ms / per_text_ms / 2) if per_text_ms > 0 else 8)
                if page < 1:
                    break
        if budget_ms is None:
            self._engine.quantize(self.settings.codec)
        pending = self._engine.coverage(model_id)["pending"]
        return _embed_report(embedder, done, failed, pending, started, None)

    def _pending(self) -> int:
        live = self._live_model()
        return self._engine.coverage(live["id"])["pending"] if live else self._engine.status()["chunks"]

    # ---------------------------------------------------------------- search

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
        queries = [query] if isinstance(query, str) else list(query)
        if not any(text.strip() for text in queries):
            raise UsageError("the query is empty; give at least one word")
        if limit < 1:
            raise UsageError(f"limit is {limit}; ask for at least 1 note")
        if context < 0:
            raise UsageError(f"context is {context}; ask for 0 or more passages")
        if max_tokens is not None and max_tokens < 1:
            raise UsageError(f"max_tokens is {max_tokens}; ask for at least 1")
        if diverse is not None and diverse not in DIVERSE:
            raise UsageError(f'hits cannot be diverse over "{diverse}"; use {" or ".join(DIVERSE)}')
        if fts_syntax and mode not in {"auto", "fts"}:
            raise UsageError(f"FTS5's syntax is about words, and the mode is {mode}; use fts")
        options = _Options(
            mode="fts" if fts_syntax else mode,
            fusion=fusion,
            limit=min(limit, UNLIMITED),
            fresh=fresh,
            explain=explain,
            context=context,
            max_tokens=max_tokens,
            cursor=cursor,
            diverse=diverse,
            rerank=rerank,
            fts5=fts_syntax,
        )
        with self._background.query() if self._background else contextlib.nullcontext():
            filters = _Filters(tags, any_tags, ids, sources, after, before, archived)
            found, told = self._whole(lambda: self._search(queries, options, filters))
            return dataclasses.replace(found, notices=told + found.notices)

    def _search(self, queries: list[str], options: _Options, filters: _Filters) -> SearchResult:
        targets = self._some_targets()
        mode = options.mode
        clock = _Clock()
        stale, notices = self._freshen(targets) if options.fresh else (False, [])
        clock.lap("freshness")
        asked = self._ask_model(queries, mode=mode)
        clock.lap("embedding")
        unread = [None] * len(queries)
        response = self._engine.search(
            {
                "queries": list(
                    zip(
                        (_without_nul(text) for text in queries),
                        asked.embeddings or unread,
                        asked.fluencies or [1.0] * len(queries),
                        strict=True,
                    )
                ),
                "mode": mode,
                "fusion": options.fusion,
                "floor": asked.floor,
                "limit": max(options.limit, RERANKED)
                if options.rerank
                else options.limit * (3 if options.diverse else 1),
                "offset": place_of(options.cursor)[0] if options.reorders else offset_of(options.cursor),
                "context": options.context,
                "passages": options.max_tokens is not None or options.rerank,
                "fts5": options.fts5,
                "sources": self._source_ids(targets, filters.sources),
                "tags_all": list(filters.tags),
                "tags_any": list(filters.any_tags),
                "ids": list(filters.ids),
                "updated_from_ms": _to_ms(filters.after),
                "updated_until_ms": _to_ms(filters.before),
                "archived": filters.archived,
                "fingerprint": asked.fingerprint,
                "no_embedding": asked.reason,
            }
        )
        clock.restart()
        clock.laps |= dict(response["elapsed_ms"])
        legs = {
            name: Leg(ran=leg["ran"], hits=leg["hits"], reason=leg["reason"]) for name, leg in response["legs"].items()
        }
        if mode == "vector" and not legs["vector"].ran:
            raise ModelError(legs["vector"].reason or "no vector can be searched")
        if mode in VECTOR_MODES and not legs["vector"].ran and self.settings.semantic:
            notices.append(f"meaning was not searched: {legs['vector'].reason}")
        if legs["text"].reason and mode in {"auto", "hybrid", "fts"}:
            notices.append(f"words were searched without the full-text index: {legs['text'].reason}")
        corrections = tuple(
            Correction(typed=typed, searched=tuple(searched)) for typed, searched in response["corrections"]
        )
        for correction in corrections:
            notices.append(f'no note has "{correction.typed}"; searched also for {", ".join(correction.searched)}')
        if response["pending"] and self._background is not None:
            self._background.wake()
            notices.append(f"{response['pending']} passages still wait for an embedding, which is being computed")
        elif response["pending"]:
            notices.append(
                f"{response['pending']} passages still wait for an embedding; `bearsearch index` computes them all"
            )
        hits, following = self._arranged(queries[0], response, options, legs)
        clock.lap("arranging")
        return SearchResult(
            query=queries[0] if len(queries) == 1 else " | ".join(queries),
            mode=response["mode"],
            requested_mode=mode,
            good_match=response["good_match"],
            legs=legs,
            index=IndexState(
                documents=response["documents"], chunks=response["chunks"], pending=response["pending"], stale=stale
            ),
            total=response["total"],
            hits=tuple(hits),
            corrections=corrections,
            cursor=following,
            explanation=as_explanation(response, options.fusion, clock.laps) if options.explain else None,
            notices=tuple(notices),
        )

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """The embedding that `search` would use for a query: float32 of the model's dimension, unit length.

        Raises:
            ModelError: No model can be loaded.
        """
        return self._load_embedder().embed_query(self._engine.embedding_text(_without_nul(query)))

    def _arranged(
        self, query: str, response: _core.ResponseDict, options: _Options, legs: dict[str, Leg]
    ) -> tuple[list[Hit], str | None]:
        """The engine's hits in the order and number that the caller wants, and the cursor behind them."""
        start, shown = place_of(options.cursor)
        hits = [as_hit(rank, hit, explain=options.explain) for rank, hit in enumerate(response["hits"], start + 1)]
        if options.rerank:
            hits, legs["rerank"] = self._reranked(query, hits)
        if options.diverse is not None:
            hits = diverse(hits, options.diverse, limit=len(hits))
        page = hits[shown : shown + options.limit]
        if options.max_tokens is not None:
            page = packed(page, options.max_tokens)
        elif options.rerank:
            page = [replace(hit, passage=None) for hit in page]
        shown += len(page)
        if shown >= len(hits):
            return page, cursor_of(response["next"])
        if options.reorders:
            # What the engine found is arranged in the same way again, and gone on with inside.
            return page, cursor_of(start, shown)
        return page, cursor_of(response["hits"][shown - 1]["place"])

    def _reranked(self, query: str, hits: list[Hit]) -> tuple[list[Hit], Leg]:
        """The first hits in a cross-encoder's order, and what it did."""
        try:
            if self._reranker is None:
                from bearsearch.embedding.rerank import load_reranker

                self._reranker = load_reranker(self.settings)
            first = hits[:RERANKED]
            scores = self._reranker.scores(query, [f"{hit.title}\n{hit.passage or hit.snippet}" for hit in first])
        except ModelError as error:
            return hits, Leg(ran=False, hits=0, reason=str(error))
        order = sorted(range(len(first)), key=lambda place: (-scores[place], place))
        arranged = [*(first[place] for place in order), *hits[RERANKED:]]
        return [replace(hit, rank=rank) for rank, hit in enumerate(arranged, hits[0].rank if hits else 1)], Leg(
            ran=True, hits=len(first), reason=None
        )

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
        if limit < 1:
            raise UsageError(f"limit is {limit}; ask for at least 1 note")
        filters, stale, notices = self._fresh_scope(archived=archived)
        found = self._engine.similar(_without_nul(reference), filters, min(limit, UNLIMITED))
        if found is None:
            raise UsageError(f'no note has the id or title "{reference}"; `bearsearch search` shows ids')
        hits = tuple(as_hit(rank, hit, explain=False) for rank, hit in enumerate(found["hits"], 1))
        if found["reason"]:
            notices.append(found["reason"])
        idle = Leg(ran=False, hits=0, reason="a note was asked for, not words")
        return SearchResult(
            query=found["title"],
            mode="vector",
            requested_mode="vector",
            good_match=bool(hits),
            legs={
                "text": idle,
                "vector": Leg(ran=found["reason"] is None, hits=len(hits), reason=found["reason"]),
                "typo": idle,
                "like": idle,
            },
            index=IndexState(
                documents=sum(row["documents"] for row in self._engine.sources()),
                chunks=self._engine.status()["chunks"],
                pending=self._pending(),
                stale=stale,
            ),
            total=len(hits),
            hits=hits,
            notices=tuple(notices),
        )

    def _ask_model(self, queries: list[str], *, mode: str) -> _Asked:
        """The queries' embeddings, or the reason why there are none.

        Raises:
            ModelError: `mode` is vector and no model can be loaded.
        """
        if mode not in VECTOR_MODES:
            return _Asked()
        try:
            return self._embed_queries(queries, wait=mode == "vector")
        except ModelError as error:
            if mode == "vector":
                raise
            return _Asked(reason=str(error))

    def _embed_queries(self, queries: list[str], *, wait: bool) -> _Asked:
        """The queries' embeddings, or the reason why there are none.

        Args:
            queries: What a person typed.
            wait: Load the model now, even where a background thread is about to.

        Raises:
            ModelError: No model can be loaded.
        """
        if not self.settings.semantic:
            return _Asked(reason="embeddings are switched off (--no-semantic)")
        if self._engine.status()["chunks"] == 0:
            return _Asked(reason="the index is empty")
        if self._background is not None and self._embedder is None and not wait and self._find_model().available:
            self._background.wake()
            return _Asked(reason="the embedding model is being loaded; ask again in a moment")
        embedder = self._load_embedder()
        live = self._live_model()
        # With another model a search must not begin to embed the whole library anew; the engine names the mismatch. A
        # background thread embeds beside the queries.
        same_model = live is None or live["fingerprint"] == embedder.fingerprint
        if same_model and self._background is None:
            # What cannot be stored now waits on; the answer says that the index could not be brought up to date.
            with contextlib.suppress(IndexBusyError, IndexUnwritableError):
                self.embed(budget_ms=INLINE_EMBED_MS)
        texts = [self._engine.embedding_text(_without_nul(text)) for text in queries]
        return _Asked(
            fingerprint=embedder.fingerprint,
            embeddings=[self._embedded(embedder, text) if text.strip() else None for text in texts],
            fluencies=[embedder.fluency(text) for text in texts],
            floor=embedder.floor,
        )

    def _embedded(self, embedder: Embedder, text: str) -> NDArray[np.float32]:
        """The embedding of a query; one that was asked lately is not computed again."""
        known = self._asked_before.get(text)
        if known is None:
            known = embedder.embed_query(text)
            if len(self._asked_before) >= REMEMBERED_QUERIES:
                self._asked_before = {}
            self._asked_before[text] = known
        return known

    def _source_ids(self, targets: list[_Target], names: Sequence[str]) -> list[int]:
        ids = self._target_ids(targets)
        if not names:
            return ids
        rows = {row["name"]: row["id"] for row in self._engine.sources() if row["id"] in ids}
        unknown = [name for name in names if name not in rows]
        if unknown:
            known = ", ".join(sorted(rows)) or "none"
            raise UsageError(f'there is no source named "{unknown[0]}"; the sources are: {known}')
        return [rows[name] for name in names]

    # ---------------------------------------------------------------- reading

    def _filters(self, targets: list[_Target], *, sources: Sequence[str] = (), archived: bool) -> _core.FilterOptions:
        return {
            "sources": self._source_ids(targets, sources),
            "tags_all": [],
            "tags_any": [],
            "ids": [],
            "updated_from_ms": None,
            "updated_until_ms": None,
            "archived": archived,
        }

    def _fresh_scope(
        self, sources: Sequence[str] = (), *, archived: bool
    ) -> tuple[_core.FilterOptions, bool, list[str]]:
        """Brings the text up to date; returns what an answer may be about, whether it may be stale, and why."""
        targets = self._some_targets()
        stale, notices = self._freshen(targets)
        return self._filters(targets, sources=sources, archived=archived), stale, notices

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
        wanted = [ids] if isinstance(ids, str) else list(ids)
        if not any(reference.strip() for reference in wanted):
            raise UsageError("no note is named; give an id or a title")
        spans = parse_spans(lines) if lines is not None else []
        if neighbours < 0:
            raise UsageError(f"neighbours is {neighbours}; it counts paragraphs from 0")
        found, told = self._whole(lambda: self._get(wanted, spans, sections, neighbours))
        return dataclasses.replace(found, notices=told + found.notices)

    def _get(
        self, wanted: Sequence[str], spans: Sequence[tuple[int, int]], sections: Sequence[str], neighbours: int
    ) -> GetResult:
        options, _, notices = self._fresh_scope(archived=True)
        notes: list[Note] = []
        missing: list[str] = []
        for reference in dict.fromkeys(wanted):
            found = self._engine.find(reference, options)
            for row in found:
                if not (spans or sections):
                    notes.append(_note(row, None))
                    continue
                text_lines = _lines_of(row["text"])
                asked = list(spans)
                for section in sections:
                    below = section_spans(text_lines, section)
                    asked += below
                    if not below:
                        missing.append(f"{row['id']} # {section}")
                        notices.append(_other_sections(row["id"], section, text_lines))
                if neighbours:
                    asked = [widened(text_lines, span, paragraphs=neighbours) for span in asked]
                notes += [_note(row, span) for span in merged(asked)]
            if not found:
                missing.append(reference)
        distinct = {(note.source, note.id, note.lines): note for note in notes}
        return GetResult(notes=tuple(distinct.values()), missing=tuple(missing), notices=tuple(notices))

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
        from bearsearch.create import in_bear, in_folder, one_line

        targets = self._some_targets()
        self._freshen(targets)
        target, name = self._writable(targets, source)
        started_ms = time.time() * 1000
        if target.kind == "bear":
            written = in_bear(title=title, content=content, tags=tags)
            row = self._await_note(target, written.note_id, one_line(title), started_ms)
        else:
            written = in_folder(target.path, title=title, content=content, tags=tags)
            row = self._await_note(target, written.note_id, None, started_ms, wait_s=0.0)
        return CreatedNote(
            id=row["id"] if row else written.note_id,
            title=row["title"] if row else one_line(title),
            source=name,
            url=row["url"] if row else None,
            confirmed=row is not None,
            how=written.how,
        )

    def _writable(self, targets: list_[_Target], source: str | None) -> tuple[_Target, str]:
        """The source that a new note goes to, and its name."""
        names = {(row["kind"], row["path"]): row["name"] for row in self._engine.sources()}
        found = [(target, names.get((target.kind, target.path), "")) for target in targets]
        found = [(target, name) for target, name in found if target.kind in WRITABLE_KINDS]
        if source is not None:
            chosen = [(target, name) for target, name in found if name.casefold() == source.strip().casefold()]
        else:
            chosen = [(target, name) for target, name in found if target.kind == "bear"] or found
        if len(chosen) == 1:
            return chosen[0]
        known = ", ".join(f'"{name}"' for _, name in found) or "none"
        if source is not None:
            raise UsageError(f'no source named "{source}" takes new notes; those that do: {known}')
        raise UsageError(f"it is not clear where the note should go; name one source: {known}")

    def _await_note(
        self,
        target: _Target,
        note_id: str | None,
        title: str | None,
        started_ms: float,
        *,
        wait_s: float = CREATE_WAIT_S,
    ) -> _core.NoteDict | None:
        """The new note once its source shows it: the one of that id, or else of that title and not older."""
        until = time.monotonic() + wait_s
        while True:
            self._freshen([target])
            options = self._filters([target], archived=True)
            for row in self._engine.find(note_id or title or "", options):
                created_ms = row["created_at_ms"]
                # Bear writes whole seconds in places.
                if note_id is not None or created_ms is None or created_ms >= started_ms - 2000:
                    return row
            if time.monotonic() >= until:
                return None
            time.sleep(CREATE_POLL_S)

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
        if limit < 1:
            raise UsageError(f"limit is {limit}; ask for at least 1 note")
        if offset < 0:
            raise UsageError(f"offset is {offset}; it counts notes from 0")
        filters = _Filters(tags, any_tags, (), sources, after, before, archived)
        found, told = self._whole(lambda: self._list(filters, limit=min(limit, UNLIMITED), offset=offset))
        return dataclasses.replace(found, notices=told + found.notices)

    def _list(self, filters: _Filters, *, limit: int, offset: int) -> ListResult:
        options, _, notices = self._fresh_scope(filters.sources, archived=filters.archived)
        options["tags_all"] = list_(filters.tags)
        options["tags_any"] = list_(filters.any_tags)
        options["updated_from_ms"] = _to_ms(filters.after)
        options["updated_until_ms"] = _to_ms(filters.before)
        rows, total = self._engine.list(options, limit, offset)
        return ListResult(notes=tuple(summary(row) for row in rows), total=total, notices=tuple(notices))

    def tags(self) -> tuple[Tag, ...]:
        """All tags of notes that are not archived, by name."""
        return self._whole(self._tags)[0]

    def _tags(self) -> tuple[Tag, ...]:
        options, _, _ = self._fresh_scope(archived=False)
        return tuple(Tag(name=name, count=count) for name, count in self._engine.tags(options))

    def languages(self, *, sample: int = 40) -> tuple[str, ...]:
        """English names of the languages that most notes are written in, guessed from the newest ones.

        Args:
            sample: Notes to look at. Compares nothing with the sources and loads no model.
        """
        from bearsearch.languages import guess

        targets = self._targets()
        if not self._target_ids(targets):
            return ()
        options = self._filters(targets, archived=False)
        rows, _ = self._engine.list(options, sample, 0)
        texts: list_[str] = []
        for row in rows:
            texts += [found["text"][:2000] for found in self._engine.find(f"{row['source']}:{row['id']}", options)[:1]]
        return guess(texts)

    # ---------------------------------------------------------------- links

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
        if not note.strip():
            raise UsageError("no note is named; give an id or a title")
        if not 1 <= depth <= MAX_LINK_DEPTH:
            raise UsageError(f"depth is {depth}; links go 1 to {MAX_LINK_DEPTH} steps")
        options, notices = self._graph_scope(limit, (), archived=archived)
        found = self._engine.links(note, depth, direction, options, min(limit, UNLIMITED))
        roots = found["roots"]
        if len(roots) > 1:
            named = ", ".join(f"{row['source']}:{row['id']}" for row in roots[:10])
            raise UsageError(f'{len(roots)} notes are called "{note}"; name one of them: {named}')
        if not roots:
            return None
        return Links(
            root=summary(roots[0]),
            hops=tuple(tuple(link_hop(hop) for hop in hops) for hops in found["hops"]),
            broken=tuple(broken_link(link) for link in found["broken"]),
            left_out=found["left_out"],
            notices=tuple(notices),
        )

    def orphans(self, *, limit: int = 50, sources: Sequence[str] = (), archived: bool = False) -> ListResult:
        """Notes that neither link to another note nor are linked to, newest first.

        Raises:
            UsageError: The limit is below 1, or a source unknown.
        """
        options, notices = self._graph_scope(limit, sources, archived=archived)
        found, total = self._engine.orphans(options, min(limit, UNLIMITED))
        return ListResult(notes=tuple(map(summary, found)), total=total, notices=tuple(notices))

    def broken_links(self, *, limit: int = 50, sources: Sequence[str] = (), archived: bool = False) -> BrokenLinks:
        """Links that lead to no note, in the order of the notes' titles and their lines.

        Raises:
            UsageError: The limit is below 1, or a source unknown.
        """
        options, notices = self._graph_scope(limit, sources, archived=archived)
        found, total = self._engine.broken_links(options, min(limit, UNLIMITED))
        return BrokenLinks(links=tuple(map(broken_link, found)), total=total, notices=tuple(notices))

    def hubs(self, *, limit: int = 20, sources: Sequence[str] = (), archived: bool = False) -> Hubs:
        """Notes with links, those with most neighbours first.

        Raises:
            UsageError: The limit is below 1, or a source unknown.
        """
        options, notices = self._graph_scope(limit, sources, archived=archived)
        found, total = self._engine.hubs(options, min(limit, UNLIMITED))
        return Hubs(hubs=tuple(map(hub, found)), total=total, notices=tuple(notices))

    def map_notes(self, *, limit: int = 5_000, sources: Sequence[str] = (), archived: bool = False) -> NoteMap:
        """The newest notes, placed so that those of a like meaning lie near each other; from stored vectors alone.

        Raises:
            UsageError: The index holds no embeddings, the limit is below 1, or a source unknown.
        """
        from bearsearch.map.layout import place

        options, notices = self._graph_scope(limit, sources, archived=archived)
        found = self._engine.map(options, min(limit, UNLIMITED))
        if found["without_vector"]:
            notices.append(
                f"{found['without_vector']} notes have no embedding yet and are not drawn; `bearsearch index` adds them"
            )
        linked: list[set[int]] = [set() for _ in found["notes"]]
        for one, other in found["links"]:
            linked[one].add(other)
            linked[other].add(one)
        drawn = zip(found["notes"], place(found["vectors"]).tolist(), linked, strict=True)
        return NoteMap(
            notes=tuple(
                MapNote(
                    id=row["id"],
                    title=row["title"],
                    source=row["source"],
                    url=row["url"],
                    tags=tuple(row["tags"]),
                    x=float(x),
                    y=float(y),
                    links=len(others),
                )
                for row, (x, y), others in drawn
            ),
            links=tuple(found["links"]),
            total=found["total"],
            notices=tuple(notices),
        )

    def _graph_scope(
        self, limit: int, sources: Sequence[str], *, archived: bool
    ) -> tuple[_core.FilterOptions, list_[str]]:
        if limit < 1:
            raise UsageError(f"limit is {limit}; ask for at least 1")
        options, _, notices = self._fresh_scope(sources, archived=archived)
        return options, notices

    def status(self) -> IndexStatus:
        """What is indexed, what waits, which model and which kernels run. Compares nothing and loads no model."""
        facts = self._engine.status()
        rows = self._engine.sources()
        live = self._live_model()
        coverage = self._engine.coverage(live["id"]) if live else None
        choice = self._find_model()
        return IndexStatus(
            index=facts["path"],
            index_size_bytes=facts["size_bytes"],
            schema_version=facts["schema_version"],
            documents=sum(row["documents"] for row in rows),
            archived=sum(row["archived"] for row in rows),
            locked=sum(row["locked"] for row in rows),
            chunks=facts["chunks"],
            embedded=coverage["embedded"] if coverage else 0,
            pending=coverage["pending"] if coverage else facts["chunks"],
            failed=coverage["failed"] if coverage else 0,
            truncated=0,
            model=live["name"] if live else None,
            dim=live["dim"] if live else None,
            model_available=choice.available,
            model_detail=choice.detail,
            vector_backend=facts["vector_backend"],
            last_full_index_at=moment(facts["last_full_index_at_ms"]),
            stale=any(row["error"] is not None for row in rows),
            background=self._background.status() if self._background else None,
            sources=tuple(
                SourceStatus(
                    name=row["name"],
                    kind=row["kind"],
                    path=row["path"],
                    documents=row["documents"],
                    hidden=row["hidden"],
                    last_sync_at=moment(row["last_sync_at_ms"]),
                    stale=row["error"] is not None,
                    error=row["error"],
                )
                for row in rows
            ),
        )

    def doctor(self, *, prepare: bool = False, on_message: Callable[[str], None] | None = None) -> Examination:
        """Examines sources, index, model and stored vectors, and says what to do about each finding.

        Loads the model, computes with it, and reads the whole index file; shows no text of notes.

        Args:
            prepare: First fetch the model that is missing or damaged, or make the faster form of the installed one.
            on_message: Called with sentences for a person, such as that a download begins.
        """
        from bearsearch import doctor

        if prepare and self.settings.semantic:
            # What stays wrong is among the findings.
            with contextlib.suppress(ModelError):
                self._prepare_model(on_message)
                self._load_embedder(allow_download=True, on_message=on_message)
        checks: list_[Check] = []
        try:
            engine = self._engine
            targets = self._targets()
            checks += [
                doctor.check_source(target.name or target.kind, target.kind, target.path)
                for target in targets
                if target.kind != HANDED_OVER
            ]
            if not targets:
                checks.append(Check(name="sources", ok=False, detail=str(self._no_sources()), advice=None))
            checks += doctor.check_index(engine, self.path)
            if self.settings.semantic:
                found, embedder = doctor.check_model(self._find_model(), self._load_embedder)
                checks.append(found)
                checks += doctor.check_vectors(engine, embedder)
            checks.append(doctor.check_versions(engine.status()["vector_backend"]))
        except IndexUnavailableError as error:
            checks.append(
                Check(name="index", ok=False, detail=str(error), advice="`bearsearch index` mends what it can")
            )
        return Examination(ok=all(check.ok for check in checks), checks=tuple(checks))


list_ = list  # `Index.list` hides the built-in inside the class.


def _embed_page(
    embedder: Embedder, texts: list[tuple[int, str]], threads: int | None
) -> tuple[dict[int, NDArray[np.float32]], list[tuple[int, str]]]:
    """Vectors by text id, and what failed; one bad text does not take its page along."""
    try:
        rows = embedder.embed_documents([text for _, text in texts], threads=threads)
        return {text_id: row for (text_id, _), row in zip(texts, rows, strict=True)}, []
    except ModelError:
        raise
    except Exception as error:
        if len(texts) == 1:
            return {}, [(texts[0][0], f"{type(error).__name__}: {error}")]
    vectors: dict[int, NDArray[np.float32]] = {}
    failures: list[tuple[int, str]] = []
    for text in texts:
        found, failed = _embed_page(embedder, [text], threads)
        vectors |= found
        failures += failed
    return vectors, failures


def _embed_report(
    embedder: Embedder | None, embedded: int, failed: int, pending: int, started: float, reason: str | None
) -> EmbedReport:
    return EmbedReport(
        model=embedder.name if embedder else None,
        dim=embedder.dim if embedder else None,
        embedded=embedded,
        failed=failed,
        pending=pending,
        elapsed_ms=(time.perf_counter() - started) * 1000,
        reason=reason,
    )


def _chunk_tokens(choice: ModelChoice) -> int | None:
    """What the model takes of one passage, its prefix taken off; None leaves the index's chunks as they are."""
    if choice.spec is None or not choice.available:
        return None
    # A prefix is English prose, where three characters make no more than a token.
    limit = choice.spec.max_tokens or MAX_CHUNK_TOKENS
    return min(limit, MAX_CHUNK_TOKENS) - len(choice.document_prefix) // 3


def _reporter(stage: str, progress: ProgressFunction | None) -> Callable[[int, int], None] | None:
    """The engine's bare numbers as `Progress`, with the speed so far."""
    if progress is None:
        return None
    started = time.perf_counter()

    def report(done: int, total: int) -> None:
        elapsed = time.perf_counter() - started
        per_second = done / elapsed if done and elapsed > 0 else None
        progress(Progress(stage=stage, done=done, total=total, per_second=per_second))

    return report


def _without_nul(text: str) -> str:
    # SQLite ends a string at NUL, and no query means one: what stood around it is searched as two words.
    return text.replace("\0", " ")


def _absolute(path: str | Path) -> str:
    """The path as the settings make it of `--vault PATH`, so that both name one source: links are not resolved."""
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100


def _kind_of(path: str) -> str:
    """Backups go by their name, any other file can only be a database, and a folder is one of Markdown."""
    if path.lower().endswith(BACKUP_ENDINGS):
        return "backup"
    return "bear" if path.lower().endswith(DATABASE_ENDINGS) and Path(path).is_file() else "markdown"


def _to_ms(moment: date | datetime | None) -> int | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return round(moment.timestamp() * 1000)


class _Clock:
    """Time of the steps of one call, in milliseconds."""

    __slots__ = ("_since", "laps")

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def restart(self) -> None:
        self._since = time.perf_counter()

    def lap(self, step: str) -> None:
        now = time.perf_counter()
        self.laps[step] = (now - self._since) * 1000
        self._since = now


def _lines_of(text: str) -> list[str]:
    # Lines end at \n, as the engine counts them; splitlines() would also end them at form feeds and the like.
    return text.removesuffix("\n").split("\n") if text else []


def _other_sections(note_id: str, section: str, lines: Sequence[str]) -> str:
    names = [" ".join(heading.path[-1].split())[:60].replace('"', "'") for heading in headings(lines)]
    shown = ", ".join(f'"{name}"' for name in names[:12]) + (", ..." if len(names) > 12 else "")
    return f'"{note_id}" has no section "{section}"; its sections are: {shown or "none"}'


def _note(row: _core.NoteDict, span: tuple[int, int] | None) -> Note:
    text = row["text"]
    all_lines = _lines_of(text)
    first, last = span or (1, len(all_lines))
    last = min(last, len(all_lines))
    return Note(
        **summary_fields(row),
        text=text if span is None else "\n".join(all_lines[first - 1 : last]),
        lines=(first, last),
        total_lines=len(all_lines),
    )
