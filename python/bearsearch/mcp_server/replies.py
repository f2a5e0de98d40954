"""The shapes of structured replies: what each tool's output schema says.

The keys are those of the JSON documents of the command line (docs/json.md), and a few that only a reply needs:
`truncated` when there is more, `cursor` or `next_lines` to ask for it, and `notices`, sentences for whoever reads
it.
"""

from pydantic import BaseModel

__all__ = [
    "CreateReply",
    "FetchReply",
    "GetReply",
    "ListReply",
    "ResultsReply",
    "SearchReply",
    "StatusReply",
    "SyncReply",
    "TagsReply",
]


class LegReply(BaseModel):
    """What one retriever did."""

    ran: bool
    hits: int
    reason: str | None


class IndexStateReply(BaseModel):
    """How complete the index was."""

    documents: int
    chunks: int
    pending: int
    stale: bool


class PassageReply(BaseModel):
    """A chunk of a note beside the best one."""

    heading: str
    lines: list[int]
    text: str


class CorrectionReply(BaseModel):
    """What was searched in place of a word that no note holds."""

    typed: str
    searched: list[str]


class HitReply(BaseModel):
    """One note that a search found, with its best passage; pass `id` to note_get."""

    rank: int
    id: str
    title: str
    source: str
    url: str | None
    tags: list[str]
    updated_at: str | None
    archived: bool
    locked: bool
    score: float
    confidence: float | None
    text_rank: int | None
    vector_rank: int | None
    bm25: float | None
    cosine: float | None
    heading: str
    lines: list[int]
    line_hits: list[int]
    total_hits: int
    snippet: str
    passage: str | None
    context: list[PassageReply]
    duplicates: list[str]


class SearchReply(BaseModel):
    """The answer to one search, best note first."""

    query: str
    mode: str
    requested_mode: str
    good_match: bool
    legs: dict[str, LegReply]
    index: IndexStateReply
    total: int
    hits: list[HitReply]
    corrections: list[CorrectionReply]
    cursor: str | None
    truncated: bool
    notices: list[str]


class NoteSummaryReply(BaseModel):
    """One note without its text; pass `id` to note_get."""

    id: str
    title: str
    source: str
    url: str | None
    tags: list[str]
    created_at: str | None
    updated_at: str | None
    archived: bool
    pinned: bool
    locked: bool


class NoteReply(NoteSummaryReply):
    """One note, whole or in part: `text` holds the lines `lines` of `total_lines`."""

    text: str
    lines: list[int]
    total_lines: int
    truncated: bool
    next_lines: str | None


class ListReply(BaseModel):
    """Notes by date, newest first."""

    notes: list[NoteSummaryReply]
    total: int
    truncated: bool
    cursor: str | None
    notices: list[str]


class TagReply(BaseModel):
    """One tag and how many notes carry it."""

    name: str
    count: int


class TagsReply(BaseModel):
    """All tags by name."""

    tags: list[TagReply]
    total: int
    truncated: bool
    cursor: str | None


class GetReply(BaseModel):
    """Notes asked for by id or title."""

    notes: list[NoteReply]
    missing: list[str]
    truncated: bool
    notices: list[str]


class SourceSyncReply(BaseModel):
    """What the sync did with one source."""

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
    skipped: list[list[str]]
    warnings: list[str]
    error: str | None


class EmbeddingReply(BaseModel):
    """What the embedding step did."""

    model: str | None
    dim: int | None
    embedded: int
    failed: int
    pending: int
    elapsed_ms: float
    reason: str | None


class SyncReply(BaseModel):
    """What one sync did; `embedding` is null when there was no embedding step."""

    sources: list[SourceSyncReply]
    chunks: int
    elapsed_ms: float
    dry_run: bool
    embedding: EmbeddingReply | None
    notices: list[str]


class SourceStatusReply(BaseModel):
    """One registered source."""

    name: str
    kind: str
    path: str
    documents: int
    hidden: int
    last_sync_at: str | None
    stale: bool
    error: str | None


class BackgroundReply(BaseModel):
    """What the embedding thread does."""

    running: bool
    per_second: float | None
    eta_s: float | None
    last_error: str | None


class StatusReply(BaseModel):
    """What is indexed, what still waits, and what runs."""

    index: str
    index_size_bytes: int
    schema_version: int
    documents: int
    archived: int
    locked: int
    chunks: int
    embedded: int
    pending: int
    failed: int
    model: str | None
    dim: int | None
    model_available: bool
    model_detail: str
    vector_backend: str
    last_full_index_at: str | None
    stale: bool
    sources: list[SourceStatusReply]
    background: BackgroundReply | None


class CreateReply(BaseModel):
    """A new note; `id` is null when nothing could confirm it yet."""

    id: str | None
    title: str
    source: str
    url: str | None
    confirmed: bool
    how: str


class ResultReply(BaseModel):
    """One note that `search` found; pass `id` to fetch."""

    id: str
    title: str
    url: str
    text: str


class ResultsReply(BaseModel):
    """What `search` found, best note first."""

    results: list[ResultReply]


class FetchReply(BaseModel):
    """One whole note."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]
