"""The compiled engine. Plain dictionaries cross this border; `service/` turns them into `bearsearch.types`.

Every method releases the GIL while the engine works, and raises the classes of `bearsearch.errors`.
"""

from collections.abc import Callable
from typing import NotRequired, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SCHEMA_VERSION",
    "SQLITE_VERSION",
    "Index",
    "__version__",
    "default_bear_path",
    "describe_bear",
    "replace_damaged",
]

__version__: str
SCHEMA_VERSION: int
SQLITE_VERSION: str

@type_check_only
class FilterOptions(TypedDict):
    sources: list[int]
    tags_all: list[str]
    tags_any: list[str]
    ids: list[str]
    updated_from_ms: int | None
    updated_until_ms: int | None
    archived: bool

@type_check_only
class SearchOptions(FilterOptions):
    queries: list[tuple[str, NDArray[np.float32] | None, float]]
    mode: str
    fusion: str
    limit: int
    offset: int
    context: int
    passages: bool
    fts5: bool
    floor: float
    fingerprint: str | None
    no_embedding: str | None

@type_check_only
class SyncOptions(TypedDict):
    kind: str
    path: str
    name: str | None
    register: bool
    dry_run: bool
    rebuild: bool
    accept_loss: bool
    budget_ms: int | None
    max_tokens: int | None
    index_locked_titles: bool
    exclude_tags: list[str]
    exclude_globs: list[str]
    busy_timeout_ms: int
    documents: NotRequired[list[tuple[str, str, str, list[str]]]]

@type_check_only
class SourceReportDict(TypedDict):
    source: str
    kind: str
    path: str
    documents: int
    added: int
    changed: int
    removed: int
    locked: int
    hidden: int
    remaining: int
    skipped: list[tuple[str, str]]
    warnings: list[str]
    error: str | None

@type_check_only
class SourceDict(TypedDict):
    id: int
    name: str
    kind: str
    path: str
    registered: bool
    documents: int
    archived: int
    locked: int
    hidden: int
    last_sync_at_ms: int | None
    error: str | None
    exclude: list[str]

@type_check_only
class ModelDict(TypedDict):
    id: int
    name: str
    fingerprint: str
    dim: int
    live: bool

@type_check_only
class CoverageDict(TypedDict):
    embedded: int
    pending: int
    failed: int

@type_check_only
class DocumentDict(TypedDict):
    id: str
    source: str
    title: str
    tags: list[str]
    created_at_ms: int | None
    updated_at_ms: int | None
    archived: bool
    pinned: bool
    locked: bool
    url: str | None

@type_check_only
class NoteDict(DocumentDict):
    text: str

@type_check_only
class HitDict(DocumentDict):
    place: int
    score: float
    confidence: float | None
    text_rank: int | None
    vector_rank: int | None
    bm25: float | None
    cosine: float | None
    text_share: float | None
    vector_share: float | None
    words: list[str]
    passage: str | None
    context: list[tuple[str, tuple[int, int], str]]
    duplicates: list[str]
    heading: str
    lines: tuple[int, int]
    line_hits: list[int]
    total_hits: int
    snippet: str
    highlights: list[tuple[int, int]]

@type_check_only
class LegDict(TypedDict):
    ran: bool
    hits: int
    reason: str | None

@type_check_only
class ResponseDict(TypedDict):
    mode: str
    good_match: bool
    legs: dict[str, LegDict]
    documents: int
    chunks: int
    pending: int
    total: int
    next: int | None
    understood: list[str]
    words: list[tuple[str, int]]
    corrections: list[tuple[str, list[str]]]
    unknown_sources: list[str]
    elapsed_ms: list[tuple[str, float]]
    hits: list[HitDict]

@type_check_only
class HubDict(DocumentDict):
    incoming: int
    outgoing: int

@type_check_only
class HopDict(TypedDict):
    from_note: str
    from_title: str
    to_note: str
    to_title: str
    direction: str
    text: str
    heading: str
    line: int
    form: str
    ambiguous: bool
    count: int

@type_check_only
class BrokenLinkDict(TypedDict):
    from_note: str
    from_title: str
    target: str
    text: str
    heading: str
    line: int
    form: str

@type_check_only
class LinksDict(TypedDict):
    roots: list[DocumentDict]
    hops: list[list[HopDict]]
    left_out: int
    broken: list[BrokenLinkDict]

@type_check_only
class SimilarDict(TypedDict):
    title: str
    hits: list[HitDict]
    reason: str | None

@type_check_only
class MapDict(TypedDict):
    notes: list[DocumentDict]
    vectors: NDArray[np.float32]
    links: list[tuple[int, int]]
    without_vector: int
    total: int

@type_check_only
class StatusDict(TypedDict):
    path: str
    size_bytes: int
    unwritable: str | None
    schema_version: int
    chunks: int
    last_full_index_at_ms: int | None
    vector_backend: str

@type_check_only
class BearDict(TypedDict):
    journal_mode: str
    tables: list[str]
    junction: str | None
    notes: int
    archived: int
    locked: int
    trashed: int
    warnings: list[str]

def default_bear_path() -> str | None: ...
def describe_bear(path: str, busy_timeout_ms: int) -> BearDict: ...
def replace_damaged(path: str, *, ours: bool) -> int | None: ...

@final
class Index:
    def __new__(cls, path: str) -> Index: ...
    def sources(self) -> list[SourceDict]: ...
    def add_source(self, kind: str, path: str, name: str | None, exclude: list[str] | None) -> str: ...
    def remove_source(self, name: str) -> None: ...
    def sync(self, settings: SyncOptions, progress: Callable[[int, int], object] | None) -> SourceReportDict: ...
    def prune(self) -> None: ...
    def checkpoint(self) -> None: ...
    def refuse_damaged(self) -> None: ...
    def check(self) -> None: ...
    def finish_recovery(self) -> None: ...
    def models(self) -> list[ModelDict]: ...
    def use_model(self, name: str, fingerprint: str, dim: int) -> ModelDict: ...
    def coverage(self, model_id: int) -> CoverageDict: ...
    def pending(self, model_id: int, after: int, limit: int) -> list[tuple[int, str]]: ...
    def sample(self, model_id: int, limit: int) -> list[tuple[str, list[float]]]: ...
    def add_embeddings(self, model_id: int, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> int: ...
    def quantize(self, codec: str) -> bool: ...
    def fail_embeddings(self, model_id: int, failures: list[tuple[int, str]]) -> None: ...
    def forget_embeddings(self) -> None: ...
    def search(self, options: SearchOptions) -> ResponseDict: ...
    def similar(self, reference: str, options: FilterOptions, limit: int) -> SimilarDict | None: ...
    @staticmethod
    def embedding_text(query: str) -> str: ...
    def find(self, reference: str, options: FilterOptions) -> list[NoteDict]: ...
    def tags(self, options: FilterOptions) -> list[tuple[str, int]]: ...
    def links(self, reference: str, depth: int, direction: str, options: FilterOptions, limit: int) -> LinksDict: ...
    def orphans(self, options: FilterOptions, limit: int) -> tuple[list[DocumentDict], int]: ...
    def broken_links(self, options: FilterOptions, limit: int) -> tuple[list[BrokenLinkDict], int]: ...
    def hubs(self, options: FilterOptions, limit: int) -> tuple[list[HubDict], int]: ...
    def map(self, options: FilterOptions, limit: int) -> MapDict: ...
    def status(self) -> StatusDict: ...
    def list(self, options: FilterOptions, limit: int, offset: int) -> tuple[list[DocumentDict], int]: ...
